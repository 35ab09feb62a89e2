"""Nearest neighbors: the next token is also predicted from similar contexts of a corpus (Khandelwal et al. 2021).

`open_index` builds the index of a corpus once for each translator, and stores it in the user's cache directory.
`NeighborDecoder` mixes the predictions of the neighbors with those of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.corpus.corpus import find_corpora
from dragoman.dataset.pairs import CorpusPairs
from dragoman.dataset.token_store import PairStore
from dragoman.engines.scoring import target_states
from dragoman.errors import UserError
from dragoman.kernels import accelerated
from dragoman.model.transformer import Transformer
from dragoman.system.cache import cache_directory
from dragoman.system.files import temporary_directory
from dragoman.system.progress import Meter, ProgressLine
from dragoman.system.resumable import BuildCache, grouped
from dragoman.text.id_store import IdStore
from dragoman.text.tokenizer import encode_pairs

NEIGHBORS = 16
"""How many contexts vote for the next token."""

PROBED_LISTS = 16
"""How many of the lists, into which similar contexts are sorted, are searched."""

TEMPERATURE = 0.03
"""By what the squared distances are divided before the softmax, as a share of the mean distance of two contexts."""

RANGE = 0.11
"""The squared distance of the nearest neighbor at which the share of all neighbors has fallen to 1/e, as a share of the
mean distance of two contexts."""

FAR = 1e30
"""The distance of a neighbor that was not found."""

INDEX_FILE, TOKENS_FILE = "contexts.faiss", "tokens.npy"

MAX_CONTEXTS = 20_000_000
"""Maximum number of target tokens of a corpus; with a d_model of 256, they need 5 GB of memory."""

CONTEXTS_PER_LIST = 50
"""How many contexts of each list are used to find its center."""

GROUP = 10_000
"""How many pairs are encoded at once."""

VERSION = 2
"""Change this when an index is built in another way."""


class NeighborDecoder:
    """A decoder that averages two predictions, with a share of `weight` for those of the neighbors."""

    def __init__(self, model: Transformer, index: NeighborIndex, weight: float) -> None:
        self.model, self.index, self.weight = model, index, weight

    def start(self, source: Tensor) -> Any:
        """The cache to decode one hypothesis of each sentence, (sentences, source)."""
        return self.model.start(source)

    def step(self, tokens: Tensor, cache: Any) -> Tensor:
        """Feed one token to every row, (rows,); returns the logarithms of mean probabilities, (rows, vocabulary)."""
        states = self.model.step_hidden(tokens, cache)
        return self.index.mix(self.model.output(states), states, self.weight)


@dataclass(frozen=True)
class NeighborIndex:
    """Finds the contexts of a corpus that are most similar to those of unfinished translations.

    A context is a source with the beginning of its translation. It is represented by the decoder's output for it, from
    which the model predicts the next token.

    Attributes:
        contexts: An index of faiss.
        tokens: The token that follows each context, (contexts,), int64.
        distance: The mean squared distance of two contexts.
    """

    contexts: Any
    tokens: Tensor
    distance: float

    @classmethod
    def load(cls, directory: Path, distance: float) -> NeighborIndex:
        """Read the index that `open_index` has written."""
        import faiss

        contexts: Any = faiss.deserialize_index(np.fromfile(directory / INDEX_FILE, dtype=np.uint8))
        contexts.nprobe = min(PROBED_LISTS, contexts.nlist)
        return cls(contexts, torch.from_numpy(np.load(directory / TOKENS_FILE)), distance)

    def find(self, states: Tensor, number: int) -> tuple[Tensor, Tensor]:
        """The squared distances and the indices of the nearest contexts, (rows, number) each.

        Args:
            states: Decoder outputs, (rows, d_model).
            number: How many contexts; at most as many as there are.
        """
        import faiss

        faiss.omp_set_num_threads(torch.get_num_threads())  # for this thread: batches are searched in several
        distances, indices = self.contexts.search(states.float().cpu().contiguous().numpy(), number)
        found = torch.from_numpy(indices)  # -1 where the probed lists have too few contexts
        return torch.from_numpy(distances).masked_fill(found < 0, FAR), found

    def mix(self, logits: Tensor, states: Tensor, weight: float) -> Tensor:
        """The logarithms of the model's probabilities, averaged with those of the neighbors, (rows, vocabulary).

        For the neighbors, the probability of a token is the sum of softmax(-distance / temperature) over those that it
        follows. Their share falls exponentially with the distance of the nearest one.

        Args:
            logits: Of the model, (rows, vocabulary).
            states: The decoder's outputs from which they were computed, (rows, d_model).
            weight: The share of the neighbors if one is the same context, from 0 to 1.
        """
        distances, indices = self.find(states, min(NEIGHBORS, len(self.tokens)))
        share = weight * torch.exp(distances[:, :1] / (-RANGE * self.distance)).to(logits.device)  # (rows, 1)
        votes = (distances / (-TEMPERATURE * self.distance)).softmax(dim=-1)  # (rows, neighbors)
        tokens = self.tokens[indices]  # (rows, neighbors)
        same = tokens[:, :, None] == tokens[:, None, :]
        found = (votes[:, None, :] * same).sum(dim=-1)  # (rows, neighbors), of all neighbors with the same token
        tokens, found = tokens.to(logits.device), found.to(logits.device)
        mixed = logits.float().log_softmax(dim=-1) + torch.log1p(-share)
        both = torch.logaddexp(mixed.gather(1, tokens), found.log() + share.log())
        return mixed.scatter_(1, tokens, both)


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
    tokens = []
    meter = Meter(line.update, "indexing", int(lengths.sum()), unit="tokens")
    for batch in target_states(model, bundle, pairs, np.arange(len(pairs))):
        contexts.add(batch.states.numpy())
        tokens.append(batch.tokens)
        meter.advance(len(batch.tokens))
    (directory / INDEX_FILE).write_bytes(faiss.serialize_index(contexts).data)  # raises OSError if the disk is full
    np.save(directory / TOKENS_FILE, torch.cat(tokens).numpy())
    variance = float(states.var(axis=0, ddof=1).sum())  # half of the mean squared distance
    return {"distance": max(2 * variance, 1e-6)}  # it is 0 if the model ignores the context
