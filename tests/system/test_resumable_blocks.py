"""Blocks: the same in one process and in several, stored once, resumed; no process outlives its parent."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from dragoman.doctor.data.check import check_corpora
from dragoman.doctor.data.corpora import Corpora
from dragoman.errors import UserError
from dragoman.settings import FilePair
from dragoman.system import resumable
from dragoman.system.cpu import usable_cores
from dragoman.system.progress import Meter
from dragoman.system.resumable import BlockStore, grouped, only_writer, run_blocks

Squares = list[tuple[int, int]]


def square(numbers: Sequence[int]) -> Squares:
    """The square of each number, and the process that computes it."""
    if min(numbers) < 0:
        raise ValueError(min(numbers))
    return [(number * number, os.getpid()) for number in numbers]


def singles(count: int) -> list[list[int]]:
    return [[number] for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, 4, 50])
@pytest.mark.parametrize("processes", [1, 3])
def test_results_are_in_order(count: int, processes: int) -> None:
    blocks = list(run_blocks(square, iter(singles(count)), processes=processes))
    assert [block.items for block in blocks] == singles(count)
    results = [block.result[0] for block in blocks]
    assert [result for result, _ in results] == [number * number for number in range(count)]
    computing = {process for _, process in results}
    assert len(computing) <= min(count, processes)
    assert computing <= {os.getpid()} if processes == 1 else os.getpid() not in computing


@pytest.mark.parametrize("processes", [1, 2, 8])
def test_items_are_read_when_they_are_needed(processes: int) -> None:
    read = []

    def numbers() -> Iterator[list[int]]:
        for number in range(1000):
            read.append(number)
            yield [number]

    blocks = run_blocks(square, numbers(), processes=processes)
    next(blocks)
    assert len(read) <= 1 if processes == 1 else 4 * processes
    blocks.close()
    assert not multiprocessing.active_children()


class StrangeError(Exception):
    """An error that cannot be sent to another process."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


def fail(numbers: Sequence[int]) -> int:
    errors: dict[int, Exception] = {
        10: UserError("file line 3: wrong"),
        11: ValueError("no number"),
        12: StrangeError("this", "that"),
    }
    if error := errors.get(numbers[0]):
        raise error
    return os.getpid()


@pytest.mark.parametrize("processes", [1, 3])
@pytest.mark.parametrize(
    ("number", "error", "message"),
    [(10, UserError, r"^file line 3: wrong\b"), (11, ValueError, r"^no number\b"), (12, Exception, "this and that")],
)
def test_errors_keep_their_message_and_end_the_processes(
    processes: int, number: int, error: type[Exception], message: str
) -> None:
    blocks, found = run_blocks(fail, [*singles(6), [number], [7]], processes=processes), set()

    def collect() -> None:
        for block in blocks:
            found.add(block.result)

    with pytest.raises(error, match=message):
        collect()
    assert found
    assert not any(map(_is_running, found - {os.getpid()}))


class Store:
    """A directory of blocks that counts what is written, and is interrupted before a number of blocks are."""

    def __init__(self, directory: Path, identity: Any = "squares", stop_before: int = 10**9) -> None:
        directory.mkdir(exist_ok=True)
        self.saved, self.stop_before, self.messages = list[str](), stop_before, list[str]()
        self.store = BlockStore(directory, identity, self._save, self._load, log=self.messages.append)

    def _save(self, path: Path, squares: Squares) -> None:
        if len(self.saved) == self.stop_before:
            raise KeyboardInterrupt
        self.saved.append(path.name)
        path.write_text(json.dumps([number for number, _ in squares]))

    def _load(self, path: Path) -> Squares | None:
        try:
            return [(number, 0) for number in json.loads(path.read_text())]
        except ValueError:
            return None

    def run(self, numbers: Sequence[int], processes: int, meter: Meter | None = None) -> list[int]:
        blocks = run_blocks(square, grouped(numbers, 3), store=self.store, processes=processes, meter=meter)
        return [number for block in blocks for number, _ in block.result]


@pytest.mark.parametrize("processes", [1, 3])
def test_an_interrupted_process_is_continued(
    processes: int, tmp_path: Path, digests: Callable[[Path], dict[str, str]]
) -> None:
    numbers, expected = range(50), [number * number for number in range(50)]
    (tmp_path / "whole").mkdir()
    Store(tmp_path / "whole").run(numbers, 1)
    written: list[str] = []
    for before in (0, 2, 5):
        store = Store(tmp_path / "cut", stop_before=before)
        with pytest.raises(KeyboardInterrupt):
            store.run(numbers, processes)
        written += store.saved
    last, shown = Store(tmp_path / "cut"), list[str]()
    assert last.run(numbers, processes, Meter(lambda share, text: shown.append(text), "squaring", 50)) == expected
    assert len(shown) == 17
    assert shown[-1].startswith("squaring: 50 of 50 pairs")
    assert sorted(written + last.saved) == sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert digests(tmp_path / "cut") == digests(tmp_path / "whole")
    again = Store(tmp_path / "cut")
    assert (again.run(numbers, processes), again.saved) == (expected, [])


@pytest.mark.parametrize("processes", [1, 3])
def test_only_blocks_of_the_same_items_and_identity_are_used(processes: int, tmp_path: Path) -> None:
    Store(tmp_path).run(range(50), processes)
    changed = [number if number != 7 else 700 for number in range(50)]
    store = Store(tmp_path)
    assert store.run(changed, processes) == [number * number for number in changed]
    assert len(store.saved) == 1
    other = Store(tmp_path, "other squares")
    other.run(changed, processes)
    assert len(other.saved) == 17


