"""The estimated speed of training."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
import torch

from dragoman.planning.speed import operations_per_second
from dragoman.system.cpu import usable_cores


@contextmanager
def busy_cores() -> Iterator[None]:
    """Several other programs for each core, which use it all the time."""
    with ExitStack() as processes:
        for _ in range(3 * usable_cores()):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            processes.enter_context(process)
            processes.callback(process.kill)
        yield


class TestOperationsPerSecond:
    def test_finds_the_speed_of_one_thread_at_least_on_a_busy_processor(self) -> None:
        threads = torch.get_num_threads()
        if threads == 1:
            pytest.skip("with one thread, all products are computed by one")
        idle = operations_per_second()
        with busy_cores():
            busy = operations_per_second()
        assert busy > idle / threads / 2
        assert torch.get_num_threads() == threads
