"""Measure back-translation and data diversification: Multi30k, English to German, all variants in the same total time.

The monolingual text is German captions of the training images that are no translations of the English ones (task 2).
Other settings are those of the recipe multi30k-en-de. Each line of the results is one run; runs that the file
already contains are not repeated. Variants are chosen by the scores of the validation text.

python benchmarks/monolingual.py --minutes 20 60 --seeds 1 2 3
python benchmarks/monolingual.py --minutes 60 --variants baseline tagged+diversified --set training.average=3
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import dragoman
from dragoman.corpus.corpus import read_corpus
from dragoman.evaluation.evaluate import evaluate
from dragoman.recipe import load_recipe
from dragoman.system.files import read_json
from dragoman.training.run.run import train

DIVERSIFIED = ("diversification.weight=1",)
VARIANTS: dict[str, tuple[str, ...]] = {
    "baseline": (),
    "diversified": DIVERSIFIED,
    "tagged": ("backtranslation.mono={mono}",),
    "untagged": ("backtranslation.mono={mono}", "backtranslation.tagged=false"),
    "sampling": ("backtranslation.mono={mono}", "backtranslation.method=sampling"),
    "noised": ("backtranslation.mono={mono}", "backtranslation.method=noised-beam", "backtranslation.tagged=false"),
    "tagged+diversified": ("backtranslation.mono={mono}", *DIVERSIFIED),
}


@dataclass(frozen=True)
class Case:
    """One run; `settings` are those of all variants."""

    variant: str
    minutes: float
    seed: int
    files: int
    settings: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="directory with multi30k/task2 (default: $DRAGOMAN_DATA)")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--minutes", nargs="+", type=float, default=[20.0], help="total time of all stages")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--files", type=int, default=5, help="files of task 2, with 29,000 captions each")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="for all variants")
    parser.add_argument("--test", action="store_true", help="also score test_2016_flickr")
    parser.add_argument("--runs", type=Path, help="keep the runs in this directory (default: delete them)")
    parser.add_argument("--results", type=Path, default=Path("runs/monolingual.jsonl"))
    arguments = parser.parse_args()
    data = arguments.data or Path(os.environ["DRAGOMAN_DATA"])
    mono = [str(data / "multi30k" / "task2" / f"train.{number}.de.gz") for number in range(1, arguments.files + 1)]
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    done = {Case(**line["case"]) for line in read_results(arguments.results)}
    for seed, minutes, variant in product(arguments.seeds, arguments.minutes, arguments.variants):
        case = Case(variant, minutes, seed, arguments.files, " ".join(arguments.set))
        if case not in done:
            line = run(case, mono, arguments.set, arguments.test, arguments.runs)
            with arguments.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"case": asdict(case)} | line, ensure_ascii=False) + "\n")
            print(json.dumps(line, ensure_ascii=False), flush=True)
    print_table(read_results(arguments.results))


def read_results(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def run(case: Case, mono: Sequence[str], settings: Sequence[str], test: bool, runs: Path | None) -> dict[str, Any]:
    """Run all stages, and score the translator."""
    changes = [change.format(mono=json.dumps(mono)) for change in VARIANTS[case.variant]]
    recipe = load_recipe(
        Path("multi30k-en-de"),
        [f"training.minutes={case.minutes}", f"training.seed={case.seed}", "data.test=[]", *changes, *settings],
    )
    with tempfile.TemporaryDirectory(prefix="monolingual-") as directory:
        output = (runs or Path(directory)) / f"{case.variant}-{case.minutes:g}-{case.seed}-{case.files}"
        started = time.perf_counter()
        assert train(recipe, output, resume="auto")
        seconds = time.perf_counter() - started
        splits = ["val", *(["test_2016_flickr"] if test else [])]
        scores = {split: score(output, split) for split in splits}
        synthetic = {path.stem: read_json(path) for path in sorted(output.glob("synthetic/*.json"))}
    return {"seconds": round(seconds), "scores": scores, "synthetic": synthetic}


def score(run: Path, split: str) -> dict[str, Any]:
    pairs = list(read_corpus(f"multi30k:{split}", source_language="en", target_language="de"))
    report, _ = evaluate(dragoman.load(run), [pair.source for pair in pairs], [pair.target for pair in pairs])
    return {"bleu": report.bleu, "chrf": report.chrf, "loss": report.loss, "signature": report.bleu_signature}


def print_table(results: Sequence[dict[str, Any]]) -> None:
    """Means over the seeds, by variant and time."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in results:
        case = line["case"]
        groups[case["minutes"], case["settings"], case["files"], case["variant"]].append(line)
    for (minutes, settings, files, variant), lines in sorted(groups.items()):
        shown = []
        for split in lines[0]["scores"]:
            values = [line["scores"][split]["bleu"] for line in lines if split in line["scores"]]
            spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
            shown.append(f"{split} BLEU {statistics.mean(values):.2f}{spread}")
        wall = statistics.mean(line["seconds"] for line in lines) / 60
        text = f"{minutes:g} min, {files} files {settings} {variant}: {', '.join(shown)}"
        print(f"{text} ({len(lines)} seeds, {wall:.1f} min with preparation and scoring)")


if __name__ == "__main__":
    main()
