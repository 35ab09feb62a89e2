"""Where a model looked, in numbers: AttentionMap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.explanation.capture import KINDS, Kind, capture
from dragoman.text.tokenizer import Tokenizer

Weights = NDArray[np.float32]


class Word(NamedTuple):
    """A word and the tokens that spell it, `start` to `end`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Side:
    """The tokens of a sequence, in order, and the words they merge to."""

    tokens: list[str]
    words: list[Word]

    @property
    def starts(self) -> list[int]:
        """The first token of each word."""
        return [word.start for word in self.words]

    def by_word(self) -> Side:
        """The same with words for tokens."""
        texts = [word.text for word in self.words]
        return Side(texts, [Word(text, index, index + 1) for index, text in enumerate(texts)])


@dataclass(frozen=True)
class AttentionMap:
    """The attention with which a translation was made.

    `source` is what the encoder read, its end included; `read` is what the decoder read, from the beginning
    of sentence on; `predicted` is what it said to that, the same one step later. So query i of the decoder has
    just read `read[i]` and is about to say `predicted[i]`.

    `weights` has an array for each kind, (layers, heads, query, key): "encoder", source to source; "decoder",
    the decoder's masked self-attention; "cross", from the decoder to the source. Its rows sum to 1.
    """

    source: Side
    read: Side
    predicted: Side
    weights: dict[Kind, Weights]

    def queries(self, kind: Kind) -> Side:
        """What the rows of a kind stand for."""
        return {"encoder": self.source, "decoder": self.read, "cross": self.predicted}[kind]

    def keys(self, kind: Kind) -> Side:
        """What the columns of a kind stand for."""
        return self.read if kind == "decoder" else self.source

    def mean(self, kind: Kind) -> Weights:
        """The mean over the heads of each layer, (layers, query, key)."""
        return np.asarray(self.weights[kind].mean(axis=1))

    def maximum(self, kind: Kind) -> Weights:
        """The largest weight among the heads of each layer, (layers, query, key); rows do not sum to 1."""
        return np.asarray(self.weights[kind].max(axis=1))

    def rollout(self, kind: Kind) -> Weights:
        """Attention followed through all layers, (query, key); its rows sum to 1.

        A layer passes on half of what it reads and mixes the other half by its heads' mean attention
        (Abnar and Zuidema 2020, section 3). Across, what the decoder's layers fetch from the encoder's
        output is followed down to the source in the same way, and given as shares of all that came from there.
        """
        if kind != "cross":
            return reduce(lambda below, layer: layer @ below, _residual(self.mean(kind)))
        encoder = self.rollout("encoder")
        fetched = np.zeros_like(self.mean("cross")[0])  # what each position has from the source
        for own, cross in zip(_residual(self.mean("decoder")), self.mean("cross"), strict=True):
            fetched = (own @ fetched + cross @ encoder) / 2
        return np.asarray(fetched / fetched.sum(axis=-1, keepdims=True))

    def merge(self, kind: Kind, weights: Weights) -> Weights:
        """Attention between tokens, (…, query, key), as attention between words.

        To a word goes what goes to its tokens, summed; from it the mean of what goes from them (Clark et al.
        2019, section 4.1). So rows that summed to 1 still do.
        """
        queries, keys = self.queries(kind), self.keys(kind)
        sizes = np.array([word.end - word.start for word in queries.words])[:, None]
        summed = np.add.reduceat(weights, keys.starts, axis=-1)
        return np.asarray(np.add.reduceat(summed, queries.starts, axis=-2) / sizes, dtype=weights.dtype)

    def by_word(self) -> AttentionMap:
        """The same between words."""
        merged = {kind: self.merge(kind, weights) for kind, weights in self.weights.items()}
        return replace(
            self,
            source=self.source.by_word(),
            read=self.read.by_word(),
            predicted=self.predicted.by_word(),
            weights=merged,
        )


def _residual(layers: Weights) -> Weights:
    """Mean attention with the residual connection beside it, (layers, query, key)."""
    return np.asarray((layers + np.eye(layers.shape[-1], dtype=np.float32)) / 2, dtype=np.float32)


@torch.inference_mode()
def map_attention(bundle: Bundle, source: Sequence[int], target: Sequence[int]) -> tuple[AttentionMap, Tensor]:
    """The attention of a model that reads a source and says a target, teacher-forced.

    Decoding step by step with the cache attends in the same way.

    Args:
        bundle: The model and its tokenizers.
        source: Ids of a sentence, without eos.
        target: Ids of its translation, without bos and eos.

    Returns:
        The map, and the logits of each next token, (target + 1, target vocabulary).
    """
    ours, theirs = bundle.source.vocabulary, bundle.target.vocabulary
    device = bundle.model.target_embedding.weight.device
    reads, says = [*source, ours.eos], [theirs.bos, *target]
    with capture(bundle.model) as recording:
        logits = bundle.model(torch.tensor([reads], device=device), torch.tensor([says], device=device))[0]
    weights = {kind: recording.weights(kind)[:, 0].float().cpu().numpy() for kind in KINDS}
    return AttentionMap(
        source=side_of(bundle.source, reads),
        read=side_of(bundle.target, says),
        predicted=side_of(bundle.target, [*target, theirs.eos]),
        weights=weights,
    ), logits


def side_of(tokenizer: Tokenizer, ids: Sequence[int]) -> Side:
    """The tokens and words of ids, specials included: each of those is a word."""
    vocabulary = tokenizer.vocabulary
    tokens = [vocabulary.tokens[index] for index in ids]
    alone = {vocabulary.bos, vocabulary.eos}
    starts = [
        place
        for place, index in enumerate(ids)
        if index in alone or place == 0 or ids[place - 1] in alone or tokenizer.starts_word(tokens[place])
    ]
    ends = [*starts[1:], len(ids)]
    return Side(
        tokens,
        [
            Word(tokenizer.decode(ids[start:end]) or "".join(tokens[start:end]), start, end)
            for start, end in zip(starts, ends, strict=True)
        ],
    )
