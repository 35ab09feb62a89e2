"""Measure whether the confidence of translations is calibrated.

python benchmarks/confidence.py runs/multi30k-de-en --corpus multi30k:test_2016_flickr

The expected calibration error is the mean, over ten groups of equal size, of the difference between the confidence and
the share of good translations, which are those whose chrF is at least `GOOD_CHRF`. The area under the ROC curve is the
probability that a good translation has a higher confidence than another one. Bundles that store no confidence are
calibrated on the pairs of --calibrate first, which must not be those of --corpus.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

import numpy as np

import dragoman
from dragoman.corpus.corpus import read_corpus
from dragoman.evaluation.confidence import GOOD_CHRF, MAX_PAIRS, Confidence, are_good, calibrate

GROUPS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, help="or a run directory")
    parser.add_argument("--corpus", required=True, help="pairs to translate, as recipes name them")
    parser.add_argument("--calibrate", help="pairs to calibrate the confidence of an older bundle")
    parser.add_argument("--sentences", type=int, default=1000, help="number of pairs")
    parser.add_argument("--engine", default="cpu")
    arguments = parser.parse_args()
    translator = dragoman.load(arguments.bundle, device="cpu", engine=arguments.engine)
    data = translator.bundle.recipe.data
    source, target = data.source_language, data.target_language
    confidence = translator.bundle.table("confidence", Confidence)
    if arguments.calibrate:
        other = list(read_corpus(arguments.calibrate, source_language=source, target_language=target))[:MAX_PAIRS]
        translated = list(translator.stream(pair.source for pair in other))
        confidence = calibrate(translated, [pair.target for pair in other])
    if confidence is None:
        parser.error("this bundle stores no confidence; use --calibrate")
    print(confidence)
    corpus = read_corpus(arguments.corpus, source_language=source, target_language=target)
    pairs = list(islice(corpus, arguments.sentences))
    translations = list(translator.stream(pair.source for pair in pairs))
    good = np.array(are_good([str(each) for each in translations], [pair.target for pair in pairs]), dtype=float)
    values = np.array([confidence.estimate(each.log_probability, len(each.tokens)) or 0.0 for each in translations])
    order = np.argsort(values, kind="stable")
    print(f"{len(pairs)} translations, {good.mean():.1%} with chrF >= {GOOD_CHRF:g}")
    error = 0.0
    for group in np.array_split(order, GROUPS):
        error += len(group) / len(order) * abs(values[group].mean() - good[group].mean())
        print(f"confidence {values[group].mean():.3f}  good {good[group].mean():.3f}")
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    positive, negative = good.sum(), (1 - good).sum()
    area = (ranks[good == 1].sum() - positive * (positive + 1) / 2) / max(1.0, positive * negative)
    print(f"expected calibration error {error:.4f}, area under the ROC curve {area:.3f}")


if __name__ == "__main__":
    main()
