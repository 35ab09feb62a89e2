"""Cross-entropy with label smoothing, fused with the projection to the vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from dragoman.kernels.linear import matmul, matmul_nt, matmul_tn

LOGITS_AT_ONCE, LOGITS_AT_ONCE_ON_CPU = 2**28, 2**24
"""Logits computed at a time: enough for an efficient matrix product, but little memory."""


class Gradients:
    """Gradients of a loss, added up chunk by chunk.

    Attributes:
        hidden: (…, tokens, d_model).
        weight: (vocabulary, d_model), float32.
        bias: (vocabulary,), float32, or None.
    """

    def __init__(self, hidden: Tensor, weight: Tensor, bias: Tensor | None) -> None:
        self.hidden = torch.empty_like(hidden)
        self.weight = torch.zeros_like(weight, dtype=torch.float32)
        self.bias = None if bias is None else torch.zeros_like(bias, dtype=torch.float32)

    def add_rows(self, difference: Tensor, hidden: Tensor, weight: Tensor) -> Tensor:
        """Add the part of some hidden states, (rows, d_model), to the gradients of weight and bias.

        Args:
            difference: The gradient of their logits, (rows, vocabulary).
            hidden: The hidden states.
            weight: The output projection.

        Returns:
            The gradient of the hidden states, (rows, d_model).
        """
        self.weight += matmul_tn(difference, hidden)
        if self.bias is not None:
            self.bias += difference.sum(0, dtype=torch.float32)
        return matmul(difference, weight)

    def add_smoothing(self, smoothing: float, real: Tensor, hidden: Tensor, mean_weight: Tensor) -> None:
        """Add the uniform part of label smoothing, which is the same for every token with real = 1, (tokens,)."""
        uniform = smoothing / len(self.weight)
        self.hidden -= smoothing * real[:, None] * mean_weight
        self.weight -= uniform * hidden.sum(0)
        if self.bias is not None:
            self.bias -= uniform * real.sum()

    def save(self, ctx: Any, weight: Tensor) -> None:
        """Keep them for the backward pass of a `ProjectedLoss`."""
        ctx.save_for_backward(self.hidden, self.weight, self.bias)
        ctx.dtype = weight.dtype


class ProjectedLoss(torch.autograd.Function):
    """A loss of hidden states, weight, bias and three other inputs, whose forward pass saves the gradients."""

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, Tensor, Tensor | None, None, None, None]:
        """The saved gradients, times that of the loss."""
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


class _ProjectedCrossEntropy(ProjectedLoss):
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
        ignored: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        gradients = Gradients(hidden, weight, bias)
        target_logits, log_sums = hidden.new_empty(2, len(targets), dtype=torch.float32)  # (tokens,) each
        for chunk in chunks_of_tokens(hidden, len(weight)):
            logits = matmul_nt(hidden[chunk], weight, bias)  # (rows, vocabulary)
            target_logits[chunk] = logits.gather(1, targets[chunk, None])[:, 0]
            difference, log_sums[chunk] = _softmax_minus_target(logits, targets[chunk], smoothing)
            if ignored is not None:
                clear_ignored(difference, ignored[chunk])
            gradients.hidden[chunk] = gradients.add_rows(difference, hidden[chunk], weight)
        real = torch.ones_like(log_sums) if ignored is None else (~ignored).float()  # (tokens,)
        hidden = hidden.float() * real[:, None]  # no matrix products with it: autocast would round them
        mean_weight = weight.mean(0, dtype=torch.float32)  # (d_model,)
        gradients.add_smoothing(smoothing, real, hidden, mean_weight)
        gradients.save(ctx, weight)
        mean_logits = (hidden * mean_weight).sum(-1)  # (tokens,)
        if bias is not None:
            mean_logits += bias.mean(dtype=torch.float32)
        nll = log_sums - target_logits  # (tokens,)
        smooth = log_sums - mean_logits  # (tokens,), mean of -log p over the vocabulary
        loss, nll_sum = sum_losses((1 - smoothing) * nll + smoothing * smooth, ignored), sum_losses(nll, ignored)
        ctx.mark_non_differentiable(nll_sum)
        return loss, nll_sum


def sum_losses(losses: Tensor, ignored: Tensor | None) -> Tensor:
    """The sum of the losses, (tokens,), without those of ignored tokens."""
    return (losses if ignored is None else losses.masked_fill(ignored, 0.0)).sum()


def clear_ignored(difference: Tensor, ignored: Tensor) -> None:
    """Set the rows of ignored targets to zero."""
    if difference.device.type == "cpu":
        difference.index_fill_(0, ignored.nonzero()[:, 0], 0.0)  # writes few rows
    else:
        difference.masked_fill_(ignored[:, None], 0.0)  # the number of rows would have to be known on the CPU


def chunks_of_tokens(hidden: Tensor, logits_per_token: int) -> Iterator[slice]:
    """Slices of tokens whose logits are computed at a time; `hidden` are decoder outputs, (…, tokens, d_model)."""
    at_once = LOGITS_AT_ONCE_ON_CPU if hidden.device.type == "cpu" else LOGITS_AT_ONCE
    if hidden.dtype == torch.float16:
        at_once //= 4  # which leaves memory for float32 copies
    rows, tokens = max(1, at_once // logits_per_token), hidden.shape[-2]
    return (slice(start, min(start + rows, tokens)) for start in range(0, tokens, rows))


def _softmax_minus_target(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """The gradient of the loss with respect to logits, written over them, except for the uniform part of smoothing.

    Returns:
        The gradient, (rows, vocabulary), and the logarithm of the sum of the exponentials of the logits, (rows,),
        float32. It is computed from the largest probability, which is never rounded to zero.
    """
    highest = logits.amax(dim=-1)  # (rows,)
    difference = torch.softmax(logits, dim=-1, out=logits)
    log_sum = highest.float() - difference.amax(dim=-1).float().log()
    row = torch.arange(len(targets), device=targets.device)  # on a CPU scatter_ would copy the whole matrix
    difference[row, targets] = (difference[row, targets].float() - (1 - smoothing)).to(difference.dtype)
    return difference, log_sum


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
    if hidden.dtype == torch.float16:
        return _float16_cross_entropy(hidden, weight, bias, targets, smoothing, ignore)
    ignored = None if ignore is None else targets == ignore
    apply: Any = _ProjectedCrossEntropy.apply
    loss, nll = apply(hidden, weight, bias, targets, smoothing, ignored)
    return loss, nll


def _float16_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float, ignore: int | None
) -> tuple[Tensor, Tensor]:
    """The same for float16, in which most gradients of logits are zero unless the loss is scaled before rounding them.

    The scale is known in the backward pass only. Therefore the logits are computed again there, some tokens at a time,
    and everything from the logits to their scaled gradients is float32.
    """
    slices = (*chunks_of_tokens(hidden, len(weight)), slice(0, 0))  # the last one is there if there are no tokens
    return sum_recomputed(
        plain_cross_entropy, ((hidden[chunk], weight, bias, targets[chunk], smoothing, ignore) for chunk in slices)
    )


def sum_recomputed(loss: Callable[..., Any], chunks: Iterable[tuple[Any, ...]]) -> tuple[Tensor, Tensor]:
    """Sums of the two results of a loss for chunks of tokens; its logits are computed again in the backward pass."""
    results: Any = [checkpoint(loss, *chunk, use_reentrant=False, preserve_rng_state=False) for chunk in chunks]
    losses, nlls = zip(*results, strict=True)
    return torch.stack(losses).sum(), torch.stack(nlls).sum()


def plain_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float, ignore: int | None = None
) -> tuple[Tensor, Tensor]:
    """The same as `projected_cross_entropy`, with all logits in memory."""
    logits = F.linear(hidden, weight, bias).float()  # (tokens, vocabulary)
    ignored = -100 if ignore is None else ignore  # torch's value for "none", which no id has
    losses = [
        F.cross_entropy(logits, targets, ignore_index=ignored, label_smoothing=each, reduction="sum")
        for each in (smoothing, 0.0)
    ]
    return losses[0], losses[1].detach()
