"""Encoding in several processes gives the same result as in one process, even if processes fail."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.dataset.encode import PairEncoder, Shard, encode_shards
from dragoman.dataset.token_store import IdStore, load_shard
from dragoman.errors import UserError
from dragoman.settings import Text
from dragoman.text.registry import train_tokenizers

SOURCES = ["wort " * (number % 7) for number in range(90)]
TARGETS = [f"word {number} " * (number % 5) for number in range(90)]
MAX_TOKENS = 6


@pytest.fixture(scope="module")
def encoder() -> PairEncoder:
    text = Text(tokenizer="whitespace", joint=False)
    tokenizers = train_tokenizers(SOURCES, TARGETS, text, source_language="de", target_language="en")
    return PairEncoder(*tokenizers, MAX_TOKENS)


def shards(directory: Path, size: int = 20) -> list[Shard]:
    starts = range(0, len(SOURCES), size)
    return [
        Shard(directory / f"{start:03}.npz", SOURCES[start : start + size], TARGETS[start : start + size])
        for start in starts
    ]


def lists(side: IdStore) -> list[list[int]]:
    return [side[index].tolist() for index in range(len(side))]


def test_only_pairs_that_fit_are_kept(encoder: PairEncoder) -> None:
    encoded = encoder.encode(SOURCES, TARGETS)
    pairs = zip(encoder.source.encode(SOURCES), encoder.target.encode(TARGETS), strict=True)
    fitting = [pair for pair in pairs if all(0 < len(side) <= MAX_TOKENS for side in pair)]
    assert list(zip(lists(encoded.source), lists(encoded.target), strict=True)) == fitting
    assert 0 < len(fitting) < len(SOURCES)


def test_several_processes_write_the_same_files_as_one(
    encoder: PairEncoder, tmp_path: Path, digests: Callable[[Path], dict[str, str]]
) -> None:
    directories = {processes: tmp_path / str(processes) for processes in (1, 3)}
    for processes, directory in directories.items():
        directory.mkdir()
        counts = list(encode_shards(shards(directory), encoder, processes))
        assert sorted(counts) == [10, 20, 20, 20, 20]
    assert digests(directories[1]) == digests(directories[3])
    for shard in shards(directories[3]):
        loaded, expected = load_shard(shard.path), encoder.encode(shard.sources, shard.targets)
        assert loaded
        assert lists(loaded.source) == lists(expected.source)
        assert lists(loaded.target) == lists(expected.target)
    assert not multiprocessing.active_children()


def test_one_process_is_this_one(encoder: PairEncoder, tmp_path: Path) -> None:
    for _ in encode_shards(shards(tmp_path), encoder, 1):
        assert not multiprocessing.active_children()


def test_closing_leaves_only_complete_shards(encoder: PairEncoder, tmp_path: Path) -> None:
    with closing(encode_shards(shards(tmp_path, size=3), encoder, 2)) as counts:
        next(counts)
    written = list(tmp_path.iterdir())
    assert 1 <= len(written) < 30
    assert all(path.suffix == ".npz" and load_shard(path) for path in written)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("processes", [1, 2])
def test_a_shard_that_cannot_be_written_is_an_error(processes: int, encoder: PairEncoder, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"absent/0\d0.npz: could not be saved: there is no directory"):
        list(encode_shards(shards(tmp_path / "absent"), encoder, processes))


def test_a_killed_worker_is_an_error(encoder: PairEncoder, tmp_path: Path) -> None:
    def kill_workers() -> Iterator[Shard]:
        first, second, *others = shards(tmp_path)
        yield from (first, second)
        workers = multiprocessing.active_children()
        assert workers
        for worker in workers:
            worker.kill()
        yield from others

    with pytest.raises(UserError, match="a worker process that encodes text was killed"):
        list(encode_shards(kill_workers(), encoder, 2))
    assert not multiprocessing.active_children()


SCRIPT = """
import os, signal, sys
from itertools import count
from pathlib import Path
from dragoman.dataset.encode import PairEncoder, Shard, encode_shards
from dragoman.settings import Text
from dragoman.text.registry import train_tokenizers

signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore Ctrl-C
print("main module", flush=True)
directory, number = Path(os.environ["SHARDS"]), int(os.environ["NUMBER"])
texts = ["ein wort"] * 2000
text = Text(tokenizer="whitespace", joint=False)
tokenizers = train_tokenizers(texts, texts, text, source_language="de", target_language="en")
shards = (Shard(directory / f"{index}.npz", texts, texts) for index in range(number))
try:
    for pairs in encode_shards(shards, PairEncoder(*tokenizers, 10), 2):
        print(pairs, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
"""A program without a guard of its main module that encodes $NUMBER shards into the directory $SHARDS."""


@pytest.mark.parametrize("form", ["file", "stdin", "argument"])
def test_workers_do_not_run_the_main_module_of_the_caller(form: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    arguments = {"file": [str(script)], "stdin": ["-"], "argument": ["-c", SCRIPT]}[form]
    environment = os.environ | {"SHARDS": str(tmp_path), "NUMBER": "4"}
    done = subprocess.run(
        [sys.executable, *arguments], input=SCRIPT, env=environment, text=True, timeout=60, capture_output=True
    )
    assert (done.stdout.splitlines(), done.stderr) == (["main module", *["2000"] * 4], "")
    assert len(list(tmp_path.glob("*.npz"))) == 4


def workers(process: subprocess.Popen[str]) -> list[Path]:
    """Directories in /proc of the workers that a process has started."""
    threads = Path(f"/proc/{process.pid}/task")
    if not threads.exists():
        pytest.skip("the system does not list child processes")
    children = [Path("/proc", number) for path in threads.glob("*/children") for number in path.read_text().split()]
    return [child for child in children if b"spawn_main" in child.joinpath("cmdline").read_bytes()]


def start_encoding(directory: Path) -> subprocess.Popen[str]:
    """Encode without end in a new process group."""
    environment = os.environ | {"SHARDS": str(directory), "NUMBER": str(10**6)}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def receives_interrupt(worker: Path) -> bool:
    """Whether SIGINT is neither blocked nor ignored."""
    status = worker.joinpath("status").read_text()
    masks = (int(status.split(f"{name}:")[1].split()[0], base=16) for name in ("SigBlk", "SigIgn"))
    return not any(mask >> (signal.SIGINT - 1) & 1 for mask in masks)


@pytest.mark.parametrize("written", [0, 3])
def test_ctrl_c_stops_the_caller_and_lets_workers_finish(written: int, tmp_path: Path) -> None:
    """Ctrl-C reaches all processes of the terminal, also those that are still starting."""
    with start_encoding(tmp_path) as process:
        wait_until(lambda: bool(workers(process)) and len(list(tmp_path.glob("*.npz"))) >= written)
        assert not any(map(receives_interrupt, workers(process)))
        os.killpg(process.pid, signal.SIGINT)
        printed, errors = process.communicate(timeout=60)
    assert printed.endswith("interrupted\n")
    assert errors == ""
    paths = list(tmp_path.iterdir())
    assert all(path.suffix == ".npz" and load_shard(path) for path in paths)


def is_running(worker: Path) -> bool:
    status = worker / "stat"
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_workers_end_when_the_caller_is_killed(tmp_path: Path) -> None:
    with start_encoding(tmp_path) as process:
        wait_until(lambda: any(tmp_path.glob("*.npz")))
        started = workers(process)
        process.kill()
        process.communicate(timeout=60)
    assert started
    wait_until(lambda: not any(map(is_running, started)))
