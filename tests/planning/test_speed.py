"""The estimated speed of training."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
import torch

from dragoman.errors import UserError
from dragoman.planning.budget import (
    BUSY,
    THREAD_LIMIT,
    MachineSpeed,
    chosen_minutes,
    measure_chosen_speed,
    measure_speed,
)
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


class TestMeasureSpeed:
    def test_finds_the_speed_of_one_thread_at_least_on_a_busy_processor(self) -> None:
        threads = usable_cores()
        if threads == 1:
            pytest.skip("with one thread, all products are computed by one")
        idle = measure_speed("cpu", threads)
        with busy_cores():
            busy = measure_speed("cpu", threads)
        assert busy.operations > idle.operations / threads / 2
        assert busy.waiting > BUSY
        assert "training.threads = 1" in "".join(busy.describe_load())
        assert not list(MachineSpeed(idle.operations, threads).describe_load())

    def test_is_that_of_the_threads_of_training(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = torch.get_num_threads()
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        assert measure_speed("cpu").threads == 3
        assert measure_chosen_speed(["training.device='cpu'", "training.threads=2"]).threads == 2
        for invalid in ("'many'", "true", "0", "100000"):
            assert measure_chosen_speed(["training.device='cpu'", f"training.threads={invalid}"]).threads == 3
        monkeypatch.delenv("OMP_NUM_THREADS")
        assert measure_speed("cpu").threads == usable_cores()
        assert torch.get_num_threads() == before
        with pytest.raises(UserError, match="device 'abacus' cannot be used"):
            measure_chosen_speed(["training.device='abacus'"])


def test_only_a_valid_time_is_planned_for() -> None:
    assert chosen_minutes(None, ["training.minutes=1.5"]) == 1.5
    assert chosen_minutes(3.0, ["training.minutes=1.5"]) == 3.0
    assert not any(chosen_minutes(None, [f"training.minutes={each}"]) for each in ("inf", "nan", "1e308", "-1", "true"))


class TestTokensPerSecond:
    def test_products_that_are_faster_than_the_rest_of_a_step_do_not_count(self) -> None:
        usual, fast = (MachineSpeed(speed * THREAD_LIMIT, threads=2) for speed in (1.5, 6.0))
        assert usual.tokens_per_second(6_500_000) < fast.tokens_per_second(6_500_000)
        assert fast.tokens_per_second(6_500_000) == MachineSpeed(60 * THREAD_LIMIT, 2).tokens_per_second(6_500_000)
        assert fast.tokens_per_second(6_500_000) == 2 * MachineSpeed(60 * THREAD_LIMIT, 1).tokens_per_second(6_500_000)

    def test_large_models_use_fast_products_better(self) -> None:
        fast, gpu = MachineSpeed(10 * THREAD_LIMIT, threads=1), MachineSpeed(10 * THREAD_LIMIT)
        shares = [fast.tokens_per_second(size) / gpu.tokens_per_second(size) for size in (2_000_000, 48_000_000)]
        assert shares[0] < shares[1] < 1.0
