"""What this process may use of the machine."""

from __future__ import annotations

import math
import os
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """CPU cores this process may use; schedulers and containers may allow fewer than there are."""
    cores = (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()) or 1
    limit = _cgroup_limit(CGROUPS)
    return cores if limit is None else max(1, min(cores, math.ceil(limit)))


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
