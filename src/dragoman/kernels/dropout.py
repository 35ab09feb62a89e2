"""Dropout with a fast random mask on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


def keep_scale(x: Tensor, probability: float) -> Tensor:
    """The factors by which dropout multiplies x, on a CPU: 0, or 1 / (fraction kept); same shape and dtype as x.

    The probability is rounded to a multiple of 1/256, and the scale is exact for the rounded one.
    """
    threshold = min(max(1, round(probability * 256)), 255)
    words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    random = words.view(torch.uint8)[: x.numel()].view(x.shape)
    keep = torch.ge(random, threshold, out=torch.empty(x.shape, dtype=x.dtype))  # not boolean: saves a conversion
    return keep.mul_(256 / (256 - threshold))


class _ByteDropout(torch.autograd.Function):
    """x times its keep scale."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, probability: float) -> Tensor:
        scale = keep_scale(x, probability)
        ctx.save_for_backward(scale)
        return x * scale

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        (scale,) = ctx.saved_tensors
        return gradients[0] * scale, None


class ByteDropout(nn.Dropout):
    """Dropout that needs one random byte per value, drawn eight at a time.

    torch's dropout on a CPU draws a Bernoulli sample for each value, which costs about fifteen times as much.
    """

    def forward(self, x: Tensor) -> Tensor:
        """x of any shape; unchanged outside training."""
        if not self.training or self.p == 0.0:
            return x
        result: Tensor = _ByteDropout.apply(x, self.p)  # type: ignore[no-untyped-call]
        return result
