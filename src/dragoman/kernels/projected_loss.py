"""Cross-entropy with label smoothing, fused with the projection to the vocabulary."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.kernels.linear import matmul, matmul_nt, matmul_tn

LOGITS_AT_ONCE, LOGITS_AT_ONCE_ON_CPU = 2**28, 2**24
"""Logits computed at a time: enough for an efficient matrix product, but little memory."""


class _ProjectedCrossEntropy(torch.autograd.Function):
    """Loss of softmax(hidden @ weight^T + bias), whose gradients are computed in the forward pass.

    The logits of all tokens would be the largest tensor of a training step, so they are computed for some tokens
    at a time. The gradient of the logits is their softmax, changed in one entry per row. The gradients of hidden states
    and weights are therefore computed immediately, and the logits are discarded. The uniform part of label smoothing
    has the same gradient for every token and is added at the end.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        ignored: Tensor,
    ) -> tuple[Tensor, Tensor]:
        at_once = LOGITS_AT_ONCE_ON_CPU if hidden.device.type == "cpu" else LOGITS_AT_ONCE
        rows = max(1, at_once // len(weight))
        target_logits, probabilities = hidden.new_empty(2, len(targets), dtype=torch.float32)  # (tokens,) each
        d_hidden = torch.empty_like(hidden)  # (tokens, d_model)
        d_weight = torch.zeros_like(weight, dtype=torch.float32)  # (vocabulary, d_model)
        d_bias = None if bias is None else torch.zeros_like(bias, dtype=torch.float32)  # (vocabulary,)
        for start in range(0, len(targets), rows):
            chunk = slice(start, start + rows)
            column = targets[chunk, None]
            logits = matmul_nt(hidden[chunk], weight, bias)  # (rows, vocabulary)
            target_logits[chunk] = logits.gather(1, column)[:, 0]
            difference = torch.softmax(logits, dim=-1, out=logits)  # (rows, vocabulary)
            probabilities[chunk] = difference.gather(1, column)[:, 0]
            row = torch.arange(len(column), device=targets.device)  # on a CPU scatter_ would copy the whole matrix
            difference[row, column[:, 0]] = (probabilities[chunk] - (1 - smoothing)).to(difference.dtype)
            difference.index_fill_(0, ignored[chunk].nonzero()[:, 0], 0.0)
            d_hidden[chunk] = matmul(difference, weight)
            d_weight += matmul_tn(difference, hidden[chunk])
            if d_bias is not None:
                d_bias += difference.sum(0, dtype=torch.float32)
        uniform, real = smoothing / len(weight), (~ignored).float()  # (tokens,)
        mean_weight = weight.mean(0, dtype=torch.float32)  # (d_model,)
        hidden = hidden.float() * real[:, None]  # no matrix products with it: autocast would round them
        d_hidden -= smoothing * real[:, None] * mean_weight
        d_weight -= uniform * hidden.sum(0)
        if d_bias is not None:
            d_bias -= uniform * real.sum()
        ctx.save_for_backward(d_hidden, d_weight, d_bias)
        ctx.dtype = weight.dtype
        mean_logits = (hidden * mean_weight).sum(-1)  # (tokens,)
        if bias is not None:
            mean_logits += bias.mean(dtype=torch.float32)
        nll = -probabilities.clamp_min(1e-38).log()  # (tokens,)
        smooth = nll + target_logits - mean_logits  # (tokens,), mean of -log p over the vocabulary
        loss = ((1 - smoothing) * nll + smoothing * smooth).masked_fill(ignored, 0.0).sum()
        nll_sum = nll.masked_fill(ignored, 0.0).sum()
        ctx.mark_non_differentiable(nll_sum)
        return loss, nll_sum

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, Tensor, Tensor | None, None, None, None]:
        d_hidden, d_weight, d_bias = ctx.saved_tensors
        scale = gradients[0]
        return (
            d_hidden * scale.to(d_hidden.dtype),
            (d_weight * scale).to(ctx.dtype),
            None if d_bias is None else (d_bias * scale).to(ctx.dtype),
            None,
            None,
            None,
        )


def projected_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float, ignore: int | None = None
) -> tuple[Tensor, Tensor]:
    """Summed loss of predicting targets from hidden states through the output projection.

    Args:
        hidden: Decoder outputs, (tokens, d_model).
        weight: Output projection, (vocabulary, d_model).
        bias: Its bias, (vocabulary,), or None.
        targets: Ids to predict, (tokens,), int64.
        smoothing: Probability spread evenly over the vocabulary (Szegedy et al. 2016, section 7).
        ignore: Targets with this id, such as padding, do not count.

    Returns:
        The loss to minimize, and the negative log-likelihood without smoothing (not differentiable),
        each summed over tokens, in nats.
    """
    ignored = torch.zeros_like(targets, dtype=torch.bool) if ignore is None else targets == ignore
    apply: Any = _ProjectedCrossEntropy.apply
    loss, nll = apply(hidden, weight, bias, targets, smoothing, ignored)
    return loss, nll


def plain_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float, ignore: int
) -> tuple[Tensor, Tensor]:
    """The same as `projected_cross_entropy`, with all logits in memory."""
    logits = F.linear(hidden, weight, bias).float()  # (tokens, vocabulary)
    losses = [
        F.cross_entropy(logits, targets, ignore_index=ignore, label_smoothing=each, reduction="sum")
        for each in (smoothing, 0.0)
    ]
    return losses[0], losses[1].detach()
