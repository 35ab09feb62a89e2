"""Measure the costs in table 1 of the paper (Vaswani et al. 2017): time and memory of four kinds of layer.

Self-attention, attention restricted to a window of r neighbours, convolution of width k and recurrence, each over a
sequence of n vectors of d dimensions, forward only, float32. For each, the exponents of n and d are fitted to the
measurements, printed next to those of the paper, and plotted.

python benchmarks/attention_cost.py --plot attention-cost.svg
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

WINDOW, WIDTH = 64, 5
LENGTHS, DIMENSIONS = (512, 1024, 2048, 4096), (256, 512, 1024, 2048)
FIXED_LENGTH, FIXED_DIMENSION = 512, 256


class Kind(NamedTuple):
    """A kind of layer: a function that creates one for d dimensions, and the exponents of n and d in the paper."""

    make: Callable[[int], Callable[[Tensor], Tensor]]
    formula: str
    n: int
    d: int


def self_attention(d: int) -> Callable[[Tensor], Tensor]:
    """softmax(X X^T / sqrt(d)) X, without the projections, as the paper counts."""
    return lambda x: (x @ x.mT / math.sqrt(d)).softmax(dim=-1) @ x


def restricted_attention(d: int) -> Callable[[Tensor], Tensor]:
    """Each position attends to the block of r positions it is in and the block before."""

    def attend(x: Tensor) -> Tensor:
        blocks = x.view(1, -1, WINDOW // 2, d)  # (1, n / (r/2), r/2, d)
        keys = torch.cat((blocks.roll(1, dims=1), blocks), dim=2)  # (1, n / (r/2), r, d)
        mixed: Tensor = (blocks @ keys.mT / math.sqrt(d)).softmax(dim=-1) @ keys  # (1, n / (r/2), r/2, d)
        return mixed.view_as(x)

    return attend


def convolution(d: int) -> Callable[[Tensor], Tensor]:
    """A dense convolution over k neighbours."""
    layer = nn.Conv1d(d, d, WIDTH, padding=WIDTH // 2)
    return lambda x: layer(x.mT).mT


def recurrence(d: int) -> Callable[[Tensor], Tensor]:
    """A plain recurrent layer, h_t = tanh(W x_t + U h_{t-1})."""
    layer = nn.RNN(d, d, batch_first=True)
    return lambda x: layer(x)[0]


KINDS = {
    "self-attention": Kind(self_attention, "n^2 d", 2, 1),
    f"restricted attention, r = {WINDOW}": Kind(restricted_attention, "r n d", 1, 1),
    f"convolution, k = {WIDTH}": Kind(convolution, "k n d^2", 1, 2),
    "recurrence": Kind(recurrence, "n d^2", 1, 2),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--plot", type=Path, help="plot the measurements to this file (.svg or .png)")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    curves: dict[str, list[tuple[str, tuple[int, ...], list[float]]]] = {"time (ms)": [], "memory (MiB)": []}
    print(f"{'':34} {'per layer':>9}  {'exponent of n: paper, time, memory':>36}  {'of d: paper, time, memory':>28}")
    for name, kind in KINDS.items():
        by_n = [measure(kind, n, FIXED_DIMENSION, arguments.repeats) for n in LENGTHS]
        by_d = [measure(kind, FIXED_LENGTH, d, arguments.repeats) for d in DIMENSIONS]
        time_n, memory_n = (exponent(LENGTHS, [point[part] for point in by_n]) for part in (0, 1))
        time_d, memory_d = (exponent(DIMENSIONS, [point[part] for point in by_d]) for part in (0, 1))
        print(
            f"{name:34} {kind.formula:>9}  {kind.n:>18} {time_n:8.2f} {memory_n:8.2f}  "
            f"{kind.d:>10} {time_d:8.2f} {memory_d:8.2f}"
        )
        for part, title in enumerate(curves):
            curves[title].append((name, LENGTHS, [point[part] for point in by_n]))
    if arguments.plot:
        draw(curves, arguments.plot)


@torch.inference_mode()
def measure(kind: Kind, n: int, d: int, repeats: int) -> tuple[float, float]:
    """Milliseconds (median) and peak of allocated MiB for one sequence."""
    layer, x = kind.make(d), torch.randn(1, n, d)
    layer(x)
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        layer(x)
        seconds.append(time.perf_counter() - started)
    return 1e3 * statistics.median(seconds), peak_bytes(lambda: layer(x)) / 2**20


def peak_bytes(run: Callable[[], object]) -> int:
    """Peak of the bytes that a function allocates for tensors."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # otherwise the profiler logs each start and stop
    with torch.profiler.profile(profile_memory=True) as profiler:
        run()
    alive = most = 0
    assert profiler.profiler is not None
    assert profiler.profiler.kineto_results is not None
    for event in sorted(profiler.profiler.kineto_results.events(), key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            alive += event.nbytes()
            most = max(most, alive)
    return most


def exponent(sizes: tuple[int, ...], values: list[float]) -> float:
    """The slope of values over sizes, both as logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def draw(curves: dict[str, list[tuple[str, tuple[int, ...], list[float]]]], path: Path) -> None:
    """Plot measurements over n on logarithmic axes, where an exponent is a slope."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, (title, lines) in zip(figure.subplots(1, 2), curves.items(), strict=True):
        for name, sizes, values in lines:
            axes.loglog(sizes, values, marker="o", label=name)
        axes.set_title(f"{title}, d = {FIXED_DIMENSION}")
        axes.set_xlabel("length n")
        axes.set_xticks(LENGTHS, [f"{n:,}" for n in LENGTHS])
        axes.minorticks_off()
        axes.grid(linewidth=0.4)
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main()
