"""Vectors of tokens, similar for tokens of similar use, from counts of the training text.

A model with random embeddings must first learn which tokens of both languages belong together; counts show this before
the first step. Half of the dimensions describe in which pairs a token occurs, on either side, so that a word is similar
to its translations (latent semantic analysis of two languages: Dumais et al. 1997). The other half describe which
tokens are near it, so that tokens of a word class are similar (pointwise mutual information: Levy and Goldberg 2014).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from dragoman.text.id_store import IdPairs, IdStore

COUNTED_TOKENS = 5_000_000
"""If both sides have more tokens, only some of the pairs are counted, evenly spaced."""

DISTANCE = 2
"""Distance of the neighbors of a token, at most."""

_EXTRA_DIMENSIONS = 8  # for the precision of the randomized decomposition

Integers = NDArray[np.int64]
Side = tuple[Integers, Integers]
"""Ids of the tokens of one side, (tokens,), and the number of the pair of each, (tokens,)."""


def cooccurrence_vectors(pairs: IdPairs, first_target: int, size: int, dimensions: int, seed: int) -> Tensor:
    """Vectors of length 1, (size, dimensions), float32; zeros for tokens of which the counts say nothing.

    Args:
        pairs: The training pairs.
        first_target: What is added to the ids of the target: the size of the source vocabulary, or 0 if it is shared.
        size: Number of tokens, of both vocabularies together.
        dimensions: Dimensions of a vector.
        seed: Seed of the directions, which are random.
    """
    share = min(1.0, COUNTED_TOKENS / max(1, len(pairs.source.ids) + len(pairs.target.ids)))
    counted = np.linspace(0, len(pairs) - 1, max(1, int(share * len(pairs)))).astype(np.int64).tolist()
    sides = _read_side(pairs.source, counted, 0), _read_side(pairs.target, counted, first_target)
    by_pair, by_neighbor = weigh_pairs(sides, len(counted), size), weigh_neighbors(sides, size)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        halves = _decompose(by_pair, dimensions // 2), _decompose(by_neighbor, dimensions - dimensions // 2)
        directions, _ = torch.linalg.qr(torch.randn(dimensions, dimensions))  # each half is spread over all dimensions
    vectors: Tensor = F.normalize(torch.cat(halves, dim=1)) @ directions
    return vectors


def _read_side(sentences: IdStore, counted: Sequence[int], first: int) -> Side:
    ids = [sentences[index] for index in counted]
    places = np.repeat(np.arange(len(ids), dtype=np.int64), [len(each) for each in ids])
    return np.concatenate(ids).astype(np.int64) + first, places


def weigh_pairs(sides: Sequence[Side], pairs: int, size: int) -> Tensor:
    """In which pairs a token occurs, (size, pairs), sparse; each pair has the length 1.

    Rare tokens count more, by their inverse document frequency.

    Args:
        sides: The tokens of source and target.
        pairs: Number of the pairs.
        size: Number of the tokens of both vocabularies.
    """
    places, ids = np.divmod(np.unique(np.concatenate([places * size + ids for ids, places in sides])), size)
    values = np.log(pairs / np.bincount(ids)[ids])
    lengths = np.sqrt(np.bincount(places, values**2)).clip(1e-9)
    return _sparse(ids, places, values / lengths[places], (size, pairs))


def weigh_neighbors(sides: Sequence[Side], size: int) -> Tensor:
    """How much more often than by chance a token is near another, (size, columns), sparse logarithms of factors.

    Each side, and each place relative to the token, has columns for all tokens. What is less frequent than by chance is
    zero.

    Args:
        sides: The tokens of source and target.
        size: Number of the tokens of both vocabularies.
    """
    places_of = [(side, distance) for side in sides for distance in range(1, DISTANCE + 1)]
    columns = 2 * len(places_of) * size
    parts = []
    for number, ((ids, pairs), distance) in enumerate(places_of):
        together = pairs[distance:] == pairs[:-distance]
        left, right = ids[:-distance][together], ids[distance:][together]
        for place, (tokens, neighbors) in enumerate(((left, right), (right, left)), start=2 * number):
            found, counts = np.unique(tokens * size + neighbors, return_counts=True)
            tokens, neighbors = np.divmod(found, size)
            by_chance = np.bincount(tokens, counts)[tokens] * np.bincount(neighbors, counts)[neighbors] / len(left)
            parts.append((tokens, place * size + neighbors, np.log(counts / by_chance)))
    rows, places, values = map(np.concatenate, zip(*parts, strict=True))
    return _sparse(rows, places, values, (size, columns))


def _sparse(rows: Integers, columns: Integers, values: NDArray[np.float64], shape: tuple[int, int]) -> Tensor:
    """The matrix with these values; those of 0 and less are zeros."""
    kept = values > 0
    indices, numbers = torch.from_numpy(np.stack([rows, columns])[:, kept]), torch.from_numpy(values[kept]).float()
    with torch.sparse.check_sparse_tensor_invariants():  # type: ignore[no-untyped-call]  # torch 2.11 warns without it
        return torch.sparse_coo_tensor(indices, numbers, shape).coalesce()


def _decompose(weights: Tensor, dimensions: int) -> Tensor:
    """Vectors of length 1 that are similar if rows of a matrix are, (rows, dimensions); zeros for rows of zeros."""
    computed = min(dimensions + _EXTRA_DIMENSIONS, *weights.shape)
    left, values, _ = torch.svd_lowrank(weights, q=computed)
    vectors = F.pad(left * values.sqrt(), (0, dimensions - computed))  # without roots, the first would dominate
    seen = torch.zeros(len(vectors), 1).index_fill(0, weights.indices()[0], 1.0)
    return F.normalize(vectors - vectors.sum(0) / seen.sum().clamp(min=1)) * seen
