"""Building the index of a corpus, once for each translator; it is stored in the user's cache directory."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import islice
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dragoman.bundle import Bundle
from dragoman.corpus.corpus import find_corpora
from dragoman.dataset.pairs import CorpusPairs
from dragoman.dataset.token_store import PairStore
from dragoman.engines.nearest_neighbors.index import INDEX_FILE, TOKENS_FILE, NeighborIndex
from dragoman.engines.scoring import target_states
from dragoman.errors import UserError
from dragoman.kernels import accelerated
from dragoman.system.cache import cache_directory
from dragoman.system.files import temporary_directory
from dragoman.system.progress import Meter, ProgressLine
from dragoman.system.resumable import BuildCache, grouped
from dragoman.text.id_store import IdStore
from dragoman.text.masked_text import encode_pairs

MAX_CONTEXTS = 20_000_000
"""Maximum number of target tokens of a corpus; with a d_model of 256, they need 5 GB of memory."""

CONTEXTS_PER_LIST = 50
"""How many contexts of each list are used to find its center."""

GROUP = 10_000
"""How many pairs are encoded at once."""

VERSION = 2
"""Change this when an index is built in another way."""


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
    try:
        corpus = neighbor_corpus(bundle, reference)
        corpus.check_files("it is indexed once for each translator")
        with ProgressLine("index", often_short=True) as line:
            return _open(bundle, corpus, line)
    except UserError as error:
        raise UserError(
            f"decoding.neighbors: {error}\n  to translate without neighbors: --set decoding.neighbors=none"
        ) from None


def neighbor_corpus(bundle: Bundle, reference: str) -> CorpusPairs:
    """The corpus of `decoding.neighbors`, looked up but not read; raises UserError if it is missing."""
    source, target = bundle.recipe.data.languages
    return CorpusPairs(find_corpora([reference], source_language=source, target_language=target))


def _open(bundle: Bundle, corpus: CorpusPairs, line: ProgressLine) -> NeighborIndex:
    if not bundle.digest:  # its weights may change
        with temporary_directory() as directory:
            return NeighborIndex.load(directory, **_build(bundle, corpus, directory, line))
    cache = BuildCache(cache_directory() / "neighbors", line.log)
    identity = _identify(bundle, corpus)
    with cache.lock(identity):
        entry = cache.get("index", identity, lambda directory: _build(bundle, corpus, directory, line))
        return NeighborIndex.load(entry.path, **entry.facts)


def _identify(bundle: Bundle, corpus: CorpusPairs) -> dict[str, Any]:
    import faiss

    return {
        "version": VERSION,
        "faiss": faiss.__version__,
        "bundle": bundle.digest,
        "languages": list(bundle.recipe.data.languages),
        "corpus": corpus.fingerprint,
    }


def _encode(bundle: Bundle, corpus: CorpusPairs, line: ProgressLine) -> PairStore:
    """The different pairs of a corpus that the model can read.

    Raises:
        UserError: There is none, or they are too many.
    """
    longest = bundle.recipe.data.max_tokens
    found, contexts = dict[tuple[tuple[int, ...], tuple[int, ...]], None](), 0
    meter = Meter(line.update, "reading the corpus of decoding.neighbors")
    for group in grouped(corpus, GROUP):
        known, sources, targets = len(found), [pair.source for pair in group], [pair.target for pair in group]
        for source, target in zip(*encode_pairs(bundle.source, bundle.target, sources, targets), strict=True):
            if 0 < len(source) <= longest and 0 < len(target) <= longest:
                found[tuple(source), tuple(target)] = None
        contexts += sum(len(target) + 1 for _, target in islice(found, known, None))
        if contexts > MAX_CONTEXTS:
            raise UserError(f"more than {MAX_CONTEXTS:,} target tokens; choose a smaller corpus")
        meter.advance(len(group))
    if not found:
        raise UserError("no pair with text on both sides that the model can read")
    return PairStore(IdStore.of(source for source, _ in found), IdStore.of(target for _, target in found))


def _build(bundle: Bundle, corpus: CorpusPairs, directory: Path, line: ProgressLine) -> dict[str, float]:
    """Write the index to a directory; returns the `distance` of `NeighborIndex`."""
    import faiss

    pairs = _encode(bundle, corpus, line)
    faiss.omp_set_num_threads(torch.get_num_threads())
    model = accelerated(bundle.model, torch.device("cpu"))
    lengths = pairs.target.lengths + 1
    lists = isqrt(int(lengths.sum()))
    contexts: Any = faiss.index_factory(bundle.recipe.model.d_model, f"IVF{lists},SQ8")
    contexts.cp.min_points_per_centroid = 1
    shuffled = np.random.default_rng(1).permutation(len(pairs))
    sample = shuffled[: 1 + int(np.searchsorted(np.cumsum(lengths[shuffled]), lists * CONTEXTS_PER_LIST))]
    states = np.concatenate([batch.states.numpy() for batch in target_states(model, bundle, pairs, sample)])
    if not np.isfinite(states).all():
        raise UserError(
            f"{bundle.origin}: the model computes values that are not finite, because its weights are damaged"
        )
    contexts.train(states)
    tokens, meter = [], Meter(line.update, "indexing", int(lengths.sum()), unit="tokens")
    for batch in target_states(model, bundle, pairs, np.arange(len(pairs))):
        contexts.add(batch.states.numpy())
        tokens.append(batch.tokens)
        meter.advance(len(batch.tokens))
    (directory / INDEX_FILE).write_bytes(faiss.serialize_index(contexts).data)  # raises OSError if the disk is full
    np.save(directory / TOKENS_FILE, torch.cat(tokens).numpy())
    return {"distance": max(2 * float(states.var(axis=0, ddof=1).sum()), 1e-6)}  # a model may ignore the context
