"""Runs many cases in another process, with limits on the time and the memory of each."""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import torch

from dragoman.errors import UserError

CPU_SECONDS = 20
"""A case that takes longer is regarded as endless. This does not depend on the load of the machine."""
WAIT_SECONDS = 300
"""A case that waits longer is regarded as a deadlock."""
MEGABYTES = 1000
"""Memory that a case may take."""


class Outcome(NamedTuple):
    """What happened in one case: "accepted", "refused" (a `UserError`) or "failed", which is a bug."""

    case: int
    status: str
    message: str
    megabytes: int


def run_cases(function: Callable[..., None], arguments: tuple[Any, ...], count: int) -> Iterator[Outcome]:
    """Call `function(case, *arguments)` for each case in another process, which is replaced when it dies or hangs."""
    context = multiprocessing.get_context("spawn")  # a fork would inherit the locks of torch's threads
    case = 0
    while case < count:
        outcomes, sender = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(sender, function, arguments, range(case, count)), daemon=True)
        process.start()
        sender.close()
        while case < count and outcomes.poll(WAIT_SECONDS) and (outcome := _receive(outcomes)):
            yield outcome
            case += 1
        if case < count:
            process.join(1)
            hangs = process.is_alive()
            process.kill()
            process.join()
            yield Outcome(case, "failed", "waits" if hangs else f"exit status {process.exitcode}", 0)
            case += 1
        process.join()


def describe_failures(outcomes: list[Outcome], limited: tuple[str, ...] = ("accepted", "refused")) -> str:
    """The cases that failed, or that used too much memory and ended with one of the statuses in `limited`."""
    return "\n".join(
        f"case {outcome.case} {outcome.status}, {outcome.megabytes:,} MB: {outcome.message}"
        for outcome in outcomes
        if outcome.status == "failed" or (outcome.status in limited and outcome.megabytes > MEGABYTES)
    )


def _receive(outcomes: Connection) -> Outcome | None:
    try:
        return Outcome(*outcomes.recv())
    except EOFError:  # the process died
        return None


def _work(sender: Connection, function: Callable[..., None], arguments: tuple[Any, ...], cases: range) -> None:
    torch.set_num_threads(1)  # several wait for each other on a busy machine
    for case in cases:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak memory
        before = _peak_megabytes()
        limit = int(time.process_time()) + CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))  # SIGXCPU ends the process
        status, message = "accepted", ""
        try:
            function(case, *arguments)
        except UserError as error:
            status, message = "refused", str(error)
        except BaseException:
            status, message = "failed", traceback.format_exc()
        sender.send((case, status, message, _peak_megabytes() - before))
    os._exit(0)


def _peak_megabytes() -> int:
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) // 1024 if found else 0
