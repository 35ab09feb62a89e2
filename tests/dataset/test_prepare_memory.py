"""A corpus that is large without changed limits: a killed run is resumed, and memory stays small."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from preparation import PAIRS, kinds

from dragoman.dataset.prepare import IN_MEMORY_PAIRS
from dragoman.recipe import save_recipe

if TYPE_CHECKING:
    from conftest import RecipeMaker

LARGE = 240_000
"""So many pairs that memory which grows with them is most of it."""


@pytest.fixture(scope="module")
def large_recipe(corpus: Path, make_recipe: RecipeMaker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("large")
    for language in ("de", "en"):
        (directory / f"train.{language}").write_bytes((corpus / f"train.{language}").read_bytes() * (LARGE // PAIRS))
    words = ("text.tokenizer=whitespace", "training.steps=5", "training.validations=1", "training.threads=2")
    save_recipe(make_recipe(f'data.train=["{directory}/train.{{lang}}"]', *words), directory / "large.toml")
    return directory / "large.toml"


MEASURE = """
import hashlib, sys
from pathlib import Path
from dragoman.recipe import load_recipe
from dragoman.dataset import prepare

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024

recipe, prepare.IN_MEMORY_PAIRS = load_recipe(Path(sys.argv[1])), int(sys.argv[2])
before = peak()
pairs = prepare.prepare(recipe, None, None, lambda text: None).train
print(peak() - before)
sides = pairs.source.ids.astype("int64").tobytes(), pairs.target.ids.astype("int64").tobytes()
print(bool(pairs.maps), len(pairs), *(hashlib.sha256(side).hexdigest() for side in sides))
"""


def measure(recipe: Path, limit: int) -> tuple[int, list[str]]:
    """Peak memory of preparing, in bytes; whether the result is mapped, its number of pairs and digests of its ids."""
    command = [sys.executable, "-c", MEASURE, str(recipe), str(limit)]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return int(printed[0]), printed[1].split()


def kill_while_encoding(recipe: Path, directory: Path, home: Path) -> None:
    command = [sys.executable, "-m", "dragoman", "train", str(recipe), "--output", str(directory / "run")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while not list(home.glob("shards-*/0*.npz")):
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline, "no shard was encoded"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.slow
def test_a_killed_preparation_is_resumed_and_takes_little_memory(
    large_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("the system does not show the peak memory of a process")
    in_memory, expected = measure(large_recipe, LARGE)
    home = tmp_path / "dragoman" / "prepared"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kill_while_encoding(large_recipe, tmp_path, home)
    assert "pairs" not in kinds(home)

    first, resumed = measure(large_recipe, IN_MEMORY_PAIRS)
    second, opened = measure(large_recipe, IN_MEMORY_PAIRS)
    assert expected[0] == "False"
    assert resumed == opened == ["True", *expected[1:]]
    assert kinds(home) == ["pairs", "split", "tokenizers"]
    assert first < 0.6 * in_memory, (first, second, in_memory)
    assert second < 0.2 * in_memory, (first, second, in_memory)
