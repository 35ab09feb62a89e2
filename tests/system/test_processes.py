"""Several processes give the same results as one, and none of them outlives its parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.doctor.data.check import check_corpora
from dragoman.doctor.data.corpora import Corpora
from dragoman.settings import FilePair
from dragoman.system import processes
from dragoman.system.cpu import usable_cores
from dragoman.system.processes import FIRST_PARTS, map_in_processes

several = pytest.mark.skipif(usable_cores() < 2, reason="one core")


def square(number: int) -> tuple[int, int]:
    if number < 0:
        raise ValueError(number)
    return number * number, os.getpid()


@several
@pytest.mark.parametrize("count", [0, 1, FIRST_PARTS, 50])
def test_results_are_in_order(count: int) -> None:
    found = list(map_in_processes(square, iter(range(count))))
    assert [part for part, _ in found] == list(range(count))
    results = [result for _, result in found]
    assert [result for result, _ in results] == [number * number for number in range(count)]
    assert all((process == os.getpid()) == (count < FIRST_PARTS) for _, process in results)


@several
def test_parts_are_read_when_they_are_needed() -> None:
    read = []

    def numbers() -> Iterator[int]:
        for number in range(1000):
            read.append(number)
            yield number

    results = map_in_processes(square, numbers())
    next(results)
    assert len(read) < 100
    results.close()  # type: ignore[attr-defined]


@several
def test_errors_are_raised_and_end_the_processes() -> None:
    results, found = map_in_processes(square, [*range(6), -1, 7]), set()

    def collect() -> None:
        for _, (_, process) in results:
            found.add(process)

    with pytest.raises(ValueError, match="-1"):
        collect()
    assert found
    assert not any(map(_is_running, found))


@several
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_processes_end_with_their_parent(end: signal.Signals) -> None:
    program = (
        "import os, time\n"
        "from dragoman.system.processes import map_in_processes\n"
        "def work(part):\n"
        "    time.sleep(0.05)\n"
        "    return os.getpid()\n"
        "for _, process in map_in_processes(work, iter(int, 1)):\n"
        "    print(process, flush=True)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert parent.stdout is not None
    children = {int(parent.stdout.readline()) for _ in range(20)}
    parent.send_signal(end)
    parent.communicate(timeout=30)
    deadline = time.monotonic() + 30
    while any(_is_running(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_is_running(child) for child in children)


@several
def test_a_killed_process_is_an_error_although_signals_are_handled() -> None:
    program = (
        "import os, signal, sys\n"
        "from dragoman.errors import UserError\n"
        "from dragoman.system.processes import map_in_processes\n"
        "signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))\n"
        "def work(part):\n"
        "    if part == 20:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return bytes(10_000_000)\n"
        "try:\n"
        "    for _ in map_in_processes(work, range(1000)):\n"
        "        pass\n"
        "except UserError as error:\n"
        "    print(error)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        try:
            printed, _ = parent.communicate(timeout=30)
        finally:
            parent.kill()
    assert "a process was killed" in printed


def map_squares(count: int) -> list[tuple[int, int]]:
    return [result for _, result in map_in_processes(square, range(count))]


@several
def test_a_process_that_must_not_start_others_computes_by_itself() -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:  # its processes are daemons
        results = pool.apply(map_squares, [50])
    assert [result for result, _ in results] == [number * number for number in range(50)]
    assert len({process for _, process in results}) == 1


def _is_running(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"  # nobody may be left to wait for it


@several
def test_the_doctor_finds_the_same_with_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"Zeile {number} von {number % 977} mit {number % 31} Hunden" for number in range(40_000)]
    (tmp_path / "t.de").write_text("\n".join(lines) + "\n")
    (tmp_path / "t.en").write_text(
        "\n".join(f"line {number} of {number % 977} with {number % 31} dogs" for number in range(40_000)) + "\n"
    )
    corpora = Corpora("de", "en", [FilePair(source=str(tmp_path / "t.de"), target=str(tmp_path / "t.en"))])
    found = check_corpora(corpora, tmp_path / "several")
    monkeypatch.setattr(processes, "MAX_PROCESSES", 1)
    assert check_corpora(corpora, tmp_path / "one") == found
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "several" / file.name).read_bytes()
