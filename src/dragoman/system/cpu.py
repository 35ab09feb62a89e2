"""What this process may use of the machine."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")

SCHEDULED = Path("/proc/self/schedstat")
"""Linux: nanoseconds that the main thread has run, and that it has waited for a processor."""

MEASURED_SECONDS = 60.0
"""The length of the periods in which waiting is measured."""


def usable_cores() -> int:
    """CPU cores this process may use; schedulers and containers may allow fewer than there are."""
    cores = (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()) or 1
    limit = _cgroup_limit(CGROUPS)
    return cores if limit is None else max(1, min(cores, math.ceil(limit)))


def default_threads() -> int:
    """Threads that a process trains with if nothing else is said: OMP_NUM_THREADS, or one for each usable core."""
    requested = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, int(requested)) if requested.isdecimal() else usable_cores()


class ProcessorWaits:
    """Measures how much the main thread waits for a processor that other programs or its other threads use."""

    def __init__(self) -> None:
        self._start, self._before = time.monotonic(), _waited_seconds()

    def share(self) -> float | None:
        """The share of the time that it has waited, once a period is over; None before, and where it is not known."""
        now, waited = time.monotonic(), _waited_seconds()
        if self._before is None or waited is None or now - self._start < MEASURED_SECONDS:
            return None
        share = (waited - self._before) / (now - self._start)
        self._start, self._before = now, waited
        return share


def _waited_seconds() -> float | None:
    """Seconds that the main thread has waited for a processor, or None if the system does not count them."""
    try:
        return int(SCHEDULED.read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


def _cgroup_limit(root: Path) -> float | None:
    """The CPU limit of a container in cores, as set by `docker run --cpus`, or None if there is none."""
    try:
        if (root / "cpu.max").exists():  # version 2
            quota, period = (root / "cpu.max").read_text().split()
        else:
            quota, period = ((root / "cpu" / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        limit = float(quota) / float(period)  # ValueError for "max": no limit
    except (OSError, ValueError):
        return None
    return limit if limit > 0 else None
