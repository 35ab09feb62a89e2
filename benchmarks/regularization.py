"""Measure what regularization, schedules and sizes gain on small text: one recipe, with one change in each variant.

Scores are those of the validation text; no test text is read. With --steps all variants take the same steps, so the
scores do not depend on the speed of the machine. --costs measures the time of a step of each variant, relative to the
recipe: both take steps in turn. --equal-time gives each variant the steps that it takes in the time in which the recipe
takes --steps steps, by these measurements. Runs that the file of results already contains are not repeated.

python benchmarks/regularization.py --costs
python benchmarks/regularization.py --steps 4250 --seeds 1 2 3 --variants recipe swiglu r-drop --equal-time
python benchmarks/regularization.py --minutes 60 --seeds 1 2 3 --variants recipe dropout-0.3
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import torch

import dragoman
from dragoman.corpus.corpus import read_corpus
from dragoman.dataset.prepare import prepare
from dragoman.evaluation.evaluate import evaluate
from dragoman.recipe import load_recipe
from dragoman.settings import Recipe
from dragoman.system.progress import ProgressLine
from dragoman.training.loop.state import build_state
from dragoman.training.loop.trainer import Trainer
from dragoman.training.run.log import MetricsFile, RunLog
from dragoman.training.run.run import train
from own_text import read, write_subset

RECIPE = "recipe"
VARIANTS: dict[str, tuple[str, ...]] = {
    RECIPE: (),
    # the amount of regularization
    "dropout-0": ("model.dropout=0",),
    "dropout-0.1": ("model.dropout=0.1",),
    "dropout-0.15": ("model.dropout=0.15",),
    "dropout-0.3": ("model.dropout=0.3",),
    "attention-dropout-0.1": ("model.attention_dropout=0.1",),
    "activation-dropout-0.1": ("model.activation_dropout=0.1",),
    "smoothing-0.05": ("training.label_smoothing=0.05",),
    "smoothing-0.2": ("training.label_smoothing=0.2",),
    "weight-decay-0.03": ("training.weight_decay=0.03",),
    "weight-decay-0.2": ("training.weight_decay=0.2",),
    "weight-decay-0.3": ("training.weight_decay=0.3",),
    "bpe-dropout-0.05": ("text.bpe_dropout=0.05",),
    "r-drop": ("training.r_drop=5",),
    # embeddings before the first step
    "random-embeddings": ("model.embedding_init=normal",),
    "cooccurrence": ("model.embedding_init=cooccurrence",),
    # averages of weights
    "average-3": ("training.validations=20", "training.validation_sentences=1", "training.average=3"),
    "ema-0.998": ("training.ema_decay=0.998",),
    # optimizer, rates and batches
    "adamw": ("training.optimizer=adamw", "training.learning_rate=2e-3"),
    "rate-2e-3": ("training.learning_rate=2e-3",),
    "rate-6e-3": ("training.learning_rate=6e-3",),
    "linear": ("training.schedule=linear",),
    "rate-3e-3": ("training.learning_rate=3e-3",),
    "beta-0.95": ("training.betas=[0.9, 0.95]",),
    "batch-768": ("training.batch_tokens=768",),
    "batch-512": ("training.batch_tokens=512",),
    "batch-1536": ("training.batch_tokens=1536",),
    # sizes
    "layers-4-3": ("model.encoder_layers=4",),
    "layers-4-2": ("model.encoder_layers=4", "model.decoder_layers=2"),
    "layers-5-2": ("model.encoder_layers=5", "model.decoder_layers=2"),
    "narrow-ff": ("model.d_ff=512", "model.encoder_layers=4"),
    "width-320": ("model.d_model=320", "model.d_ff=1280"),
    "width-192": ("model.d_model=192", "model.d_ff=768", "model.heads=6"),
    "swiglu": ("model.activation=swiglu", "model.d_ff=688"),
    "vocabulary-3000": ("text.vocabulary_size=3000",),
    "vocabulary-6000": ("text.vocabulary_size=6000",),
}


@dataclass(frozen=True)
class Case:
    """One run; exactly one of `steps` and `minutes` is given."""

    corpus: str
    variant: str
    steps: int | None
    minutes: float | None
    seed: int
    pairs: int | None  # of the training text, chosen at random; None: all
    settings: str

    @property
    def budget(self) -> str:
        return f"training.minutes={self.minutes}" if self.steps is None else f"training.steps={self.steps}"

    def recipe(self, directory: Path) -> Recipe:
        """The recipe with the changes; a subset of the training text is written to the directory."""
        variant = [change for name in self.variant.split("+") for change in VARIANTS[name]]
        unset = () if self.steps is None else ("training.minutes=none",)
        changes = [*unset, self.budget, f"training.seed={self.seed}", "data.test=[]", *self.settings.split()]
        recipe = load_recipe(Path(self.corpus), [*changes, *variant])
        if self.pairs is None:
            return recipe
        languages = recipe.data.source_language, recipe.data.target_language
        directory.mkdir(exist_ok=True)
        subset = write_subset(directory, read(str(recipe.data.train[0]), languages), self.pairs, languages)
        return load_recipe(Path(self.corpus), [*changes, *variant, f"data.train={json.dumps([subset])}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", default=["multi30k-de-en"], help="names of recipes")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), help="names, or several joined by +")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--steps", type=int, default=4250, help="two idle cores of machine B take 4,250 in ten minutes")
    budget.add_argument("--minutes", type=float, help="only on an otherwise idle machine")
    parser.add_argument("--equal-time", action="store_true", help="fewer steps for variants whose steps take longer")
    parser.add_argument("--costs", action="store_true", help="measure the time of a step instead")
    parser.add_argument("--rounds", type=int, default=8, help="of steps that are timed, spread evenly over the budget")
    parser.add_argument("--pairs", type=int, help="train on so many random pairs (default: all)")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="for all variants")
    parser.add_argument("--runs", type=Path, help="keep the runs in this directory (default: delete them)")
    parser.add_argument("--results", type=Path, default=Path("runs/regularization.jsonl"))
    arguments = parser.parse_args()
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    settings = " ".join(arguments.set)
    for corpus, seed, variant in product(arguments.corpora, arguments.seeds, arguments.variants):
        steps = None if arguments.minutes else arguments.steps
        case = Case(corpus, variant, steps, arguments.minutes, seed, arguments.pairs, settings)
        lines = read_results(arguments.results)
        if arguments.costs:
            found = {"cost": step_cost(case, arguments.rounds)} if cost_of(lines, case) is None else None
        else:
            cost = cost_of(lines, case) if arguments.equal_time and variant != RECIPE else 1.0
            assert cost is not None, f"measure the cost of {variant} with --costs first"
            shorter = case if steps is None else replace(case, steps=round(steps / cost))
            known = any(line["case"] == asdict(shorter) and "scores" in line for line in lines)
            found = None if known else run(shorter, arguments.runs) | {"equal_steps": steps}
            case = shorter
        if found:
            with arguments.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"case": asdict(case)} | found) + "\n")
            print(case, json.dumps(found), flush=True)
    print_tables(read_results(arguments.results))


def read_results(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def cost_of(lines: Sequence[dict[str, Any]], case: Case) -> float | None:
    """The measured time of a step of this variant, relative to the recipe; None if it was not measured."""
    same = asdict(case)
    costs = [
        line["cost"]["median"]
        for line in lines
        if "cost" in line and all(line["case"][name] == same[name] for name in ("corpus", "variant"))
    ]
    return float(costs[-1]) if costs else None


def run(case: Case, runs: Path | None) -> dict[str, Any]:
    """Train, and score the translator."""
    with tempfile.TemporaryDirectory(prefix="regularization-") as directory:
        recipe = case.recipe(Path(directory) / "subset")
        name = f"{case.corpus}-{case.variant}-{case.steps or case.minutes}-{case.seed}"
        output = (runs or Path(directory)) / name
        started = time.perf_counter()
        assert train(recipe, output, resume="auto")
        seconds = time.perf_counter() - started
        data = recipe.data
        pairs = [
            pair
            for reference in data.validation
            for pair in read_corpus(
                str(reference), source_language=data.source_language, target_language=data.target_language
            )
        ]
        report, _ = evaluate(dragoman.load(output), [pair.source for pair in pairs], [pair.target for pair in pairs])
    scores = {"bleu": report.bleu, "chrf": report.chrf, "loss": report.loss}
    return {"scores": scores, "decoding": report.decoding, "seconds": round(seconds)}


def step_cost(case: Case, rounds: int, steps: int = 8) -> dict[str, float]:
    """The CPU time of a step relative to the recipe, in rounds spread evenly over the budget: the median and the range.

    Both take the same batches, in turn; the first round warms up. CPU time varies less than time if programs share the
    processor, but only that of one thread is the time on an idle one.
    """
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as directory:
        recipes = [each.recipe(Path(directory) / "subset") for each in (replace(case, variant=RECIPE), case)]
        trainers = [make_trainer(recipe, Path(directory) / str(number)) for number, recipe in enumerate(recipes)]
        ratios = []
        for number in range(rounds + 1):
            spent, seconds = (max(number, 1) - 0.5) / rounds, [0.0, 0.0]
            for _, (place, trainer) in product(range(steps), enumerate(trainers)):
                seconds[place] += time_step(trainer, spent)
            ratios += [seconds[1] / seconds[0]] if number else []
        for trainer in trainers:
            trainer.log.metrics.close()
    return {"median": statistics.median(ratios), "lowest": min(ratios), "highest": max(ratios)}


def make_trainer(recipe: Recipe, run: Path) -> Trainer:
    run.mkdir()
    data = prepare(recipe, None, None, lambda text: None)
    log = RunLog(ProgressLine(""), MetricsFile(run / "metrics.jsonl", after_step=0))
    return Trainer(recipe, run, data, build_state(recipe, data, torch.device("cpu")), log)


def time_step(trainer: Trainer, spent: float) -> float:
    """Seconds of CPU time of a step at this share of the budget."""
    progress, settings = trainer.state.progress, trainer.settings
    if settings.minutes is not None:
        progress.seconds = spent * 60 * settings.minutes
    else:
        progress.step = round(spent * trainer.budget.total_steps)
    started = time.process_time()
    trainer.take_step(trainer.batches.next_step())
    return time.process_time() - started


def print_tables(lines: Sequence[dict[str, Any]]) -> None:
    """Means and standard deviations over the seeds; differences of the loss to the recipe with the same seeds."""
    tables: dict[tuple[Any, ...], dict[str, dict[int, Any]]] = defaultdict(lambda: defaultdict(dict))
    for line in lines:
        if "scores" in line:
            case = line["case"]
            budget = f"{case['minutes']:g} minutes" if case["minutes"] else f"{line['equal_steps']:,} steps"
            text = f"{case['corpus']}, {case['pairs'] or 'all'} pairs"
            tables[text, budget, case["settings"]][describe(line)][case["seed"]] = line["scores"]
    for (text, budget, settings), table in tables.items():
        print(f"\n{text}, {budget} {settings}")
        for variant, seeds in sorted(table.items(), key=lambda row: statistics.mean(loss(row[1]).values())):
            base = loss(table.get(RECIPE, {}))
            gains = [loss(seeds)[seed] - base[seed] for seed in seeds if seed in base]
            gain = f"{statistics.mean(gains):+.3f}" if gains else "     –"
            shown = [
                f"{name} {with_deviation([score[name] for score in seeds.values()])}"
                for name in ("loss", "bleu", "chrf")
            ]
            print(f"{variant:32} {len(seeds)} seeds  {'  '.join(shown)}  loss - recipe {gain}")
    for line in lines:
        if "cost" in line:
            median, lowest, highest = (line["cost"][name] for name in ("median", "lowest", "highest"))
            print(f"cost of {line['case']['variant']:24} {median:.2f} ({lowest:.2f} to {highest:.2f})")


def describe(line: dict[str, Any]) -> str:
    case = line["case"]
    shorter = case["steps"] != line["equal_steps"]
    return f"{case['variant']} ({case['steps']:,} steps)" if shorter else str(case["variant"])


def loss(seeds: dict[int, Any]) -> dict[int, float]:
    return {seed: scores["loss"] for seed, scores in seeds.items()}


def with_deviation(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):.3f}" + (f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else "")


if __name__ == "__main__":
    main()
