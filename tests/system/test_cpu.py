"""What a process may use of the machine, and how much others use of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.system import cpu


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, 64),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 64),
        ({}, 64),
    ],
)
def test_limits_of_containers(
    files: dict[str, str], cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(cpu, "CGROUPS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    assert cpu.usable_cores() == cores


@pytest.mark.skipif(not cpu.SCHEDULED.is_file(), reason="the system does not count the time of waiting")
def test_another_program_on_the_same_core_makes_a_process_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cpu.ProcessorWaits().share() is None  # too early
    monkeypatch.setattr(cpu, "MEASURED_SECONDS", 0.0)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        time.sleep(0.5)  # until they have started
        waits, end = cpu.ProcessorWaits(), time.process_time() + 0.2
        while time.process_time() < end:
            pass
        share = waits.share()
        time.sleep(2)
        asleep = waits.share()
    finally:
        os.sched_setaffinity(0, cores)
        for other in others:
            other.kill()
            other.wait()
    assert share is not None
    assert asleep is not None
    assert 0.4 < share < 1
    assert asleep < 0.3


def test_systems_that_do_not_count_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "MEASURED_SECONDS", 0.0)
    monkeypatch.setattr(cpu, "SCHEDULED", tmp_path / "missing")
    assert cpu.ProcessorWaits().share() is None
