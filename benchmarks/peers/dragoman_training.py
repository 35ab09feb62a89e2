"""Train the benchmark's model with dragoman and print its speed. Arguments: DIRECTORY PRECISION STEPS."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

from dragoman.recipe import load_recipe
from dragoman.system.memory import keep_freed_memory
from dragoman.training.run.run import train


def main(directory: Path, precision: str) -> None:
    keep_freed_memory()
    recipe = load_recipe(directory / "recipe.toml", [f"training.precision={precision}"])
    with tempfile.TemporaryDirectory() as runs:
        train(recipe, Path(runs) / "run")
        lines = [json.loads(line) for line in (Path(runs) / "run" / "metrics.jsonl").read_text().splitlines()]
    logged = [line for line in lines if line["kind"] == "train"]
    measured = logged[len(logged) // 3 :]
    speed = statistics.median(line["tokens_per_second"] for line in measured)
    real = 1 - statistics.mean(line["padding"] for line in measured)
    print(json.dumps({"tokens_per_second": speed, "real": real}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
