"""How fast a trained bundle translates, by beam size, with the scores of what came out.

python benchmarks/translate.py runs/quickstart
python benchmarks/translate.py runs/multi30k-de-en --corpus multi30k:test_2016_flickr
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.corpus.corpus import read_corpus
from dragoman.evaluation.metrics import corpus_scores
from dragoman.translator import Translator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path, nargs="?", default=Path("runs/quickstart"), help="or a run directory")
    parser.add_argument("--corpus", default="captions:test", help="pairs to translate, as recipes name them")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--batch-tokens", type=int, nargs="+", default=[])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    bundle = Bundle.load(arguments.bundle)
    data = bundle.recipe.data
    pairs = list(
        read_corpus(arguments.corpus, source_language=data.source_language, target_language=data.target_language)
    )
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    print("beam  batch tokens  seconds (median)  sentences/s  BLEU")
    for beam in arguments.beams:
        for batch_tokens in arguments.batch_tokens or [bundle.recipe.decoding.batch_tokens]:
            update = {"beam_size": beam, "n_best": 1, "batch_tokens": batch_tokens}
            translator = Translator(bundle, bundle.recipe.decoding.model_copy(update=update))
            translator(sources[:50])  # warm
            seconds = []
            for _ in range(arguments.repeats):
                started = time.perf_counter()
                texts = [str(translation) for translation in translator(sources)]
                seconds.append(time.perf_counter() - started)
            median = statistics.median(seconds)
            bleu = corpus_scores(texts, references)["bleu"]
            print(
                f"{beam:4}  {batch_tokens or 'as usual':>12}  {median:16.2f}  {len(sources) / median:11.1f}  {bleu:.2f}"
            )


if __name__ == "__main__":
    main()
