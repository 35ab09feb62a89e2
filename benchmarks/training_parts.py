"""What each means of speed is worth in training: the benchmark's configuration with one of them at a time undone.

Each run is a process of its own; a round runs all of them in turn, so that a slow minute of the machine hits them all.

python benchmarks/training_parts.py --rounds 3
python benchmarks/training_parts.py --precisions bfloat16 --steps 40
"""

from __future__ import annotations

import argparse
import json
import mmap
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.recipe import build_recipe
from dragoman.training.run import train
from training import make_recipe


def draw_keep_scale(x: Tensor, probability: float) -> Tensor:
    """A Bernoulli sample a value instead of a random byte."""
    return torch.full_like(x, 1 - probability).bernoulli_().div_(1 - probability)


def plain_loss(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float, ignore: int
) -> tuple[Tensor, Tensor]:
    """Projection and cross-entropy by torch, one after the other."""
    logits = F.linear(hidden, weight, bias)
    loss = F.cross_entropy(logits, targets, ignore_index=ignore, label_smoothing=smoothing, reduction="sum")
    return loss, loss.detach()


UNDONE: dict[str, dict[str, Any]] = {
    "nothing": {},
    "products by oneDNN": {"dragoman.kernels.linear.ONEDNN": False},
    "huge pages": {"mmap.MADV_HUGEPAGE": mmap.MADV_NOHUGEPAGE},
    "kept memory": {"dragoman.training.run.keep_memory": lambda: None},
    "dropout by bytes": {
        "dragoman.model.layers.dropout": F.dropout,
        "dragoman.model.transformer.dropout": F.dropout,
        "dragoman.kernels.varlen_attention.keep_scale": draw_keep_scale,
    },
    "attention by blocks": {"dragoman.model.attention.MultiHeadAttention._fused": lambda self, x: True},
    "fused projection and loss": {"dragoman.training.batch_loss.projected_cross_entropy": plain_loss},
}
"""What is undone, and by what other code in place of what."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--precisions", nargs="+", choices=("float32", "bfloat16"), default=("float32", "bfloat16"))
    parser.add_argument("--steps", type=int, default=30, help="of a run; the first third warms up")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", choices=UNDONE, help=argparse.SUPPRESS)  # what a process of its own is to undo
    arguments = parser.parse_args()
    if arguments.alone:
        print(json.dumps(run(arguments.alone, arguments.precisions[0], arguments.steps)))
        return
    for precision in arguments.precisions:
        speeds: dict[str, list[float]] = {name: [] for name in UNDONE}
        for _ in range(arguments.rounds):
            for name, measured in speeds.items():
                measured.append(run_alone(name, precision, arguments.steps))
        print(f"\n{precision}: undone, target tokens/s (median), of the speed with everything")
        whole = statistics.median(speeds["nothing"])
        for name, measured in speeds.items():
            print(f"{name:28} {statistics.median(measured):8,.0f}  {statistics.median(measured) / whole:.2f}")


def run_alone(name: str, precision: str, steps: int) -> float:
    command = [sys.executable, __file__, "--alone", name, "--precisions", precision, "--steps", str(steps)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return float(json.loads(output.splitlines()[-1]))


def run(name: str, precision: str, steps: int) -> float:
    """Target tokens a second with one means undone."""
    settings = make_recipe(steps).to_dict()
    settings["training"]["precision"] = precision
    with ExitStack() as stack:
        for target, other in UNDONE[name].items():
            stack.enter_context(patch(target, other))
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        train(build_recipe(settings), place / "run")
        lines = map(json.loads, (place / "run" / "metrics.jsonl").read_text().splitlines())
        logged: list[float] = [line["tokens_per_second"] for line in lines if line["kind"] == "train"]
    return statistics.median(logged[len(logged) // 3 :])


if __name__ == "__main__":
    main()
