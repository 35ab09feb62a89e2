"""Measure how much training is slowed down by `training.augmentation`, with the shares that `dragoman init` chooses.

Both trainers take steps in turn. Speed is tokens of source and target, without padding, per second of CPU time, so that
other programs hardly change it.

python benchmarks/augmentation.py
python benchmarks/augmentation.py --recipe multi30k-de-en --rounds 9
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch

from dragoman.dataset.prepare import Dataset, prepare
from dragoman.recipe import load_recipe
from dragoman.settings import Recipe
from dragoman.system.progress import ProgressLine
from dragoman.training.log import RunLog
from dragoman.training.metrics_file import MetricsFile
from dragoman.training.state import build_state
from dragoman.training.trainer import Trainer

SHARES = {"upper_case": 0.07, "title_case": 0.05, "no_end_punctuation": 0.2, "typos": 0.05, "single_words": 0.03}


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
        speeds: dict[str, list[float]] = {name: [] for name in trainers}
        for number in range(arguments.rounds + 1):
            for name, trainer in trainers.items():
                speed = measure(trainer, arguments.steps)
                if number:  # the first round warms up
                    speeds[name].append(speed)
        for trainer in trainers.values():
            trainer.log.metrics.close()
    for name, found in speeds.items():
        print(f"{name}: {statistics.median(found):,.0f} tokens per second of CPU time")
    ratios = [after / before for before, after in zip(speeds["unchanged"], speeds["augmented"], strict=True)]
    print(f"augmented / unchanged: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


def make_trainer(recipe: Recipe, data: Dataset, run: Path) -> Trainer:
    run.mkdir()
    log = RunLog(ProgressLine(""), MetricsFile(run / "metrics.jsonl", after_step=0))
    return Trainer(recipe, run, data, build_state(recipe, data, torch.device("cpu")), log)


def measure(trainer: Trainer, steps: int) -> float:
    """Tokens per second of CPU time."""
    tokens, started = 0, time.process_time()
    for _ in range(steps):
        batches = trainer.batches.next_step()
        tokens += sum(group.source_tokens + group.target_tokens for batch in batches for group in batch)
        trainer.take_step(batches)
    return tokens / (time.process_time() - started)


if __name__ == "__main__":
    main()
