"""How fast this machine trains a model, estimated from the speed of a matrix product."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from dragoman.system.cpu import WaitingClock, default_threads
from dragoman.system.device import choose_device, compute_dtype

SIZE, SECONDS = 512, 0.3  # of the square matrices, and of a measurement
EFFICIENCY = 0.055
"""Target tokens per second and per parameter, for each operation per second of the product.

Measured with the Multi30k recipe: 6,600 tokens per second, 6.55 million parameters and 780 GFLOP/s. Training takes
about 12 operations per parameter, for a source and a target token; this is two thirds of the speed of the product.
"""

THREAD_LIMIT, LIMITED_PARAMETERS, LIMIT_EXPONENT = 400e9, 6.5e6, 0.25
"""Limit for one CPU thread, in operations per second, for a model with `LIMITED_PARAMETERS` parameters.

Some processors (AMX) multiply matrices three times as fast as others, but the rest of a training step is no faster.
This rest is a smaller share in a larger model: with 2, 7 and 48 million parameters, one thread trains as if it computed
235, 460 and 560 to 740 GFLOP/s, where products run at 1,250. So the limit grows with the fourth root of the parameters.
"""

BUSY = 0.1
"""The share of the time that products must wait for a processor: 0.01 alone, 0.24 next to a loop in Python."""

R_DROP_COST = 1.8
"""The time of a training step with R-Drop, which computes each sentence twice, relative to a step without it."""


@dataclass(frozen=True)
class MachineSpeed:
    """What decides how fast this machine trains a model.

    Attributes:
        operations: Operations per second of a product of two matrices, in the data type of training.
        threads: Threads that compute it; None on a GPU.
        waiting: The share of the time that products waited for a processor; 0 where the system does not count it.
    """

    operations: float
    threads: int | None = None
    waiting: float = 0.0

    def tokens_per_second(self, parameters: int) -> float:
        """Target tokens per second that training processes, without R-Drop.

        Args:
            parameters: Number of parameters of the model.
        """
        operations = self.operations
        if self.threads:
            limit = THREAD_LIMIT * (parameters / LIMITED_PARAMETERS) ** LIMIT_EXPONENT
            operations = min(operations, self.threads * limit)
        return EFFICIENCY * operations / parameters

    def describe_load(self) -> Iterator[str]:
        """What to expect while other programs use the processor, if they do."""
        if self.waiting > BUSY:
            fix = "; training.threads = 1 may be faster then" if (self.threads or 1) > 1 else ""
            yield f"other programs use the processor; while they run, training may take several times as long{fix}"


def measure_speed(device_name: str = "auto", threads: int | None = None) -> MachineSpeed:
    """The speed of the fastest of many products of two matrices, on the device and in the data type of training.

    The mean would be half of it while another program uses the processor, even if that program ends soon, and a recipe
    for half of the speed would stop training too early. A small product fits into one time slice of the
    processor, but does not keep a GPU busy. A product of several threads ends with the slowest of them, which on a
    busy processor may have to wait each time, so some products are computed by one thread.

    Args:
        device_name: The device of training.
        threads: Its threads on a CPU; by default those that training uses.

    Raises:
        UserError: There is no such device.
    """
    device = choose_device(device_name)
    if device.type != "cpu":
        return MachineSpeed(_fastest_product(device, 2 * SIZE))
    before, threads = torch.get_num_threads(), threads or default_threads()
    clock = WaitingClock()
    try:
        torch.set_num_threads(threads)
        operations = _fastest_product(device, SIZE)
        torch.set_num_threads(1)
        operations = max(operations, _fastest_product(device, SIZE))
        return MachineSpeed(operations, threads, clock.read().processor or 0.0)
    finally:
        torch.set_num_threads(before)


def _fastest_product(device: torch.device, size: int) -> float:
    """Operations per second of the fastest of many products of two square matrices."""
    a = torch.ones(size, size, device=device, dtype=compute_dtype("auto", device))
    (a @ a).sum().item()  # the first product prepares the kernel
    seconds: list[float] = []
    ends = time.monotonic() + SECONDS
    while not seconds or time.monotonic() < ends:
        started = time.perf_counter()
        (a @ a)[0, 0].item()  # waits for a GPU
        seconds.append(time.perf_counter() - started)
    return 2 * size**3 / min(seconds)
