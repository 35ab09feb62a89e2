"""Measure how much training is slowed down by `training.augmentation`, with the shares that `dragoman init` chooses.

Both trainers take steps in turn. Speed is tokens of source and target, without padding, per second of CPU time. Two
causes are measured by themselves, because they vary less: the padding, and the CPU time in which batches are made.

python benchmarks/augmentation.py
python benchmarks/augmentation.py --recipe multi30k-de-en --rounds 9
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import torch

from dragoman.dataset.prepare import Dataset, prepare
from dragoman.recipe import load_recipe
from dragoman.settings import Recipe
from dragoman.system.progress import ProgressLine
from dragoman.training.loop.state import build_state
from dragoman.training.loop.trainer import Trainer
from dragoman.training.run.log import MetricsFile, RunLog

SHARES = {"upper_case": 0.025, "title_case": 0.025, "no_end_punctuation": 0.2, "typos": 0.12, "single_words": 0.03}


class Measured(NamedTuple):
    """Tokens per second, the share of padding, and milliseconds per step to make the batches."""

    speed: float
    padding: float
    making: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", type=Path, default=Path("quickstart"), help="a recipe, or the name of one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30, help="steps of each trainer in a round")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    augmented = load_recipe(
        arguments.recipe, [f"training.augmentation.{kind}={share}" for kind, share in SHARES.items()]
    )
    started = time.perf_counter()
    data = prepare(augmented, None, None, print)
    print(f"prepared in {time.perf_counter() - started:.1f} s")
    with tempfile.TemporaryDirectory() as directory:
        recipes = {"unchanged": load_recipe(arguments.recipe), "augmented": augmented}
        trainers = {name: make_trainer(recipe, data, Path(directory) / name) for name, recipe in recipes.items()}
        found: dict[str, list[Measured]] = {name: [] for name in trainers}
        for number in range(arguments.rounds + 1):
            for name, trainer in trainers.items():
                measured = measure(trainer, arguments.steps)
                if number:  # the first round warms up
                    found[name].append(measured)
        for trainer in trainers.values():
            trainer.log.metrics.close()
    for name, rounds in found.items():
        speed, padding, making = (statistics.median(values) for values in zip(*rounds, strict=True))
        print(f"{name}: {speed:,.0f} tokens/s of CPU time, {padding:.1%} padding, {making:.2f} ms to make a batch")
    ratios = [after.speed / before.speed for before, after in zip(found["unchanged"], found["augmented"], strict=True)]
    print(f"speed, augmented / unchanged: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


def make_trainer(recipe: Recipe, data: Dataset, run: Path) -> Trainer:
    run.mkdir()
    log = RunLog(ProgressLine(""), MetricsFile(run / "metrics.jsonl", after_step=0))
    return Trainer(recipe, run, data, build_state(recipe, data, torch.device("cpu")), log)


def measure(trainer: Trainer, steps: int) -> Measured:
    tokens = padded = 0
    making, started = 0.0, time.process_time()
    for _ in range(steps):
        before = time.process_time()
        batches = trainer.batches.next_step()
        making += time.process_time() - before
        tokens += sum(group.source_tokens + group.target_tokens for batch in batches for group in batch)
        padded += sum(group.padded_tokens for batch in batches for group in batch)
        trainer.take_step(batches)
    return Measured(tokens / (time.process_time() - started), 1 - tokens / padded, 1000 * making / steps)


if __name__ == "__main__":
    main()
