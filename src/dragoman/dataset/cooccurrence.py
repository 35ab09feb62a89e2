"""Vectors of tokens, similar for tokens of similar use, from counts of the training text.

A model with random embeddings must first learn which tokens of both languages belong together; counts of the text know
this before. Half of the dimensions describe in which pairs a token occurs, on either side, so that a word is similar to
its translations (latent semantic analysis of two languages: Dumais et al. 1997). The other half describe which tokens
are next to it, so that tokens of a word class are similar (pointwise mutual information: Levy and Goldberg 2014).
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from dragoman.dataset.token_store import IdStore, PairStore

COUNTED_PAIRS = 100_000
"""Of more pairs, so many are counted, evenly spaced."""

DISTANCE = 2
"""Distance of the neighbors of a token, at most."""

_EXTRA_DIMENSIONS = 8  # for the precision of the randomized decomposition

Integers = NDArray[np.int64]
Side = tuple[Integers, Integers]
"""Ids of the tokens of one side, (tokens,), and in which pair each is, (tokens,)."""


def cooccurrence_vectors(pairs: PairStore, first_target: int, size: int, dimensions: int, seed: int) -> Tensor:
    """Vectors of length 1, (size, dimensions), float32; of length 0 for tokens that were not counted.

    Args:
        pairs: The training pairs.
        first_target: What is added to the ids of the target: the size of the source vocabulary, or 0 if it is shared.
        size: Number of tokens, of both vocabularies together.
        dimensions: Dimensions of a vector.
        seed: Seed of the directions, which are random.
    """
    counted = np.unique(np.linspace(0, len(pairs) - 1, min(len(pairs), COUNTED_PAIRS)).astype(np.int64)).tolist()
    sides = _read_side(pairs.source, counted, 0), _read_side(pairs.target, counted, first_target)
    by_pair, by_neighbor = _count_pairs(sides, len(counted), size), _count_neighbors(sides, size)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        halves = _decompose(by_pair, dimensions // 2), _decompose(by_neighbor, dimensions - dimensions // 2)
        directions, _ = torch.linalg.qr(torch.randn(dimensions, dimensions))  # each half is spread over all dimensions
    vectors: Tensor = F.normalize(torch.cat(halves, dim=1)) @ directions
    return vectors


def _read_side(sentences: IdStore, counted: list[int], first: int) -> Side:
    ids = [sentences[index] for index in counted]
    places = np.repeat(np.arange(len(ids)), [len(each) for each in ids])
    return np.concatenate(ids).astype(np.int64) + first, places


def _count_pairs(sides: tuple[Side, Side], pairs: int, size: int) -> Tensor:
    """In which pairs a token occurs, (size, pairs), sparse; the values are larger for rare tokens (tf-idf)."""
    places, ids = np.divmod(np.unique(np.concatenate([places * size + ids for ids, places in sides])), size)
    values = np.log(pairs / np.bincount(ids)[ids])
    lengths = np.sqrt(np.bincount(places, values**2)).clip(1e-9)
    return _sparse(ids, places, values / lengths[places], (size, pairs))


def _count_neighbors(sides: tuple[Side, Side], size: int) -> Tensor:
    """How much more often than by chance a token is next to another, (size, 2 * DISTANCE * size), sparse logarithms.

    Each place relative to the token has its own columns. What is less frequent than by chance is zero.
    """
    columns, keys = 2 * DISTANCE * size, []
    for ids, places in sides:
        for distance in range(1, DISTANCE + 1):
            together = places[distance:] == places[:-distance]
            left, right = ids[:-distance][together], ids[distance:][together]
            keys += [left * columns + 2 * (distance - 1) * size + right]
            keys += [right * columns + (2 * distance - 1) * size + left]
    found, counts = np.unique(np.concatenate(keys), return_counts=True)
    ids, neighbors = np.divmod(found, columns)
    by_chance = np.bincount(ids, counts)[ids] * np.bincount(neighbors, counts)[neighbors] / counts.sum()
    return _sparse(ids, neighbors, np.log(counts / by_chance).clip(0), (size, columns))


def _sparse(rows: Integers, columns: Integers, values: NDArray[np.float64], shape: tuple[int, int]) -> Tensor:
    indices = torch.from_numpy(np.stack([rows, columns]))
    return torch.sparse_coo_tensor(indices, torch.from_numpy(values).float(), shape, check_invariants=True).coalesce()


def _decompose(counts: Tensor, dimensions: int) -> Tensor:
    """Vectors of length 1, (rows, dimensions), with products as the rows of a matrix have; zeros for rows of zeros."""
    computed = min(dimensions + _EXTRA_DIMENSIONS, *counts.shape)
    left, values, _ = torch.svd_lowrank(counts, q=computed)
    vectors = F.pad(left * values.sqrt(), (0, dimensions - computed))  # without roots, the first would dominate
    seen = torch.zeros(len(vectors), 1).index_fill(0, counts.indices()[0], 1.0)
    return F.normalize(vectors - vectors.sum(0) / seen.sum().clamp(min=1)) * seen
