"""Dropout that costs little on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


class _ByteDropout(torch.autograd.Function):
    """Dropout decided by one random byte a value, drawn eight at a time.

    torch's CPU dropout draws a Bernoulli sample a value, about fifteen times the cost of its random
    bytes.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, probability: float) -> Tensor:
        scale = keep_scale(x, probability)
        ctx.save_for_backward(scale)
        return x * scale

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        (scale,) = ctx.saved_tensors
        return gradients[0] * scale, None


def keep_scale(x: Tensor, probability: float) -> Tensor:
    """What dropout multiplies x by, on a CPU: 0, or one over the share kept; the shape and dtype of x.

    The probability is rounded to a 256th, and the scale is exact for the rounded one.
    """
    threshold = min(max(1, round(probability * 256)), 255)
    words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    random = words.view(torch.uint8)[: x.numel()].view(x.shape)
    keep = torch.ge(random, threshold, out=torch.empty(x.shape, dtype=x.dtype))  # a boolean would have to be converted
    return keep.mul_(256 / (256 - threshold))


def dropout(x: Tensor, probability: float, training: bool) -> Tensor:
    """Zero each value with this probability and scale the rest up, while training; else x itself."""
    if not training or probability == 0.0:
        return x
    if x.device.type == "cpu":
        result: Tensor = _ByteDropout.apply(x, probability)  # type: ignore[no-untyped-call]
        return result
    return F.dropout(x, probability)
