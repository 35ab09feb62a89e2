"""The estimated speed of training."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from os import cpu_count

import torch

from dragoman.planning.speed import operations_per_second


@contextmanager
def busy_cores() -> Iterator[None]:
    """Several other programs for each core, which use it all the time."""
    with ExitStack() as processes:
        for _ in range(3 * (cpu_count() or 1)):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            processes.enter_context(process)
            processes.callback(process.kill)
        yield


class TestOperationsPerSecond:
    def test_finds_the_speed_of_one_thread_at_least_on_a_busy_processor(self) -> None:
        idle, threads = operations_per_second(), torch.get_num_threads()
        with busy_cores():
            busy = operations_per_second()
        assert busy > idle / threads / 2
        assert torch.get_num_threads() == threads
