"""What this process may use of the machine."""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")

SCHEDULED = Path("/proc/self/schedstat")
"""Linux: nanoseconds that the main thread has run, and that it has waited for a processor."""

CPU_INFO = Path("/proc/cpuinfo")
"""Linux: the processors with their instructions."""

SPINS = "1000"
"""How often a thread of OpenMP looks for more work before it sleeps; libgomp's default is 300,000 times, for
milliseconds. While another program uses the processor, the thread with the work cannot run meanwhile."""


def limit_spinning() -> None:
    """Let the threads of torch and CTranslate2 wait for each other without keeping the processor busy.

    With libgomp's default, training next to another program with several threads is up to a hundred times slower than
    alone; with this, two to four times, and equally fast alone (docs/performance.md). Call this before torch is
    loaded. Settings of the user are kept.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)


def usable_cores() -> int:
    """CPU cores this process may use; schedulers and containers may allow fewer than there are."""
    cores = (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()) or 1
    limit = _cgroup_limit(CGROUPS)
    return cores if limit is None else max(1, min(cores, math.ceil(limit)))


def default_threads() -> int:
    """Threads that a process trains with if nothing else is said: OMP_NUM_THREADS, or one for each usable core."""
    requested = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, int(requested)) if requested.isdecimal() else usable_cores()


def process_threads() -> int:
    """Threads that this process computes with: those of torch if it is loaded, otherwise `default_threads`."""
    torch = sys.modules.get("torch")
    return torch.get_num_threads() if torch else default_threads()


def has_avx512() -> bool:
    """Whether this is an x86 processor with the AVX-512 instructions that torch and CTranslate2 use."""
    if "torch" in sys.modules or not CPU_INFO.exists():
        import torch

        return torch.backends.cpu.get_cpu_capability() == "AVX512"
    flags = next((line for line in CPU_INFO.read_text(errors="replace").splitlines() if line.startswith("flags")), "")
    return {"avx512f", "avx512bw", "avx512dq", "avx512vl", "fma"} <= set(flags.split())


@dataclass(frozen=True)
class Waiting:
    """How long the main thread could not compute although it had work, as shares of a period.

    Attributes:
        processor: While other programs, or other threads of this one, used the processors; None if not known.
        container: Because the container had used up its share of the processors; None if not known.
    """

    processor: float | None
    container: float | None


class WaitingClock:
    """Measures how long the main thread waits for a processor."""

    def __init__(self) -> None:
        self._before = self._now()

    def read(self) -> Waiting:
        """The shares since the last call, or since this was created."""
        before, self._before = self._before, self._now()
        seconds = self._before[0] - before[0]

        def share(start: float | None, end: float | None) -> float | None:
            return None if start is None or end is None or not seconds else (end - start) / seconds

        container = share(before[2], self._before[2])
        if container is not None:  # the kernel adds up the time of each processor of the container
            container /= usable_cores()
        return Waiting(share(before[1], self._before[1]), container)

    @staticmethod
    def _now() -> tuple[float, float | None, float | None]:
        return time.monotonic(), _waited_seconds(), _throttled_seconds(CGROUPS)


def _waited_seconds() -> float | None:
    """Seconds that the main thread has waited for a processor, or None if the system does not count them."""
    try:
        return int(SCHEDULED.read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


def _throttled_seconds(root: Path) -> float | None:
    """Seconds in which the CPU limit of the container stopped its processes, or None if there is no limit."""
    if _cgroup_limit(root) is None:
        return None
    for path, key, unit in (
        (root / "cpu.stat", "throttled_usec", 1e6),  # version 2
        (root / "cpu" / "cpu.stat", "throttled_time", 1e9),
    ):
        try:
            return int(dict(line.split() for line in path.read_text().splitlines())[key]) / unit
        except (OSError, ValueError, KeyError):
            continue
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
