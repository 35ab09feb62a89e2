"""How fast this machine trains a model, estimated from the speed of a matrix product."""

from __future__ import annotations

import time

import torch

from dragoman.system.device import choose_device, compute_dtype

SIZE, SECONDS = 1024, 0.3  # of the square matrices, and of the measurement
EFFICIENCY = 0.055
"""Target tokens per second and per parameter, for each operation per second of the product.

Measured with the Multi30k recipe: 6,600 tokens per second, 6.55 million parameters and 780 GFLOP/s. Training takes
about 12 operations per parameter, for a source and a target token; this is two thirds of the speed of the product.
"""


def operations_per_second() -> float:
    """The speed of a product of two matrices on the device and in the data type of training."""
    device = choose_device("auto")
    dtype = compute_dtype("auto", device)
    a = torch.ones(SIZE, SIZE, device=device, dtype=dtype)
    (a @ a).sum().item()  # the first product prepares the kernel
    count, started = 0, time.monotonic()
    while (passed := time.monotonic() - started) < SECONDS:
        (a @ a)[0, 0].item()  # waits for a GPU
        count += 1
    return 2 * SIZE**3 * count / passed


def tokens_per_second(parameters: int, operations: float) -> float:
    """Target tokens per second that training processes.

    Args:
        parameters: Number of parameters of the model.
        operations: Result of `operations_per_second`.
    """
    return EFFICIENCY * operations / parameters
