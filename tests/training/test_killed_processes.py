"""Training commands that are killed at random moments: two ranks, and one process whose corpus is stored on disk.

`test_crashes.py` kills more often, because its processes start in milliseconds; here the start is part of the test.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from torch import distributed as dist

from dragoman.corpus.synthetic.captions import captions
from dragoman.recipe import save_recipe
from dragoman.system.files import sha256

if TYPE_CHECKING:
    from conftest import RecipeMaker

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system has no /proc")

TWO_RANKS = (
    *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"),
    *("-m", "dragoman", "train"),
)
ON_DISK = (
    sys.executable,
    "-c",
    "from dragoman.cli import main\n"
    "from dragoman.dataset import prepare\n"
    "prepare.IN_MEMORY_PAIRS, prepare.SHARD_PAIRS = 500, 200\n"
    "main()",
    "train",
)
"""The command with lower limits, so that a small corpus is stored on disk in several shards."""

SETTINGS = ("training.steps=40", "training.validations=4", "training.checkpoint_minutes=0.0001", "model.dropout=0.2")
KINDS = {"two ranks": TWO_RANKS, "moving average, corpus on disk": ON_DISK}
"""How each kind is started. `test_crashes.py` has neither."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_killed_commands_have_the_weights_of_an_uninterrupted_one(
    kind: str, make_recipe: RecipeMaker, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind == "two ranks" and not (dist.is_available() and dist.is_gloo_available()):
        pytest.skip("torch has no gloo")
    kills, seed = request.config.getoption("--process-kills"), request.config.getoption("--kill-seed")
    generator, command = random.Random(f"{seed} {kind}"), KINDS[kind]
    settings = [*SETTINGS]
    if command is ON_DISK:
        settings += ["training.ema_decay=0.9", f"data.train=['{_write_large_corpus(tmp_path)}']"]
    recipe = tmp_path / "recipe.toml"
    save_recipe(make_recipe(*settings), recipe)
    start = time.monotonic()
    with _running(command, recipe, tmp_path / "in-peace") as process:
        assert process.wait(300) == 0
    duration = time.monotonic() - start
    expected = sha256(tmp_path / "in-peace" / "bundle" / "model.safetensors")

    killed = runs = 0
    while killed < kills or not runs:
        runs += 1
        run = tmp_path / f"run-{runs}"
        while not (run / "bundle" / "bundle.json").exists():
            with _running(command, recipe, run) as process:
                if killed < kills:
                    time.sleep(generator.uniform(0, duration))
                    _kill_one(process.pid, generator)
                    killed += 1
                process.wait(120)  # torchrun ends the other rank
        assert sha256(run / "bundle" / "model.safetensors") == expected, f"--kill-seed={seed}"
    print(f"\n{kind}: {killed} kills in {runs} runs (--kill-seed={seed})")


@contextmanager
def _running(command: tuple[str, ...], recipe: Path, run: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A training command in its own process group, no process of which survives the block."""
    resume = ["--resume"] if (run / "recipe.toml").exists() else []
    cache = {"XDG_CACHE_HOME": str(run.parent / f"cache-{run.name}"), "OMP_NUM_THREADS": "1"}
    with run.with_suffix(".log").open("ab") as log:
        process = subprocess.Popen(
            [*command, str(recipe), "--output", str(run), *resume],
            stdout=log,
            stderr=log,
            env=os.environ | cache,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _kill_one(parent: int, generator: random.Random) -> None:
    """Kill a process or one of its descendants."""
    family = [parent]
    with suppress(FileNotFoundError, ProcessLookupError):  # one may have just ended
        for process in family:
            for children in Path(f"/proc/{process}/task").glob("*/children"):
                family += map(int, children.read_text().split())
        os.kill(generator.choice(family), signal.SIGKILL)


def _write_large_corpus(directory: Path) -> str:
    """The captions, more than ON_DISK holds in memory; returns the name for a recipe."""
    pairs = list(islice(captions("train"), 2000))
    for language, texts in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
        directory.joinpath(f"large.{language}").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return f"{directory}/large.{{lang}}"
