"""Distill a translator, and compare the student with its teacher: time, size, speed and BLEU.

Each variant changes settings of the student. Students that exist in the output directory are not trained again, and an
interrupted one is continued. The corpus to compare on should not be the one that the student was validated on.

python benchmarks/distillation.py runs/multi30k-de-en --corpus multi30k:test_2016_flickr --minutes 30
python benchmarks/distillation.py runs/multi30k-de-en --variants chosen mixed no-dropout shallower
python benchmarks/distillation.py runs/multi30k-de-en --variants mono --mono task2/train.1.de.gz
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from dragoman.corpus.corpus import read_corpus
from dragoman.planning.student import STUDENT_SIZES, StudentPlan, plan_student
from dragoman.recipe import load_recipe
from dragoman.settings import Distillation
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.training.compare import MAX_PAIRS, compare_with_teachers
from dragoman.training.run.run import train

VARIANTS: dict[str, tuple[str, ...]] = {
    "chosen": (),
    "mono": (),  # with the text of --mono
    "best-candidate": ("distillation.candidates=1",),
    "mixed": ("distillation.original_weight=1",),
    "no-dropout": ("model.dropout=0",),
    "dropout-0.1": ("model.dropout=0.1",),
    "deeper": ("model.encoder_layers=4",),
    "shallower": ("model.encoder_layers=2",),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("teacher", type=Path, nargs="?", default=Path("runs/quickstart"))
    parser.add_argument("--corpus", default="captions:test", help="pairs to compare on, as recipes name them")
    parser.add_argument("--size", default="tiny", choices=list(STUDENT_SIZES))
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--variants", nargs="+", default=["chosen"], choices=list(VARIANTS))
    parser.add_argument("--mono", nargs="*", default=[], help="text in the source language for the variant mono")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="for all variants")
    parser.add_argument("--output", type=Path, default=Path("runs/distillation"))
    arguments = parser.parse_args()
    for variant in arguments.variants:
        run = arguments.output / f"{variant}-{arguments.size}-{arguments.minutes:g}"
        started = time.perf_counter()
        distill(run, variant, arguments)
        minutes = (time.perf_counter() - started) / 60
        print(f"\n{variant}: {minutes:.1f} minutes in total\n\n{compare(run, arguments)}", flush=True)


def distill(run: Path, variant: str, arguments: argparse.Namespace) -> None:
    """Train a student, unless that is done."""
    if (run / "recipe.toml").is_file():
        recipe = load_recipe(run / "recipe.toml")
    else:
        mono = tuple(arguments.mono) if variant == "mono" else ()
        distillation = Distillation(teachers=(str(arguments.teacher),), mono=mono)
        plan = StudentPlan(arguments.size, arguments.minutes, distillation)
        recipe = plan_student(plan, [*VARIANTS[variant], *arguments.set], None)
    assert train(recipe, run, resume="auto")


def compare(run: Path, arguments: argparse.Namespace) -> str:
    """The comparison with the teacher, as on the card of a student."""
    languages = load_recipe(run / "recipe.toml").data.languages
    student, teacher = (BundleEnsemble.load([str(path)], languages) for path in (run, arguments.teacher))
    source, target = languages
    pairs = list(read_corpus(arguments.corpus, source_language=source, target_language=target))[:MAX_PAIRS]
    return compare_with_teachers(student, teacher, arguments.corpus, pairs).markdown()


if __name__ == "__main__":
    main()
