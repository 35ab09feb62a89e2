"""The copy task: random sequences of words, each of which is its own translation."""

from __future__ import annotations

from functools import cache
from itertools import islice

import numpy as np

from dragoman.errors import UserError, nearest

_SIZES = {"train": 12_000, "validation": 200, "test": 1_000}
_LENGTH = 10
_WORDS = 10
_SEED = 1


def copy_sequences(split: str) -> list[str]:
    """Sequences of ten words from 1 to 10 that start with 1; all are distinct, also across the splits.

    Raises:
        UserError: The split is not train, validation or test.
    """
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
