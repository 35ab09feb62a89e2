"""The attention weights of one translation, and ways to summarize them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from html import escape

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.explanation.tokens import TokenSequence, sequence_labels
from dragoman.model.capture import KINDS, AttentionKind, capture, private_copy

Weights = NDArray[np.float32]

_COLUMN = "writing-mode:vertical-rl;padding:2px;text-align:left;font-weight:normal"
_ROW = "padding:0 6px 0 2px;text-align:right;font-weight:normal;white-space:nowrap"
_CELL = "width:1.3em;height:1.3em;min-width:1.3em;padding:0;border:1px solid rgba(128,128,128,.25)"


@dataclass(frozen=True)
class AttentionMap:
    """The attention weights with which a model translates a sentence.

    `source` is the input of the encoder, eos included. `target_input` is the input of the decoder, which starts with
    bos; `target_output` is the same sequence shifted by one, which ends with eos. At position i the decoder reads
    `target_input[i]` and predicts `target_output[i]`.

    `weights` has one array per kind of attention, (layers, heads, query, key): "encoder" is the self-attention of the
    encoder, "decoder" the masked self-attention of the decoder, and "cross" the attention of the decoder to the
    source. Rows sum to 1.
    """

    source: TokenSequence
    target_input: TokenSequence
    target_output: TokenSequence
    weights: dict[AttentionKind, Weights]

    def queries(self, kind: AttentionKind) -> TokenSequence:
        """The tokens of the rows: for "cross" those that the decoder predicts, otherwise those that are read."""
        return {"encoder": self.source, "decoder": self.target_input, "cross": self.target_output}[kind]

    def keys(self, kind: AttentionKind) -> TokenSequence:
        """The tokens of the columns."""
        return self.target_input if kind == "decoder" else self.source

    def mean(self, kind: AttentionKind) -> Weights:
        """The mean over the heads of each layer, (layers, query, key)."""
        return np.asarray(self.weights[kind].mean(axis=1))

    def maximum(self, kind: AttentionKind) -> Weights:
        """The largest weight among the heads of each layer, (layers, query, key); rows do not sum to 1."""
        return np.asarray(self.weights[kind].max(axis=1))

    def rollout(self, kind: AttentionKind) -> Weights:
        """Attention through all layers, (query, key); rows sum to 1.

        Each layer passes on half of its input through the residual connection and mixes the other half by the mean
        attention of its heads (Abnar and Zuidema 2020, section 3). For "cross", the parts that the decoder layers read
        from the output of the encoder are traced back to the source in the same way, and normalized to sum to 1.
        """
        if kind != "cross":
            return reduce(lambda below, layer: layer @ below, _with_residual(self.mean(kind)))
        encoder = self.rollout("encoder")
        read = np.zeros_like(self.mean("cross")[0])  # (query, key): the part of each position that is from the source
        for decoder, cross in zip(_with_residual(self.mean("decoder")), self.mean("cross"), strict=True):
            read = (decoder @ read + cross @ encoder) / 2
        return np.asarray(read / read.sum(axis=-1, keepdims=True))

    def merge(self, kind: AttentionKind, weights: Weights) -> Weights:
        """Attention between tokens, (…, query, key), as attention between words.

        Attention to a word is the sum over its tokens; attention from a word is their mean (Clark et al. 2019, section
        4.1). Rows that sum to 1 still do afterwards.
        """
        queries, keys = self.queries(kind), self.keys(kind)
        sizes = np.array([word.end - word.start for word in queries.words])[:, None]
        summed = np.add.reduceat(weights, keys.starts, axis=-1)
        return np.asarray(np.add.reduceat(summed, queries.starts, axis=-2) / sizes, dtype=weights.dtype)

    def _repr_html_(self) -> str:
        """What notebooks show: see `attention_html`."""
        return attention_html(self)

    def by_word(self) -> AttentionMap:
        """The attention between words instead of tokens."""
        return replace(
            self,
            source=self.source.by_word(),
            target_input=self.target_input.by_word(),
            target_output=self.target_output.by_word(),
            weights={kind: self.merge(kind, weights) for kind, weights in self.weights.items()},
        )


def _with_residual(layers: Weights) -> Weights:
    """The mean of attention and the identity of the residual connection, (layers, query, key)."""
    return np.asarray((layers + np.eye(layers.shape[-1], dtype=np.float32)) / 2, dtype=np.float32)


def attention_html(attention: AttentionMap) -> str:
    """HTML for notebooks, without scripts: the cross-attention of the last layer, mean over its heads.

    Each target token has a row, and each cell a title in words.
    The opacity of a cell is the square root of its weight, which makes small weights visible.
    """
    weights = attention.mean("cross")[-1].tolist()  # (target, source)
    source, target = (sequence_labels(each) for each in (attention.source, attention.target_output))
    header = "".join(f'<th scope="col" style="{_COLUMN}">{escape(label)}</th>' for label in source)
    rows = []
    for label, row in zip(target, weights, strict=True):
        boxes = "".join(
            f'<td style="{_CELL};background:rgba(33,113,181,{weight**0.5:.2f})" '
            f'title="{escape(label)} attends to {escape(column)}: {weight:.1%}"></td>'
            for column, weight in zip(source, row, strict=True)
        )
        rows.append(f'<tr><th scope="row" style="{_ROW}">{escape(label)}</th>{boxes}</tr>')
    caption = "Cross-attention of the last layer, mean over its heads: from the translation (rows) to the source"
    return (
        f'<div style="overflow-x:auto"><p>{caption}</p>'
        f'<table style="border-collapse:collapse;width:auto;margin:0" aria-label="{caption}">'
        f"<thead><tr><td></td>{header}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


@torch.inference_mode()
def map_attention(bundle: Bundle, source: Sequence[int], target: Sequence[int]) -> tuple[AttentionMap, Tensor]:
    """The attention of a model on a source and its translation, with teacher forcing.

    Decoding step by step with the key-value cache uses the same weights.

    Args:
        bundle: The model and its tokenizers.
        source: Token ids of a sentence, without eos.
        target: Token ids of its translation, without bos and eos.

    Returns:
        The map, and the logits of each next token, (target + 1, target vocabulary).
    """
    source_input = [*source, bundle.source.vocabulary.eos]
    model, vocabulary = private_copy(bundle.model), bundle.target.vocabulary
    device = model.target_embedding.weight.device
    target_input, target_output = [vocabulary.bos, *target], [*target, vocabulary.eos]
    with capture(model) as recording:
        logits = model(torch.tensor([source_input], device=device), torch.tensor([target_input], device=device))[0]
    attention = AttentionMap(
        source=TokenSequence.from_ids(bundle.source, source_input),
        target_input=TokenSequence.from_ids(bundle.target, target_input),
        target_output=TokenSequence.from_ids(bundle.target, target_output),
        weights={kind: recording.weights(kind)[:, 0].float().cpu().numpy() for kind in KINDS},
    )
    return attention, logits
