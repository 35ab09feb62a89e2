"""Measure how much each kernel and memory setting speeds up training, by disabling one at a time.

Every measurement is a new process. A round runs all of them in turn, so that changes in the speed of the machine affect
all equally.

python benchmarks/training_parts.py --rounds 3
python benchmarks/training_parts.py --precisions bfloat16 --steps 40
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from dragoman.kernels import KERNELS, linear, projected_loss
from dragoman.recipe import build_recipe
from dragoman.system.memory import keep_freed_memory
from dragoman.training.loop import batch_loss
from dragoman.training.run.run import train
from training import make_recipe


def without_linear() -> None:
    del KERNELS["linear"]
    linear.uses_onednn = lambda a: False  # the projected loss multiplies matrices too


def without_projected_loss() -> None:
    vars(batch_loss)["projected_cross_entropy"] = projected_loss.plain_cross_entropy


def without_all_kernels() -> None:
    KERNELS.clear()
    without_projected_loss()


DISABLE: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "oneDNN linear": without_linear,
    "varlen attention": lambda: KERNELS.pop("attention"),
    "byte dropout": lambda: KERNELS.pop("dropout"),
    "projected loss": without_projected_loss,
    "all kernels": without_all_kernels,
    "kept memory": lambda: None,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--precisions", nargs="+", choices=("float32", "bfloat16"), default=("float32", "bfloat16"))
    parser.add_argument(
        "--steps", type=int, default=30, help="steps of a run, at least 15; the first third is not measured"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--disable", choices=DISABLE, help=argparse.SUPPRESS)  # measure only this, in this process
    arguments = parser.parse_args()
    if arguments.disable:
        print(json.dumps(measure(arguments.disable, arguments.precisions[0], arguments.steps)))
        return
    for precision in arguments.precisions:
        speeds: dict[str, list[float]] = {name: [] for name in DISABLE}
        for _ in range(arguments.rounds):
            for name, measured in speeds.items():
                measured.append(measure_in_new_process(name, precision, arguments.steps))
        print(f"\n{precision}: disabled, target tokens/s (median), relative to nothing disabled")
        full_speed = statistics.median(speeds["nothing"])
        for name, measured in speeds.items():
            print(f"{name:20} {statistics.median(measured):8,.0f}  {statistics.median(measured) / full_speed:.2f}")


def measure_in_new_process(name: str, precision: str, steps: int) -> float:
    command = [sys.executable, __file__, "--disable", name, "--precisions", precision, "--steps", str(steps)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return float(json.loads(output.splitlines()[-1]))


def measure(name: str, precision: str, steps: int) -> float:
    """Target tokens per second with one part disabled."""
    DISABLE[name]()
    if name != "kept memory":
        keep_freed_memory()
    settings = make_recipe(steps).to_dict()
    settings["training"]["precision"] = precision
    with tempfile.TemporaryDirectory() as directory:
        train(build_recipe(settings), Path(directory) / "run")
        lines = map(json.loads, (Path(directory) / "run" / "metrics.jsonl").read_text().splitlines())
        logged: list[float] = [line["tokens_per_second"] for line in lines if line["kind"] == "train"]
    return statistics.median(logged[len(logged) // 3 :])


if __name__ == "__main__":
    main()
