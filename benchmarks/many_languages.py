"""Measure one model of many languages against a model for each direction, trained in the same total time.

The corpora are in directories named after two languages, such as de-dsb/train.de.gz and de-dsb/dev.de.gz. One model
gets all minutes; each separate model gets an equal part of them. Scores are chrF++, BLEU and, for the one model, the
share of translations in another language, with the search of the bundles, on ``TESTS/de-dsb/SET.de`` and so on for
each set, or on the dev sets if there are no others; these choose checkpoints, so they flatter both alike. Pairs that
are left out are not trained on by the one model: it translates them without having seen any (zero-shot).

python benchmarks/many_languages.py --texts ../shared/data/sorbian --runs runs/many --minutes 120 --tests my/tests
python benchmarks/many_languages.py --texts ../shared/data/sorbian --runs runs/many --minutes 9
python benchmarks/many_languages.py --texts multi30k --runs runs/zero --minutes 40 --leave-out cs-fr de-fr cs-de
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import dragoman
from dragoman.evaluation.evaluate import evaluate

ALL = "all"


def main() -> None:
    """Train what is not trained yet, and print the scores of each direction."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True, help="directory with de-hsb/train.de.gz and so on")
    parser.add_argument("--runs", type=Path, required=True, help="where the runs are")
    parser.add_argument(
        "--minutes", type=float, required=True, help="time of the one model, and of all others together"
    )
    parser.add_argument("--tests", type=Path, help="directory with de-hsb/NAME.de and so on; default: the dev sets")
    parser.add_argument("--set", dest="settings", action="append", default=[], help="of the one model")
    parser.add_argument("--mono", action="append", default=[], help="monolingual text for the one model")
    parser.add_argument("--leave-out", nargs="*", default=[], help="pairs that the one model is not trained on: de-hsb")
    parser.add_argument("--only", nargs="*", help=f"train and score only these: {ALL}, de-hsb, hsb-de, …")
    arguments = parser.parse_args()
    pairs = sorted(path.name for path in arguments.texts.iterdir() if path.is_dir())
    directions = [each for pair in pairs for each in (pair, "-".join(reversed(pair.split("-"))))]
    trained = [pair for pair in pairs if pair not in arguments.leave_out]
    runs: dict[str, Path] = {}
    for name in arguments.only or [ALL, *directions]:
        runs[name] = arguments.runs / name
        used, settings, minutes = [name], [], arguments.minutes / (2 * len(trained))
        if name == ALL:
            used, settings, minutes = trained, arguments.settings, arguments.minutes
        if not (runs[name] / "bundle").is_dir():
            train_on(arguments.texts, used, runs[name], minutes, settings, arguments.mono if name == ALL else [])
    print("| direction | set | " + " | ".join(runs) + " |")
    for direction in directions:
        tests = arguments.tests or arguments.texts
        for test, sources, references in read_tests(tests, direction, arguments.tests is None):
            scores = [score(run, name, direction, sources, references) for name, run in runs.items()]
            print(f"| {direction} | {test} | " + " | ".join(scores) + " |", flush=True)


def find(directory: Path, direction: str, name: str) -> list[str]:
    """The files of a corpus, the source first."""
    source, target = direction.split("-")
    folder = next(each for each in (directory / direction, directory / f"{target}-{source}") if each.is_dir())
    return [str(next(folder.glob(f"{name}.{code}*"))) for code in (source, target)]


def train_on(
    texts: Path, directions: Sequence[str], run: Path, minutes: float, settings: Sequence[str], mono: Sequence[str]
) -> None:
    """`dragoman train` in a new process, because the time of a command counts from the start of its process."""
    files, dev = ([file for each in directions for file in find(texts, each, name)] for name in ("train", "dev"))
    command = [sys.executable, "-m", "dragoman", "train", *files, "--output", str(run), "--minutes", str(minutes)]
    for option, values in (("--validation", dev), ("--mono", mono), ("--set", settings)):
        for value in values:
            command += [option, value]
    subprocess.run(command, check=True)


def read_tests(directory: Path, direction: str, only_dev: bool) -> Iterator[tuple[str, list[str], list[str]]]:
    """The name, the sources and the references of each set in a direction."""
    source = direction.split("-")[0]
    folders = [directory / direction, directory / "-".join(reversed(direction.split("-")))]
    names = {path.name.partition(".")[0] for each in folders for path in each.glob(f"*.{source}*")}
    for name in sorted({"dev"} & names if only_dev else names):
        sides = [read(Path(file)) for file in find(directory, direction, name)]
        yield name, sides[0], sides[1]


def read(path: Path) -> list[str]:
    """The lines of a file."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def score(run: Path, name: str, direction: str, sources: Sequence[str], references: Sequence[str]) -> str:
    """The scores of a model in a direction; empty if it is for another one."""
    if name not in (ALL, direction):
        return ""
    source, target = direction.split("-")
    report, _ = evaluate(dragoman.load(run, source_language=source, target_language=target), sources, references)
    wrong = "" if report.wrong_language is None else f", {report.wrong_language:.1%} in another language"
    return f"{report.chrf_pp:.2f}, BLEU {report.bleu:.2f}{wrong}"


if __name__ == "__main__":
    main()