@pytest.mark.parametrize("processes", [1, 3])
def test_damaged_blocks_are_named_and_computed_again(processes: int, tmp_path: Path) -> None:
    Store(tmp_path).run(range(50), processes)
    damaged = sorted(tmp_path.iterdir())[2::9]
    for path in damaged:
        path.write_text("[1, ")
    store = Store(tmp_path)
    assert store.run(range(50), processes) == [number * number for number in range(50)]
    assert store.saved == [path.name for path in damaged]
    assert store.messages == [f"{path}: damaged; computing it again" for path in damaged]


SCRIPT = """
import os, signal, sys, time
from dragoman.errors import UserError
from dragoman.system.resumable import run_blocks
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore Ctrl-C
print("main module", flush=True)
def work(items):
    time.sleep(0.05)
    return os.getpid()
try:
    for block in run_blocks(work, ([number] for number in range(int(sys.argv[-1]))), processes=2):
        print(block.result, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
"""A program without a guard of its main module that prints the process of each block."""


@pytest.mark.parametrize("form", ["file", "stdin", "argument"])
def test_processes_do_not_run_the_main_module_of_the_caller(form: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    arguments = {"file": [str(script)], "stdin": ["-"], "argument": ["-c", SCRIPT]}[form]
    done = subprocess.run(
        [sys.executable, *arguments, "8"], input=SCRIPT, text=True, timeout=60, capture_output=True, check=True
    )
    printed = done.stdout.splitlines()
    assert (printed.count("main module"), len(printed), done.stderr) == (1, 9, "")


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_processes_end_with_their_parent(end: signal.Signals) -> None:
    """Also if Ctrl-C reaches all of them, as in a terminal, and only the parent reports it."""
    command = [sys.executable, "-c", SCRIPT, str(10**9)]
    parent = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == "main module\n"
    children = {int(parent.stdout.readline()) for _ in range(20)}
    assert len(children) == 2
    assert not any(map(receives_interrupt, children))
    if end == signal.SIGINT:
        os.killpg(parent.pid, end)
    else:
        parent.send_signal(end)
    printed, errors = parent.communicate(timeout=300)
    if end == signal.SIGINT:
        assert (printed.splitlines()[-1], errors) == ("interrupted", "")
    deadline = time.monotonic() + 300
    while any(_is_running(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_is_running(child) for child in children)


def receives_interrupt(process: int) -> bool:
    """Whether SIGINT is neither blocked nor ignored."""
    status = Path(f"/proc/{process}/status").read_text()
    masks = (int(status.split(f"{name}:")[1].split()[0], base=16) for name in ("SigBlk", "SigIgn"))
    return not any(mask >> (signal.SIGINT - 1) & 1 for mask in masks)


def test_a_killed_process_is_an_error_although_signals_are_handled() -> None:
    program = (
        "import os, signal, sys\n"
        "from dragoman.errors import UserError\n"
        "from dragoman.system.resumable import run_blocks\n"
        "signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))\n"
        "def work(items):\n"
        "    if items == [20]:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return bytes(10_000_000)\n"
        "try:\n"
        "    for _ in run_blocks(work, ([number] for number in range(1000)), processes=2, advice='; try again'):\n"
        "        pass\n"
        "except UserError as error:\n"
        "    print(error)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        try:
            printed, _ = parent.communicate(timeout=300)
        finally:
            parent.kill()
    assert printed == "a worker process was killed, perhaps because the memory was full; try again\n"


def run_squares(count: int) -> Squares:
    return [block.result[0] for block in run_blocks(square, singles(count), processes=4)]


def test_a_process_that_must_not_start_others_computes_by_itself() -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:  # its processes are daemons
        results = pool.apply(run_squares, [50])
    assert [result for result, _ in results] == [number * number for number in range(50)]
    assert len({process for _, process in results}) == 1


def _is_running(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"  # nobody may be left to wait for it


@pytest.mark.skipif(usable_cores() < 2, reason="one core")
def test_the_doctor_finds_the_same_with_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"Zeile {number} von {number % 977} mit {number % 31} Hunden" for number in range(40_000)]
    (tmp_path / "t.de").write_text("\n".join(lines) + "\n")
    (tmp_path / "t.en").write_text(
        "\n".join(f"line {number} of {number % 977} with {number % 31} dogs" for number in range(40_000)) + "\n"
    )
    corpora = Corpora("de", "en", [FilePair(source=str(tmp_path / "t.de"), target=str(tmp_path / "t.en"))])
    found = check_corpora(corpora, tmp_path / "several")
    monkeypatch.setattr(resumable, "MAX_PROCESSES", 1)
    assert check_corpora(corpora, tmp_path / "one") == found
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "several" / file.name).read_bytes()


def test_an_empty_directory_is_deleted_while_no_other_process_can_write_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one begins when the first one releases the lock. It has written nothing until the check."""
    release, others = FileLock.release, ExitStack()

    def release_and_begin(lock: FileLock, *arguments: Any) -> None:
        release(lock, *arguments)
        monkeypatch.setattr(FileLock, "release", release)
        others.enter_context(only_writer(tmp_path / "out"))

    monkeypatch.setattr(FileLock, "release", release_and_begin)
    with others:
        with only_writer(tmp_path / "out"):
            pass
        assert (tmp_path / "out.partial").is_dir()
