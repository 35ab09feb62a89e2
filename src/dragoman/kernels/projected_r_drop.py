"""R-Drop: a loss that makes two passes with different dropout agree (Liang et al. 2021), fused with the projection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.kernels.linear import matmul_nt
from dragoman.kernels.projected_loss import (
    Gradients,
    ProjectedLoss,
    chunks_of_tokens,
    clear_ignored,
    sum_losses,
    sum_recomputed,
)

Projection = tuple[Tensor, Tensor | None]
"""The matrix of the output layer, (vocabulary, d_model), and its bias, (vocabulary,)."""

NUMBERS_AT_ONCE, NUMBERS_AT_ONCE_ON_CPU = 2**24, 2**17
"""Logits of each pass that are processed at a time.

On a CPU, these and all intermediate results fit into the cache; on a GPU, about a dozen float32 matrices of this size
fit into its memory.
"""


def projected_r_drop(
    hidden: Tensor, projection: Projection, targets: Tensor, smoothing: float, alpha: float, ignore: int | None
) -> tuple[Tensor, Tensor]:
    """Summed loss of two predictions of the same tokens (eq. 3), halved, from hidden states through the output layer.

    Halved, so that a token counts once; with an alpha of 0, it is the mean of the two cross-entropies.

    Args:
        hidden: Decoder outputs of two passes with different dropout, (2, tokens, d_model).
        projection: The output layer.
        targets: Ids to predict, (tokens,), int64.
        smoothing: Probability spread evenly over the vocabulary (Szegedy et al. 2016, section 7).
        alpha: The weight of the Kullback-Leibler divergences.
        ignore: Targets with this id, such as padding, do not count; None: all targets count.

    Returns:
        The loss to minimize, and the negative log-likelihood of the first pass (not differentiable), each summed over
        tokens, in nats.
    """
    if hidden.dtype == torch.float16:
        return _float16_r_drop(hidden, projection, targets, smoothing, alpha, ignore)
    ignored = None if ignore is None else targets == ignore
    apply: Any = _ProjectedRDrop.apply
    loss, nll = apply(hidden, *projection, targets, (smoothing, alpha), ignored)
    return loss, nll


def _float16_r_drop(
    hidden: Tensor, projection: Projection, targets: Tensor, smoothing: float, alpha: float, ignore: int | None
) -> tuple[Tensor, Tensor]:
    """The same for float16, for the reason given at `projected_cross_entropy`: logits are computed again backwards."""
    slices = (*chunks_of_tokens(hidden, 2 * len(projection[0])), slice(0, 0))  # the last one if there are no tokens
    return sum_recomputed(
        plain_r_drop, ((hidden[:, chunk], projection, targets[chunk], smoothing, alpha, ignore) for chunk in slices)
    )


def plain_r_drop(
    hidden: Tensor, projection: Projection, targets: Tensor, smoothing: float, alpha: float, ignore: int | None
) -> tuple[Tensor, Tensor]:
    """The same as `projected_r_drop`, with all logits in memory."""
    log = F.linear(hidden, *projection).float().log_softmax(-1)  # (2, tokens, vocabulary)
    nlls = -log.gather(-1, targets.expand(2, -1)[:, :, None])[:, :, 0]  # (2, tokens)
    uniform = -log.mean(-1)  # (2, tokens), cross-entropies of a uniform distribution
    both_ways = ((log[0].exp() - log[1].exp()) * (log[0] - log[1])).sum(-1)  # KL(first || second) + KL(second || first)
    losses = ((1 - smoothing) * nlls + smoothing * uniform).mean(0) + alpha / 4 * both_ways  # (tokens,)
    ignored = None if ignore is None else targets == ignore
    return sum_losses(losses, ignored), sum_losses(nlls[0], ignored).detach()


class _ProjectedRDrop(ProjectedLoss):
    """The loss, whose gradients are computed in the forward pass, where all that they need is in the cache."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        factors: tuple[float, float],
        ignored: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        gradients = Gradients(hidden, weight, bias)
        losses, nlls = hidden.new_empty(2, len(targets), dtype=torch.float32)  # (tokens,) each
        for chunk in chunks_of_tokens(hidden, 2 * len(weight)):
            both = hidden[:, chunk].flatten(0, 1)  # (2 rows, d_model)
            difference = matmul_nt(both, weight, bias)  # (2 rows, vocabulary): logits, then their gradients
            logits = difference.view(2, -1, len(weight))
            for rows in _split(logits):
                tokens = slice(chunk.start + rows.start, chunk.start + rows.stop)
                gradient, losses[tokens], nlls[tokens] = _loss_of_logits(logits[:, rows], targets[tokens], *factors)
                logits[:, rows] = gradient
            if ignored is not None:
                clear_ignored(difference, ignored[chunk].repeat(2))
            gradients.hidden[:, chunk] = gradients.add_rows(difference, both, weight).view(2, -1, hidden.shape[-1])
        gradients.save(ctx, weight)
        loss, nll = sum_losses(losses, ignored), sum_losses(nlls, ignored)
        ctx.mark_non_differentiable(nll)
        return loss, nll


def _split(logits: Tensor) -> Iterator[slice]:
    """Slices of the rows of logits, (2, rows, vocabulary), that are processed at a time."""
    _, rows, vocabulary = logits.shape
    at_once = NUMBERS_AT_ONCE_ON_CPU if logits.device.type == "cpu" else NUMBERS_AT_ONCE
    size = max(1, at_once // vocabulary)
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def _loss_of_logits(logits: Tensor, targets: Tensor, smoothing: float, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
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
    losses = ((1 - smoothing) * nlls - smoothing * log.mean(-1)).mean(0) + alpha / 4 * kl.sum(0)
    factor = alpha / 4
    constant = 0.5 + factor * (1 - kl)[:, :, None]  # (2, rows, 1)
    gradient = torch.empty_like(log)  # (2, rows, vocabulary)
    torch.add(constant[0], ratio, alpha=factor, out=gradient[0])
    torch.add(constant[1], ratio, alpha=-factor, out=gradient[1])
    gradient *= probabilities
    gradient[0].sub_(probabilities[1], alpha=factor)
    gradient[1].sub_(probabilities[0], alpha=factor)
    gradient -= smoothing / 2 / log.shape[-1]
    gradient[:, row, targets] -= (1 - smoothing) / 2
    return gradient, losses, nlls[0]
