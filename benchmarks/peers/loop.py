"""The training loop of toolkits without one; prints target tokens per second. Needs only torch and numpy."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

Logits = Callable[[Tensor, Tensor], Tensor]  # of source (batch, source) and target input (batch, target)


class Ids(NamedTuple):
    """Sentences as ids, special ids, and the size of the vocabulary."""

    sources: list[np.ndarray]
    targets: list[np.ndarray]
    pad: int
    bos: int
    eos: int
    size: int


def read_ids(directory: Path) -> Ids:
    """Read the ids that benchmarks/training.py wrote."""
    data = np.load(directory / "ids.npz")
    sides = []
    for side in ("source", "target"):
        ids = data[side]  # read once: each access to the file would read the whole array
        sides.append([ids[start:end] for start, end in pairwise(data[f"{side}_offsets"])])
    _, pad, bos, eos = data["specials"].tolist()
    return Ids(sides[0], sides[1], pad, bos, eos, int(data["size"]))


def random_batches(ids: Ids, sentences: int) -> list[np.ndarray]:
    """Random batches of a number of sentences of any length."""
    order = np.random.default_rng(1).permutation(len(ids.sources))
    return np.array_split(order, len(order) // sentences)


def bucketed_batches(ids: Ids, tokens: int) -> list[np.ndarray]:
    """Batches of sentences of similar length with a number of target tokens, in random order."""
    lengths = (
        np.array([[len(target), len(source)] for source, target in zip(ids.sources, ids.targets, strict=True)]) + 1
    )
    order = np.lexsort((lengths[:, 1], lengths[:, 0]))
    batches, start = [], 0
    for position, index in enumerate(order):
        if (position + 1 - start) * lengths[index].max() > tokens:
            batches.append(order[start:position])
            start = position
    batches.append(order[start:])
    return [batches[number] for number in np.random.default_rng(1).permutation(len(batches))]


def train(
    ids: Ids, model: nn.Module, logits: Logits, batches: Sequence[np.ndarray], precision: str, steps: int
) -> None:
    """Train with Adam and label smoothing; print the median speed after the first third of the steps."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    speeds, real, padded = [], 0, 0
    model.train()
    for step in range(steps):
        started = time.perf_counter()
        indices = batches[step % len(batches)]
        source = _pad([np.append(ids.sources[index], ids.eos) for index in indices], ids.pad)
        target = _pad([np.concatenate(([ids.bos], ids.targets[index], [ids.eos])) for index in indices], ids.pad)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bfloat16"):
            predicted = logits(source, target[:, :-1])
            loss = nn.functional.cross_entropy(
                predicted.flatten(0, 1).float(), target[:, 1:].flatten(), ignore_index=ids.pad, label_smoothing=0.1
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tokens = int((target[:, 1:] != ids.pad).sum())
        real, padded = real + tokens + int((source != ids.pad).sum()), padded + target[:, 1:].numel() + source.numel()
        speeds.append(tokens / (time.perf_counter() - started))
    print(json.dumps({"tokens_per_second": statistics.median(speeds[steps // 3 :]), "real": real / padded}))


def _pad(sentences: list[np.ndarray], pad: int) -> Tensor:
    rows = np.full((len(sentences), max(map(len, sentences))), pad, dtype=np.int64)
    for row, sentence in zip(rows, sentences, strict=True):
        row[: len(sentence)] = sentence
    return torch.from_numpy(rows)


def arguments() -> tuple[Path, str, int]:
    """DIRECTORY PRECISION STEPS."""
    return Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
