"""How fast this machine trains a model, estimated from the speed of a matrix product."""

from __future__ import annotations

import math
import time

import torch

from dragoman.system.device import choose_device, compute_dtype

SIZE, SECONDS = 512, 0.3  # of the square matrices, and of a measurement
EFFICIENCY = 0.055
"""Target tokens per second and per parameter, for each operation per second of the product.

Measured with the Multi30k recipe: 6,600 tokens per second, 6.55 million parameters and 780 GFLOP/s. Training takes
about 12 operations per parameter, for a source and a target token; this is two thirds of the speed of the product.
"""

THREAD_LIMIT = 400e9
"""The operations per second of one CPU thread from which faster products do not make training faster.

Processors with units for products of matrices (AMX) compute them three times as fast as others, but not all the rest.
"""

R_DROP_COST = 1.8
"""The time of a training step with R-Drop, which computes each sentence twice, relative to a step without it."""


def operations_per_second() -> float:
    """The speed of the fastest of many products of two matrices, on the device and in the data type of training.

    The mean would be half of it while another program uses the processor, even if that program ends soon, and a recipe
    for half of the speed would stop training too early. A small product fits into one time slice of the
    processor, but does not keep a GPU busy. A product of several threads ends with the slowest of them, which on a
    busy processor may have to wait each time, so some products are computed by one thread. Each thread of a CPU counts
    `THREAD_LIMIT` at most.
    """
    device = choose_device("auto")
    if device.type != "cpu":
        return _fastest_product(device, 2 * SIZE)
    threads = torch.get_num_threads()
    speed = _fastest_product(device, SIZE)
    try:
        torch.set_num_threads(1)
        return min(max(speed, _fastest_product(device, SIZE)), threads * THREAD_LIMIT)
    finally:
        torch.set_num_threads(threads)


def _fastest_product(device: torch.device, size: int) -> float:
    """Operations per second of the fastest of many products of two square matrices."""
    a = torch.ones(size, size, device=device, dtype=compute_dtype("auto", device))
    (a @ a).sum().item()  # the first product prepares the kernel
    fastest, ends = math.inf, time.monotonic() + SECONDS
    while fastest == math.inf or time.monotonic() < ends:
        started = time.perf_counter()
        (a @ a)[0, 0].item()  # waits for a GPU
        fastest = min(fastest, time.perf_counter() - started)
    return 2 * size**3 / fastest


def tokens_per_second(parameters: int, operations: float) -> float:
    """Target tokens per second that training processes.

    Args:
        parameters: Number of parameters of the model.
        operations: Result of `operations_per_second`.
    """
    return EFFICIENCY * operations / parameters
