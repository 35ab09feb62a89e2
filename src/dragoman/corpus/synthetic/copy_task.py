"""The built-in corpus of the copy task: random sequences whose translation is themselves."""

from __future__ import annotations

from functools import cache
from itertools import islice

import numpy as np

from dragoman.errors import UserError, nearest

_SIZES = {"train": 12_000, "validation": 200, "test": 1_000}
_LENGTH = 10
_WORDS = 10
_SEED = 1


def copying(split: str) -> list[str]:
    """Sequences of ten words from 1 to 10 that start with 1, all distinct across the splits train, validation, test."""
    if split not in _SIZES:
        raise UserError(f"copy has no split {split!r}, only {', '.join(_SIZES)}{nearest(split, _SIZES)}")
    return list(_splits()[split])


@cache
def _splits() -> dict[str, list[str]]:
    generator = np.random.Generator(np.random.PCG64(_SEED))
    distinct: dict[str, None] = {}
    while len(distinct) < sum(_SIZES.values()):
        words = [1, *generator.integers(1, _WORDS + 1, _LENGTH - 1).tolist()]
        distinct[" ".join(map(str, words))] = None
    sequences = iter(distinct)
    return {split: list(islice(sequences, size)) for split, size in _SIZES.items()}
