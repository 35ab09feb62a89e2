"""Compare the settings that `dragoman train FILE…` chooses with fixed recipes, on several corpora in the same time.

Each line of the results is one training run; runs that the file already contains are not repeated. Settings are chosen
by the scores of the validation text; `--test` also scores the test text, once, for the final table.

python benchmarks/own_text.py --minutes 10 --recipes init own-data multi30k small wide paper --test
python benchmarks/own_text.py --corpora tatoeba-de-en europarl-20k-de-en --pairs 1000 3000 10000 --minutes 5 20
python benchmarks/own_text.py --corpora wmt-news-de-en --variant dropout=model.dropout=0.3 --seeds 1 2 3
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import dragoman
from dragoman.corpus.corpus import read_corpus
from dragoman.evaluation.evaluate import evaluate
from dragoman.training.run.log import read_metrics

FIXED = Path(__file__).parent / "own_text"
CORPORA = {
    "tatoeba-de-en": ("de", "en"),
    "tatoeba-hi-en": ("hi", "en"),
    "libreoffice-de-en": ("de", "en"),
    "libreoffice-hi-en": ("hi", "en"),
    "europarl-20k-de-en": ("de", "en"),
    "wmt-news-de-en": ("de", "en"),
    "hindi-visual-genome": ("en", "hi"),
    "multi30k": ("de", "en"),
}
SPLITS = {"multi30k": ("train", "val", "test_2016_flickr"), "captions": ("train", "validation", "test")}
INIT = "init"
MAX_SCORED = 1000  # validation pairs; the news have 3,003


@dataclass(frozen=True)
class Case:
    """One training run; `variant` names the settings that differ from those of the recipe."""

    corpus: str
    pairs: int | None
    recipe: str
    variant: str
    minutes: float
    seed: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA), choices=[*CORPORA, "captions"])
    parser.add_argument("--recipes", nargs="+", default=[INIT], help=f"{INIT}, or names in {FIXED.name}/")
    parser.add_argument("--pairs", nargs="+", type=int, help="sizes of nested random subsets (default: all)")
    parser.add_argument("--minutes", nargs="+", type=float, default=[10.0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument(
        "--variant", action="append", default=[], metavar="NAME=KEY=VALUE[,KEY=VALUE…]", help="settings to change"
    )
    parser.add_argument("--only-variants", action="store_true", help="do not train with the unchanged recipes")
    parser.add_argument("--test", action="store_true", help="also score the test text")
    parser.add_argument(
        "--length-penalties", nargs="*", type=float, default=[], help="also score the validation text with these"
    )
    parser.add_argument("--runs", type=Path, help="keep the runs in this directory (default: delete them)")
    parser.add_argument("--results", type=Path, default=Path("runs/own-text.jsonl"))
    arguments = parser.parse_args()
    variants = dict(variant.split("=", 1) for variant in arguments.variant)
    names = [*([] if arguments.only_variants else [""]), *variants]
    cases = [
        Case(corpus, pairs, recipe, variant, minutes, seed)
        for seed, minutes, pairs, corpus, recipe, variant in product(
            arguments.seeds,
            arguments.minutes,
            arguments.pairs or [None],
            arguments.corpora,
            arguments.recipes,
            names,
        )
    ]
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    done = {Case(**line["case"]) for line in read_results(arguments.results)}
    for case in cases:
        if case not in done:
            overrides = variants[case.variant].split(",") if case.variant else []
            line = run(case, overrides, arguments.test, arguments.length_penalties, arguments.runs)
            with arguments.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"case": asdict(case)} | line, ensure_ascii=False) + "\n")
            print(describe(case, line), flush=True)
    print_tables(read_results(arguments.results))


def read_results(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def run(
    case: Case, overrides: Sequence[str], with_test: bool, length_penalties: Sequence[float], runs: Path | None
) -> dict[str, Any]:
    """Train once, and score the translator."""
    languages = CORPORA.get(case.corpus, ("de", "en"))
    splits = SPLITS.get(case.corpus, ("train", "dev", "test"))
    train, validation, test = (f"{case.corpus}:{split}" for split in splits)
    with tempfile.TemporaryDirectory(prefix="own-text-") as directory:
        if case.pairs is not None:
            train = write_subset(Path(directory), read(train, languages), case.pairs, languages)
        name = f"{case.corpus}-{case.pairs or 'all'}-{case.recipe}-{case.variant}-{case.minutes:g}-{case.seed}"
        output = (runs or Path(directory)) / name
        settings = [f"training.seed={case.seed}", *overrides]
        texts = {"validation": validation} | ({"test": test} if with_test else {})
        command = [sys.executable, "-m", "dragoman", "train", *what_to_train(case, train, texts, languages)]
        command += ["--output", str(output), *(word for setting in settings for word in ("--set", setting))]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        if finished.returncode:
            sys.exit(f"{' '.join(command)}\n{finished.stderr}")
        metrics = read_metrics(output / "metrics.jsonl")
        pairs = read(validation, languages)[:MAX_SCORED]
        return {
            "commit": subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip(),
            "run": summarize(metrics),
            "validation": scores(dragoman.load(output), pairs),
            "length_penalties": {
                f"{penalty:g}": scores(dragoman.load(output, length_penalty=penalty), pairs)
                for penalty in length_penalties
            },
            **({"test": tests[0]} if (tests := [line for line in metrics if line["kind"] == "test"]) else {}),
        }


def what_to_train(case: Case, train: str, texts: dict[str, str], languages: tuple[str, str]) -> list[str]:
    """The arguments of dragoman train: the text, or a fixed recipe and the text as settings."""
    if case.recipe == INIT:
        options = [word for name, reference in texts.items() for word in (f"--{name}", reference)]
        return [train, "--languages", ":".join(languages), "--minutes", f"{case.minutes:g}", *options]
    settings = [
        f"data.source_language={languages[0]}",
        f"data.target_language={languages[1]}",
        f"training.minutes={case.minutes:g}",
        *(f"data.{name}={json.dumps([reference])}" for name, reference in {"train": train, **texts}.items()),
    ]
    return [str(FIXED / f"{case.recipe}.toml"), *(word for setting in settings for word in ("--set", setting))]


Pairs = list[tuple[str, str]]


def read(reference: str, languages: tuple[str, str]) -> Pairs:
    pairs = read_corpus(reference, source_language=languages[0], target_language=languages[1])
    return [(pair.source, pair.target) for pair in pairs if pair.complete]


def write_subset(directory: Path, pairs: Pairs, number: int, languages: tuple[str, str]) -> str:
    """The first pairs of a random order, which is the same for all numbers: smaller subsets are parts of larger ones.

    They are written in their original order, as a smaller corpus would be.
    """
    chosen = sorted(random.Random(1).sample(range(len(pairs)), len(pairs))[:number])
    for language, texts in zip(languages, zip(*(pairs[index] for index in chosen), strict=True), strict=True):
        (directory / f"subset.{language}").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return f"{directory}/subset.{{lang}}"


def summarize(metrics: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Length of the run, the chosen checkpoint, and how much the loss improved in the last third of the run."""
    validations = [line for line in metrics if line["kind"] == "validation"]
    last, best = validations[-1], min(validations, key=lambda line: line["loss"])
    earlier = min(
        line["loss"] for line in validations if line["step"] <= max(2 / 3 * last["step"], validations[0]["step"])
    )
    return {
        **{name: last[name] for name in ("step", "epoch", "seconds")},
        "best_step": best["step"],
        "loss": best["loss"],
        "late_gain": 1 - min(line["loss"] for line in validations) / earlier,
    }


