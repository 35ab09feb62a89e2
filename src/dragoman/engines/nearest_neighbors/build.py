"""Building the index of a corpus, once for each translator; it is stored in the user's cache directory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.util import find_spec
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.corpus.corpus import read_corpus
from dragoman.dataset.encode import PairEncoder
from dragoman.dataset.token_store import PairStore
from dragoman.engines.nearest_neighbors.index import INDEX_FILE, TOKENS_FILE, NeighborIndex
from dragoman.engines.scoring import target_states
from dragoman.errors import UserError
from dragoman.kernels import accelerated
from dragoman.model.transformer import Transformer
from dragoman.system.build_cache import BuildCache
from dragoman.system.cache import cache_directory
from dragoman.system.files import temporary_directory
from dragoman.system.progress import Meter, ProgressLine

MAX_CONTEXTS = 20_000_000
"""Maximum number of target tokens of a corpus; with a d_model of 256, they need 5 GB of memory."""

CONTEXTS_PER_LIST = 50
"""How many contexts of each list are used to find its center."""

SAMPLE = 2000
"""How many contexts show which distance is typical."""

VERSION = 1
"""Changed when an index is built in another way."""


def open_index(bundle: Bundle, reference: str) -> NeighborIndex:
    """The index of a corpus for a translator, which is built on first use.

    Args:
        bundle: The translator.
        reference: The corpus: its name in the catalog, or files.

    Raises:
        UserError: The corpus is missing, damaged, empty or too large, or faiss is not installed.
    """
    if find_spec("faiss") is None:
        raise UserError("decoding.neighbors needs the package faiss: pip install '.[neighbors]'")
    pairs = _encode(bundle, reference)
    with ProgressLine("index", often_short=True) as line:
        if not bundle.digest:  # its weights may change
            with temporary_directory() as directory:
                return NeighborIndex.load(directory, **_build(bundle, pairs, directory, line))
        cache = BuildCache(cache_directory() / "neighbors", line.log)
        identity = _identify(bundle, pairs)
        with cache.lock(identity):
            entry = cache.get("index", identity, lambda directory: _build(bundle, pairs, directory, line))
            return NeighborIndex.load(entry.path, **entry.facts)


def _encode(bundle: Bundle, reference: str) -> PairStore:
    source, target = bundle.recipe.data.languages
    corpus = read_corpus(reference, source_language=source, target_language=target)
    pairs = [pair for pair in corpus if pair.complete]
    encoder = PairEncoder(bundle.source, bundle.target, bundle.recipe.data.max_tokens)
    encoded = encoder.encode([pair.source for pair in pairs], [pair.target for pair in pairs])
    contexts = len(encoded.target.ids) + len(encoded)
    if not len(encoded):
        raise UserError(f"decoding.neighbors: {reference} has no pair with text on both sides that the model can read")
    if contexts > MAX_CONTEXTS:
        raise UserError(
            f"decoding.neighbors: {reference} has {contexts:,} target tokens; choose a corpus with at most "
            f"{MAX_CONTEXTS:,}"
        )
    return encoded


def _identify(bundle: Bundle, pairs: PairStore) -> dict[str, Any]:
    import faiss

    text = hashlib.sha256()
    for store in (pairs.source, pairs.target):
        text.update(store.offsets.tobytes())
        text.update(store.ids.tobytes())
    return {"version": VERSION, "faiss": faiss.__version__, "bundle": bundle.digest, "text": text.hexdigest()}


def _build(bundle: Bundle, pairs: PairStore, directory: Path, line: ProgressLine) -> dict[str, float]:
    """Write the index to a directory; returns the `distance` of `NeighborIndex`."""
    import faiss

    faiss.omp_set_num_threads(torch.get_num_threads())
    model = accelerated(bundle.model, torch.device("cpu"))
    lengths = pairs.target.lengths + 1
    lists = isqrt(int(lengths.sum()))
    contexts: Any = faiss.index_factory(bundle.recipe.model.d_model, f"IVF{lists},SQ8")
    contexts.cp.min_points_per_centroid = 1
    shuffled = np.random.default_rng(1).permutation(len(pairs))
    sample = shuffled[: 1 + int(np.searchsorted(np.cumsum(lengths[shuffled]), lists * CONTEXTS_PER_LIST))]
    contexts.train(np.concatenate([states.numpy() for states, _ in _contexts(model, bundle, pairs, sample)]))
    tokens, meter = [], Meter(line.update, "indexing", len(pairs))
    for states, following in _contexts(model, bundle, pairs, np.arange(len(pairs))):
        contexts.add(states.numpy())
        tokens.append(following)
        meter.advance(int((following == bundle.target.vocabulary.eos).sum()))
    (directory / INDEX_FILE).write_bytes(faiss.serialize_index(contexts).data)  # raises OSError if the disk is full
    np.save(directory / TOKENS_FILE, torch.cat(tokens).numpy())
    index = NeighborIndex.load(directory, distance=1.0)
    states = torch.cat([states for states, _ in _contexts(model, bundle, pairs, sample[:SAMPLE])])[:SAMPLE]
    nearest, _ = index.find(states, min(2, len(index.tokens)))  # the first one is the context itself
    return {"distance": max(float(nearest[:, -1].median()), 1e-6)}


def _contexts(
    model: Transformer, bundle: Bundle, pairs: PairStore, indices: NDArray[np.integer[Any]]
) -> Iterator[tuple[Tensor, Tensor]]:
    """The decoder's outputs for the targets of some pairs, (tokens, d_model), and the token that follows each."""
    for batch in target_states(model, bundle, pairs, indices):
        yield batch.states, batch.tokens
