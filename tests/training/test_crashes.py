"""A run that is killed repeatedly, and whose files are damaged, has the same weights as an uninterrupted run.

`make crash-test` kills runs two hundred times, `make slow-test` twenty times; half of them with several directions.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest
from three_languages import recipe_of_many, write_texts

from dragoman.recipe import save_recipe
from dragoman.system.files import sha256
from dragoman.training.run.run import train

if TYPE_CHECKING:
    from conftest import RecipeMaker

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

SETTINGS = (
    "training.steps=60",
    "training.validations=6",
    "training.average=3",
    "training.checkpoint_minutes=0.0001",
    "model.dropout=0.2",
)
"""A checkpoint after every step, so that much of a run's time is spent saving."""


@contextmanager
def forks(recipe: Path, run: Path) -> Iterator[tuple[IO[str], IO[str]]]:
    """Standard input and output of a program that starts processes which train in `run`."""
    command = [sys.executable, str(Path(__file__).with_name("forks.py")), str(recipe), str(run)]
    log = run.with_suffix(".log").open("w")
    with log, subprocess.Popen(command, stdin=-1, stdout=-1, stderr=log, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdin, process.stdout
        process.stdin.close()


def train_and_kill(commands: IO[str], answers: IO[str], generator: random.Random) -> int:
    """Start training, kill it after a random time or at a random file operation, and return its exit status."""
    operation = generator.randrange(300) if generator.random() < 0.5 else None
    commands.write("\n" if operation is None else f"{operation}\n")
    commands.flush()
    child = int(answers.readline())
    if operation is None:
        time.sleep(generator.uniform(0, 0.7))
        os.kill(child, signal.SIGKILL)
    return int(answers.readline())


def damage(run: Path, generator: random.Random) -> None:
    """Truncate a file of the last checkpoint or flip a bit in it, or truncate the last line of the metrics.

    Without an earlier checkpoint, a run would continue with another average.
    """
    newest = max((run / "checkpoints").glob("step-*"))
    files = sorted(path for path in newest.iterdir() if path.is_file())
    path = generator.choice([*files, run / "metrics.jsonl"])
    content = bytearray(path.read_bytes())
    if not content:  # killed before the first line of the metrics
        return
    place = generator.randrange(len(content))
    if path.name == "metrics.jsonl":
        path.write_bytes(content[: max(place, len(content) - 100)])
    elif generator.random() < 0.5:
        path.write_bytes(content[:place])
    else:
        content[place] ^= 1 << generator.randrange(8)
        path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("languages", [2, 3])
def test_killed_run_has_the_weights_of_an_uninterrupted_one(
    languages: int, make_recipe: RecipeMaker, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    kills, seed = request.config.getoption("--kills") // 2, request.config.getoption("--kill-seed")
    generator, counts = random.Random(seed), Counter[str]()
    if languages == 2:
        recipe = make_recipe(*SETTINGS)
    else:
        for name, count in (("train", 200), ("validation", 10)):
            write_texts(tmp_path, name, count)
        recipe = recipe_of_many(tmp_path, *SETTINGS)
    assert train(recipe, tmp_path / "in-peace")
    expected = sha256(tmp_path / "in-peace" / "bundle" / "model.safetensors")
    save_recipe(recipe, tmp_path / "recipe.toml")

    while counts["killed"] < kills:
        counts["runs"] += 1
        run = tmp_path / f"run-{counts['runs']}"
        with forks(tmp_path / "recipe.toml", run) as (commands, answers):
            while counts["killed"] < kills and not (run / "bundle" / "bundle.json").exists():
                status = train_and_kill(commands, answers, generator)
                assert status in (0, signal.SIGKILL), run.with_suffix(".log").read_text()
                counts["killed"] += status != 0
                counts["while saving"] += status != 0 and any((run / "checkpoints").glob(".step-*"))
                if any((run / "checkpoints").glob("step-*")) and generator.random() < 0.2:
                    damage(run, generator)
                    counts["damaged"] += 1
        assert train(recipe, run, resume=(run / "recipe.toml").exists())
        assert sha256(run / "bundle" / "model.safetensors") == expected, f"--kill-seed={seed}"
    print("\n" + ", ".join(f"{name}: {count}" for name, count in counts.items()) + f" (--kill-seed={seed})")
    assert counts["while saving"] >= kills / 10
