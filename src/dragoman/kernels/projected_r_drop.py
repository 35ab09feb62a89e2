"""R-Drop: a loss that makes two passes with different dropout agree (Liang et al. 2021), fused with the projection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.kernels.linear import matmul, matmul_nt, matmul_tn
from dragoman.kernels.projected_loss import ProjectedLoss, chunks_of_tokens

Projection = tuple[Tensor, Tensor | None]
"""The matrix of the output layer, (vocabulary, d_model), and its bias, (vocabulary,)."""

NUMBERS_AT_ONCE, NUMBERS_AT_ONCE_ON_CPU = 2**24, 2**17
"""Logits of a pass from which losses and gradients are computed at a time: on a CPU, they and the results fit into its
cache; on a GPU, a dozen float32 matrices of this size fit into its memory."""


def projected_r_drop(
    hidden: Tensor, projection: Projection, targets: Tensor, smoothing: float, divergence: float, ignore: int | None
) -> tuple[Tensor, Tensor]:
    """Summed loss of two predictions of the same tokens (eq. 3), halved, from hidden states through the output layer.

    Halved, so that a token counts once, and without the divergence, it is the mean of the two cross-entropies.

    Args:
        hidden: Decoder outputs of two passes with different dropout, (2, tokens, d_model).
        projection: The output layer.
        targets: Ids to predict, (tokens,), int64.
        smoothing: Probability spread evenly over the vocabulary (Szegedy et al. 2016, section 7).
        divergence: Weight of the Kullback-Leibler divergences, the paper's alpha.
        ignore: Targets with this id, such as padding, do not count; None: all targets count.

    Returns:
        The loss to minimize, and the negative log-likelihood of the first pass (not differentiable), each summed over
        tokens, in nats.
    """
    if hidden.dtype == torch.float16:  # whose gradients are zero unless the loss is scaled before they are rounded
        return plain_r_drop(hidden, projection, targets, smoothing, divergence, ignore)
    ignored = None if ignore is None else (targets == ignore).nonzero()[:, 0]
    apply: Any = _ProjectedRDrop.apply
    loss, nll = apply(hidden, *projection, targets, (smoothing, divergence), ignored)
    return loss, nll


def plain_r_drop(
    hidden: Tensor, projection: Projection, targets: Tensor, smoothing: float, divergence: float, ignore: int | None
) -> tuple[Tensor, Tensor]:
    """The same as `projected_r_drop`, with all logits in memory."""
    if ignore is not None:
        real = targets != ignore
        targets, hidden = targets[real], hidden[:, real]
    first, second = F.linear(hidden, *projection).float().log_softmax(-1)  # (tokens, vocabulary) each
    nlls = [F.nll_loss(each, targets, reduction="sum") for each in (first, second)]
    uniform = [-each.sum() / each.shape[1] for each in (first, second)]  # the cross-entropies of a uniform distribution
    both_ways = ((first.exp() - second.exp()) * (first - second)).sum()  # KL(first || second) + KL(second || first)
    cross_entropy = (1 - smoothing) * sum(nlls) / 2 + smoothing * sum(uniform) / 2
    return cross_entropy + divergence / 4 * both_ways, nlls[0].detach()


class _ProjectedRDrop(ProjectedLoss):
    """The loss, whose gradients are computed in the forward pass, where all that they need is in the cache."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        weights: tuple[float, float],
        ignored: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        d_hidden = torch.empty_like(hidden)
        d_weight = torch.zeros_like(weight, dtype=torch.float32)
        d_bias = None if bias is None else torch.zeros_like(bias, dtype=torch.float32)
        losses, nlls = hidden.new_empty(2, len(targets), dtype=torch.float32)  # (tokens,) each
        for chunk in chunks_of_tokens(hidden, 2 * len(weight)):
            both = hidden[:, chunk].flatten(0, 1)  # (2 rows, d_model)
            logits = matmul_nt(both, weight, bias).view(2, -1, len(weight))  # (2, rows, vocabulary)
            for part in _parts(logits):
                tokens = slice(chunk.start + part.start, chunk.start + part.stop)
                gradient, losses[tokens], nlls[tokens] = _loss_of_logits(logits[:, part], targets[tokens], *weights)
                logits[:, part] = gradient
            if ignored is not None:
                here = ignored[(ignored >= chunk.start) & (ignored < chunk.stop)] - chunk.start
                logits.index_fill_(1, here, 0.0)
            difference = logits.flatten(0, 1)  # (2 rows, vocabulary)
            d_hidden[:, chunk] = matmul(difference, weight).view(2, -1, hidden.shape[-1])
            d_weight += matmul_tn(difference, both)
            if d_bias is not None:
                d_bias += difference.sum(0, dtype=torch.float32)
        if ignored is not None:
            losses, nlls = (each.index_fill(0, ignored, 0.0) for each in (losses, nlls))
        ctx.save_for_backward(d_hidden, d_weight, d_bias)
        ctx.dtype = weight.dtype
        nll = nlls.sum()
        ctx.mark_non_differentiable(nll)
        return losses.sum(), nll


def _parts(logits: Tensor) -> Iterator[slice]:
    """Slices of the tokens of logits, (2, rows, vocabulary), that are processed at a time."""
    _, rows, vocabulary = logits.shape
    at_once = NUMBERS_AT_ONCE_ON_CPU if logits.device.type == "cpu" else NUMBERS_AT_ONCE
    size = max(1, at_once // vocabulary)
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def _loss_of_logits(
    logits: Tensor, targets: Tensor, smoothing: float, divergence: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradient of the loss with respect to logits, (2, rows, vocabulary); losses and log-likelihoods, (rows,) each.

    If p and q are the probabilities of the two passes, the gradient of KL(p || q) + KL(q || p) with respect to the
    logits of the first is p (log p - log q - KL(p || q)) + p - q.
    """
    log = logits.float().log_softmax(-1)  # (2, rows, vocabulary)
    probabilities = log.exp()
    ratio = log[0] - log[1]  # (rows, vocabulary)
    kl = (probabilities * ratio).sum(-1)  # (2, rows): KL(first || second), and KL(second || first) with a minus
    kl[1].neg_()
    row = torch.arange(len(targets), device=targets.device)
    nlls = -log[:, row, targets]  # (2, rows)
    losses = ((1 - smoothing) * nlls - smoothing * log.mean(-1)).mean(0) + divergence / 4 * kl.sum(0)
    weight = divergence / 4
    factors = 0.5 + weight * (1 - kl)[:, :, None]  # (2, rows, 1)
    gradient = torch.stack(
        (torch.add(factors[0], ratio, alpha=weight), torch.add(factors[1], ratio, alpha=-weight))
    )  # (2, rows, vocabulary)
    gradient *= probabilities
    gradient.sub_(probabilities.flip(0), alpha=weight).sub_(smoothing / 2 / log.shape[-1])
    gradient[:, row, targets] -= (1 - smoothing) / 2
    return gradient, losses, nlls[0]
