"""The equations of the Transformer (Vaswani et al. 2017), in NumPy and float64, written to be read.

Nothing is optimized, so that each line is one step of the paper. Leading dimensions, shown as ..., are free: none, a
batch, or a batch and heads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Linear(NamedTuple):
    """A linear map, x W + b; the weight is (inputs, outputs) as in the paper, the transpose of torch's."""

    weight: Array  # (inputs, outputs)
    bias: Array | float = 0.0  # (outputs,)

    def __call__(self, x: Array) -> Array:
        """(..., inputs) -> (..., outputs)."""
        return x @ self.weight + self.bias


class Projections(NamedTuple):
    """The four linear maps of multi-head attention: W^Q, W^K, W^V of all heads side by side, and W^O."""

    query: Linear
    key: Linear
    value: Linear
    output: Linear


class AdditiveScorer(NamedTuple):
    """The network of additive attention: one hidden layer, with maps from queries and from keys."""

    query: Linear  # (d_q, hidden)
    key: Linear  # (d_k, hidden)
    weights: Array  # (hidden,)


def softmax(scores: Array) -> Array:
    """Probabilities proportional to exp(score), which sum to 1 along the last dimension.

    A score of minus infinity has probability 0; if all scores of a row are minus infinity, the whole row is 0.
    The largest score is subtracted first: this changes no probability, and no exponential overflows.
    """
    largest = scores.max(axis=-1, keepdims=True)  # (..., 1)
    exponentials = np.exp(scores - np.where(np.isneginf(largest), 0.0, largest))  # (..., n)
    total = exponentials.sum(axis=-1, keepdims=True)  # (..., 1)
    probabilities: Array = exponentials / np.where(total == 0.0, 1.0, total)  # (..., n)
    return probabilities


def scaled_dot_product_attention(q: Array, k: Array, v: Array, mask: Mask | None = None) -> tuple[Array, Array]:
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V (Vaswani et al. 2017, eq. 1).

    Every query is compared with every key by their dot product. The softmax turns a query's scores into weights
    that sum to 1, and the output is the mean of the values with these weights. Dot products of d_k random
    components of variance 1 have variance d_k; dividing by sqrt(d_k) keeps the softmax from saturating.

    Args:
        q: Queries, (..., target, d_k).
        k: Keys, (..., source, d_k).
        v: Values, (..., source, d_v).
        mask: True = may attend, broadcastable to (..., target, source).

    Returns:
        The output, (..., target, d_v), and the weights, (..., target, source). A query that may attend to
        nothing has weights and output of zero.
    """
    scores = q @ np.swapaxes(k, -2, -1) / np.sqrt(q.shape[-1])  # (..., target, source)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)  # (..., target, source)
    weights = softmax(scores)  # (..., target, source)
    return weights @ v, weights  # (..., target, d_v)


def additive_attention(
    q: Array, k: Array, v: Array, scorer: AdditiveScorer, mask: Mask | None = None
) -> tuple[Array, Array]:
    """Attention whose score is a small network, w . tanh(q W_q + k W_k) (Bahdanau et al. 2015, appendix A.1.2).

    The dot product replaced this score: every pair of query and key passes through a hidden layer, which takes
    target * source * hidden operations and cannot be written as one matrix product.

    Args:
        q: Queries, (..., target, d_q); the decoder's previous state in the paper.
        k: Keys, (..., source, d_k); the encoder's annotations in the paper, which are also the values.
        v: Values, (..., source, d_v).
        scorer: W_q, W_k and w.
        mask: True = may attend, broadcastable to (..., target, source).

    Returns:
        The output, (..., target, d_v), and the weights, (..., target, source).
    """
    pairs = scorer.query(q)[..., :, None, :] + scorer.key(k)[..., None, :, :]  # (..., target, source, hidden)
    scores = np.tanh(pairs) @ scorer.weights  # (..., target, source)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)  # (..., target, source)
    weights = softmax(scores)  # (..., target, source)
    return weights @ v, weights  # (..., target, d_v)


def multi_head_attention(
    query: Array, memory: Array, projections: Projections, heads: int, mask: Mask | None = None
) -> tuple[Array, Array]:
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O (Vaswani et al. 2017, section 3.2.2).

    Head i is Attention(Q W_i^Q, K W_i^K, V W_i^V), where keys and values are both computed from the memory. The
    matrices of all heads are stored side by side in one matrix, so that one product projects for all heads.

    Args:
        query: (..., target, d_model); the memory itself in self-attention.
        memory: (..., source, d_model).
        projections: Each (d_model, d_model).
        heads: Number of heads, which divides d_model.
        mask: True = may attend, broadcastable to (..., heads, target, source).

    Returns:
        The output, (..., target, d_model), and the weights of each head, (..., heads, target, source).
    """
    q = _split(projections.query(query), heads)  # (..., heads, target, d_head)
    k = _split(projections.key(memory), heads)  # (..., heads, source, d_head)
    v = _split(projections.value(memory), heads)  # (..., heads, source, d_head)
    mixed, weights = scaled_dot_product_attention(q, k, v, mask)  # (..., heads, target, d_head)
    side_by_side = np.swapaxes(mixed, -3, -2).reshape(query.shape)  # (..., target, d_model)
    return projections.output(side_by_side), weights  # (..., target, d_model)


