"""Cross-entropy with label smoothing, fused with the projection to the vocabulary."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


class _ProjectedCrossEntropy(torch.autograd.Function):
    """Loss of softmax(hidden @ weight^T + bias), its gradient made in the forward pass.

    The logits are the largest tensor of a step. The gradient with respect to them is their softmax,
    changed in one entry a row, so that softmax is all that is kept. The uniform part of label
    smoothing has the same gradient for every token and is added at the end, exactly.
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
        logits = F.linear(hidden, weight, bias)  # (tokens, vocabulary)
        mean_logits = hidden.float() @ weight.mean(0, dtype=torch.float32)  # (tokens,)
        if bias is not None:
            mean_logits += bias.mean(dtype=torch.float32)
        column = targets[:, None]
        target_logits = logits.gather(1, column).float()[:, 0]  # (tokens,)
        difference = logits.softmax(dim=-1)  # (tokens, vocabulary)
        del logits
        probabilities = difference.gather(1, column).float()[:, 0]  # (tokens,), of the targets
        rows = torch.arange(len(targets), device=targets.device)  # scatter_ would copy the whole matrix on a CPU
        difference[rows, targets] = (probabilities - (1 - smoothing)).to(difference.dtype)
        difference.index_fill_(0, ignored, 0.0)
        nll = -probabilities.clamp_min(1e-38).log()  # (tokens,)
        smooth = nll + target_logits - mean_logits  # (tokens,), mean of -log p over the vocabulary
        loss = ((1 - smoothing) * nll + smoothing * smooth).index_fill(0, ignored, 0.0).sum()
        nll_sum = nll.index_fill(0, ignored, 0.0).sum()
        ctx.save_for_backward(hidden, weight, difference, ignored)
        ctx.uniform = smoothing / weight.shape[0]
        ctx.has_bias = bias is not None
        ctx.mark_non_differentiable(nll_sum)
        return loss, nll_sum

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, Tensor, Tensor | None, None, None, None]:
        hidden, weight, difference, ignored = ctx.saved_tensors
        scale = gradients[0].to(hidden.dtype)
        d_hidden = difference @ weight - ctx.uniform * weight.sum(0)  # (tokens, d_model)
        d_hidden = (d_hidden * scale).index_fill_(0, ignored, 0.0)
        hidden = (hidden * scale).index_fill_(0, ignored, 0.0)
        d_weight = (difference.t() @ hidden).sub_(ctx.uniform * hidden.sum(0))  # (vocabulary, d_model)
        d_bias = None
        if ctx.has_bias:
            tokens = len(hidden) - len(ignored)
            d_bias = difference.sum(0, dtype=torch.float32).sub_(ctx.uniform * tokens).to(weight.dtype) * scale
        return d_hidden, d_weight, d_bias, None, None, None


def projected_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float, ignore: int | None = None
) -> tuple[Tensor, Tensor]:
    """Summed loss of predicting targets from hidden states through the output projection.

    Args:
        hidden: Decoder outputs, (tokens, d_model).
        weight: Output projection, (vocabulary, d_model).
        bias: Its bias, (vocabulary,), or None.
        targets: Ids to predict, (tokens,), int64.
        smoothing: Share of the target probability spread evenly (Szegedy et al. 2016, section 7).
        ignore: Targets of this id, such as padding, do not count.

    Returns:
        The loss to minimise, and the negative log-likelihood without smoothing (not differentiable),
        each summed over tokens, in nats.
    """
    ignored = targets.new_empty(0) if ignore is None else (targets == ignore).nonzero()[:, 0]
    apply: Any = _ProjectedCrossEntropy.apply
    loss, nll = apply(hidden, weight, bias, targets, smoothing, ignored)
    return loss, nll


def regularised_cross_entropy(
    logits: Tensor, other: Tensor, targets: Tensor, smoothing: float, weight: float, ignore: int
) -> tuple[Tensor, Tensor]:
    """Summed loss of two predictions of the same tokens that are to agree: R-Drop (Liang et al. 2021, eq. 3), halved.

    Halved, a token counts once, and a weight of 0 leaves the mean of the two cross-entropies.

    Args:
        logits: Of one pass, (tokens, vocabulary).
        other: Of a pass with another dropout, the same shape.
        targets: Ids to predict, (tokens,), int64.
        smoothing: Share of the target probability spread evenly.
        weight: Of the Kullback-Leibler divergences between the two, the paper's alpha.
        ignore: Targets of this id, such as padding, do not count.

    Returns:
        The loss to minimise, and the negative log-likelihood of the first pass (not differentiable), each summed over
        tokens, in nats.
    """
    real = targets != ignore
    targets = targets[real]
    first, second = logits[real].float().log_softmax(-1), other[real].float().log_softmax(-1)  # (tokens, vocabulary)
    losses = [F.cross_entropy(log, targets, reduction="sum", label_smoothing=smoothing) for log in (first, second)]
    both_ways = ((first.exp() - second.exp()) * (first - second)).sum()  # KL(first || second) + KL(second || first)
    nll = -first.detach().gather(1, targets[:, None]).sum()
    return sum(losses) / 2 + weight / 4 * both_ways, nll