def scores(translator: dragoman.Translator, pairs: Pairs) -> dict[str, Any]:
    sources, references = zip(*pairs, strict=True)
    report, _ = evaluate(translator, sources, references)
    return {"bleu": report.bleu, "chrf": report.chrf, "loss": report.loss, "decoding": report.decoding}


def describe(case: Case, line: dict[str, Any]) -> str:
    run, score = line["run"], line["validation"]
    size = "all" if case.pairs is None else f"{case.pairs:,}"
    return (
        f"{case.corpus:20} {size:>7} {case.recipe + (f' {case.variant}' if case.variant else ''):20} "
        f"{case.minutes:4g} min  seed {case.seed}  {run['step']:6,} steps  {run['epoch']:6.1f} epochs  "
        f"best at {run['best_step']:6,}  late gain {run['late_gain']:6.1%}  BLEU {score['bleu']:5.2f}  "
        f"chrF {score['chrf']:5.2f}{describe_test(line['test']) if 'test' in line else ''}"
    )


def describe_test(scores: dict[str, Any]) -> str:
    nearest = f"  (nearest match {scores['nearest']['chrf']:.2f})" if scores.get("nearest") else ""
    return f"  test BLEU {scores['bleu']:5.2f}  chrF {scores['chrf']:5.2f}{nearest}"


def print_tables(lines: Sequence[dict[str, Any]]) -> None:
    """For each size and time: chrF by corpus and recipe, and the difference to the best single fixed recipe."""
    for (pairs, minutes), group in group_by_budget(lines):
        for text in ("validation", "test"):
            table: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
            for line in group:
                if text in line:
                    name = f"{line['case']['recipe']} {line['case']['variant']}".strip()
                    table[name][line["case"]["corpus"]].append(line[text]["chrf"])
            if table:
                print(f"\n{text}, chrF; {'all pairs' if pairs is None else f'{pairs:,} pairs'}, {minutes:g} minutes")
                print_table({name: {c: statistics.mean(v) for c, v in row.items()} for name, row in table.items()})


def group_by_budget(lines: Sequence[dict[str, Any]]) -> Iterator[tuple[tuple[int | None, float], list[dict[str, Any]]]]:
    groups: dict[tuple[int | None, float], list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        groups[line["case"]["pairs"], line["case"]["minutes"]].append(line)
    yield from groups.items()


def print_table(table: dict[str, dict[str, float]]) -> None:
    corpora = sorted({corpus for row in table.values() for corpus in row})
    print(f"{'':24}" + "".join(f"{corpus[:14]:>15}" for corpus in [*corpora, "mean"]))
    for name, row in table.items():
        mean = statistics.mean(row.values()) if set(row) == set(corpora) else float("nan")
        values = [row.get(corpus, float("nan")) for corpus in corpora]
        print(f"{name:24}" + "".join(f"{value:15.2f}" for value in [*values, mean]))
    fixed = {name: row for name, row in table.items() if not name.startswith(INIT) and set(row) == set(corpora)}
    if INIT in table and fixed and set(table[INIT]) == set(corpora):
        best = max(fixed, key=lambda name: statistics.mean(fixed[name].values()))
        gains = [table[INIT][corpus] - fixed[best][corpus] for corpus in corpora]
        print(f"{f'{INIT} - {best}':24}" + "".join(f"{gain:+15.2f}" for gain in [*gains, statistics.mean(gains)]))


if __name__ == "__main__":
    main()