def _split(x: Array, heads: int) -> Array:
    """(..., length, d_model) -> (..., heads, length, d_head)."""
    parts = x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)  # (..., length, heads, d_head)
    return np.swapaxes(parts, -3, -2)  # (..., heads, length, d_head)


def causal_mask(length: int) -> Mask:
    """Which positions may attend to which, (length, length): each to itself and to earlier ones.

    A prediction then depends on earlier tokens only (Vaswani et al. 2017, section 3.2.3).
    """
    positions = np.arange(length)  # (length,)
    mask: Mask = positions[:, None] >= positions[None, :]  # (length, length)
    return mask


def padding_mask(lengths: NDArray[np.int64], longest: int) -> Mask:
    """Which tokens may be attended to in sentences of these lengths, (sentences, 1, longest): all except padding."""
    mask: Mask = (np.arange(longest) < lengths[:, None])[:, None, :]
    return mask


def sinusoidal_positions(length: int, d_model: int) -> Array:
    """Position encodings, (length, d_model), d_model even (Vaswani et al. 2017, section 3.5).

    PE(pos, 2i) = sin(pos / 10000^(2i / d_model)) and PE(pos, 2i + 1) = cos of the same: each pair of dimensions is
    the hand of a clock, and the clocks run ever slower. Moving on by k positions turns each hand by an
    angle that depends on k alone, so relative positions are linear maps.
    """
    positions = np.arange(length)[:, None]  # (length, 1)
    rates = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)  # (d_model / 2,)
    angles = positions * rates  # (length, d_model / 2)
    hands = np.stack([np.sin(angles), np.cos(angles)], axis=-1)  # (length, d_model / 2, 2)
    return hands.reshape(length, d_model)  # (length, d_model)


def layer_norm(x: Array, gain: Array, bias: Array, epsilon: float) -> Array:
    """Layer normalization over the last dimension (Ba et al. 2016, eq. 3 and 4).

    Each vector is shifted to mean 0 and scaled to variance 1 (epsilon, added to the variance, keeps constant
    vectors finite). Then each dimension is multiplied by a learned gain, and a learned bias is added.

    Args:
        x: (..., d_model).
        gain: (d_model,).
        bias: (d_model,).
        epsilon: Added to the variance.

    Returns:
        (..., d_model).
    """
    mean = x.mean(axis=-1, keepdims=True)  # (..., 1)
    variance = x.var(axis=-1, keepdims=True)  # (..., 1)
    normal = (x - mean) / np.sqrt(variance + epsilon)  # (..., d_model)
    normed: Array = gain * normal + bias  # (..., d_model)
    return normed


def feed_forward(x: Array, inner: Linear, outer: Linear) -> Array:
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, the same at every position (Vaswani et al. 2017, eq. 2).

    Args:
        x: (..., d_model).
        inner: (d_model, d_ff).
        outer: (d_ff, d_model).

    Returns:
        (..., d_model).
    """
    hidden = np.maximum(0.0, inner(x))  # (..., d_ff)
    return outer(hidden)  # (..., d_model)
