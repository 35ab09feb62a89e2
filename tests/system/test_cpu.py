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
def test_another_program_on_the_same_core_makes_a_process_wait() -> None:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        time.sleep(0.5)  # until they have started
        clock, end = cpu.WaitingClock(), time.process_time() + 0.2
        while time.process_time() < end:
            pass
        busy = clock.read()
        time.sleep(2)
        asleep = clock.read()
    finally:
        os.sched_setaffinity(0, cores)
        for other in others:
            other.kill()
            other.wait()
    assert busy.processor is not None
    assert asleep.processor is not None
    assert 0.4 < busy.processor < 1
    assert asleep.processor < 0.3


def test_systems_that_do_not_count_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "SCHEDULED", tmp_path / "missing")
    monkeypatch.setattr(cpu, "CGROUPS", tmp_path / "missing")
    assert cpu.WaitingClock().read() == cpu.Waiting(None, None)


@pytest.mark.parametrize(
    ("limit", "statistics"),
    [
        ({"cpu.max": "100000 100000\n"}, ("cpu.stat", "nr_throttled 5\nthrottled_usec {:.0f}\n", 1e6)),
        (
            {"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"},
            ("cpu/cpu.stat", "nr_throttled 5\nthrottled_time {:.0f}\n", 1e9),
        ),
    ],
)
def test_the_limit_of_a_container_makes_a_process_wait(
    limit: dict[str, str], statistics: tuple[str, str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu").mkdir()
    name, text, unit = statistics
    for file, content in limit.items():
        (tmp_path / file).write_text(content)
    (tmp_path / name).write_text(text.format(3 * unit))
    monkeypatch.setattr(cpu, "CGROUPS", tmp_path)
    times = iter((10.0, 20.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    clock = cpu.WaitingClock()
    (tmp_path / name).write_text(text.format(7 * unit))
    assert clock.read().container == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("user", "spins"),
    [({}, cpu.SPINS), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)],
)
def test_threads_sleep_soon_unless_the_user_wants_otherwise(
    user: dict[str, str], spins: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in user.items():
        monkeypatch.setenv(name, value)
    cpu.limit_spinning()
    assert os.environ.get("GOMP_SPINCOUNT") == spins
