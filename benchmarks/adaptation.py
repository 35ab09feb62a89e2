"""Measure what starting from a model gains: German to English, LibreOffice's texts, with and without a base model.

The base model is trained on everyday sentences, news and debates. It is then trained on 1,000 or 5,000 pairs of
LibreOffice's texts in a few minutes, with the settings that `dragoman init` chooses. `alone` is the same time and text
with random weights; `together` are all texts, with random weights, in the time of both trainings. `adapted` reads old
text too, as `init` chooses it, and `new text only` does not. Scores are those of validation text, or with --split test
of test text: LibreOffice's, and the first sentences of the old corpora.

python benchmarks/adaptation.py --runs runs/adaptation
python benchmarks/adaptation.py --runs runs/adaptation --variants base adapted --pairs 1000 --split test
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import dragoman
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Pair
from dragoman.corpus.writers import write_corpus
from dragoman.evaluation.metrics import corpus_scores
from dragoman.planning.plan import Texts, plan_recipe
from dragoman.training.run.run import train

LANGUAGES = ("de", "en")
OLD = ("tatoeba-de-en", "wmt-news-de-en", "europarl-20k-de-en")
NEW = "libreoffice-de-en"
OLD_SENTENCES = 500  # of each old corpus


@dataclass(frozen=True)
class Variant:
    """A training: what it reads, whether it starts from the base model, and further settings.

    Attributes:
        old: Whether it reads the old text as often as the new one.
        starts: Whether it starts from the base model; then it reads some of the old text.
        new_only: Whether it reads the new text only, although it starts from the base model.
        settings: Settings that differ from those that `init` chooses.
    """

    old: bool = False
    starts: bool = False
    new_only: bool = False
    settings: tuple[str, ...] = ()


VARIANTS = {
    "base": Variant(old=True),
    "alone": Variant(),
    "adapted": Variant(starts=True),
    "new text only": Variant(starts=True, new_only=True),
    "together": Variant(old=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", nargs=2, type=float, default=[20.0, 5.0], help="of the base model, and of others")
    parser.add_argument("--pairs", nargs="+", type=int, default=[1000, 5000])
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--split", default="dev", choices=["dev", "test"])
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="runs that are finished are not repeated")
    arguments = parser.parse_args()
    arguments.runs.mkdir(parents=True, exist_ok=True)
    base = arguments.runs / f"base-{arguments.seed}"
    for name in arguments.variants:
        for number in arguments.pairs if name != "base" else [0]:
            run = arguments.runs / (f"{name}-{number}-{arguments.seed}".replace(" ", "-") if number else base.name)
            long, short = arguments.minutes
            minutes = long if name == "base" else long + short if name == "together" else short
            if not (run / "bundle").is_dir():
                train_variant(VARIANTS[name], write_subset(arguments.runs, number), minutes, arguments.seed, base, run)
            print(f"{name}, {number:,} pairs: {', '.join(score(run, arguments.split))}", flush=True)


def train_variant(variant: Variant, new: str | None, minutes: float, seed: int, base: Path, run: Path) -> None:
    """Train with the settings of `init`."""
    texts = [new] if new else []
    if variant.old:
        texts += [f"{name}:train" for name in OLD]
    validation = [f"{NEW}:dev"] if new else [f"{name}:dev" for name in OLD]
    plan = plan_recipe(
        Texts(LANGUAGES, texts, validation), minutes, None, start_from=str(base) if variant.starts else None
    )
    settings = [f"training.seed={seed}", *variant.settings]
    if variant.new_only:
        settings.append(f"data.train={json.dumps(texts)}")
    assert train(plan.recipe(settings), run)


def write_subset(runs: Path, number: int) -> str | None:
    """Write pairs that are evenly spread over the new text, and return their files; None for no pairs."""
    if not number:
        return None
    pairs, files = list(read(f"{NEW}:train")), str(runs / f"new-{number}.{{lang}}")
    if not Path(files.format(lang=LANGUAGES[0])).exists():  # of another variant
        write_corpus((pairs[index * len(pairs) // number] for index in range(number)), files, LANGUAGES)
    return files


def read(reference: str) -> Iterator[Pair]:
    pairs = read_corpus(reference, source_language=LANGUAGES[0], target_language=LANGUAGES[1])
    return (pair for pair in pairs if pair.complete)


def score(run: Path, split: str) -> Iterator[str]:
    """The scores of new and old text."""
    translate = dragoman.TextTranslator(dragoman.load(run))
    old = [pair for name in OLD for pair in islice(read(f"{name}:{split}"), OLD_SENTENCES)]
    for name, pairs in (("new", list(read(f"{NEW}:{split}"))), ("old", old)):
        found = [each.text for each in translate.stream(pair.source for pair in pairs)]
        scores = corpus_scores(found, [pair.target for pair in pairs])
        yield f"{name} text: BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f} ({len(pairs):,} sentences)"


if __name__ == "__main__":
    main()
