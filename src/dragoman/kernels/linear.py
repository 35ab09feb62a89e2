"""Products of matrices, in float32 on a CPU by oneDNN.

torch gives these to MKL, which does not use AVX-512 on processors of AMD and is half as fast there. Both compute in
float32. oneDNN compiles a product for each new shape, so that small ones are not worth it; for those of decoding see
`packed`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

ONEDNN = torch.backends.mkldnn.is_available() and torch.backends.cpu.get_cpu_capability() == "AVX512"  # type: ignore[no-untyped-call]
SMALL = 2**16
"""Numbers in a matrix for which oneDNN is not worth it."""


def _by_onednn(a: Tensor) -> bool:
    on_cpu = a.device.type == "cpu" and not torch.is_autocast_enabled("cpu")
    return ONEDNN and on_cpu and a.dtype == torch.float32 and a.numel() >= SMALL


def _onednn(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")
    return product


def times_transposed(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a b^T + bias, without a gradient: a (…, k), b (n, k), bias (n,) -> (…, n)."""
    return _onednn(a, b, bias) if _by_onednn(a) else F.linear(a, b, bias)


def times(a: Tensor, b: Tensor) -> Tensor:
    """Product of a (m, k) and b (k, n), (m, n), without a gradient."""
    return _onednn(a, b.t()) if _by_onednn(a) else a @ b


def transposed_times(a: Tensor, b: Tensor) -> Tensor:
    """Product of the transpose of a (k, m) and b (k, n), (m, n), without a gradient."""
    if not _by_onednn(a):
        return a.t() @ b
    if a.shape[1] <= b.shape[1]:
        return _onednn(a.t(), b.t())
    return _onednn(b.t(), a.t()).t()  # it copies its first matrix if that lies transposed: let that be the smaller


class _Linear(torch.autograd.Function):
    """x weight^T + bias with its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return times_transposed(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        for_x, for_weight, for_bias = ctx.needs_input_grad
        rows = gradients[0].flatten(0, -2)  # (rows, out)
        return (
            times(rows, weight).view_as(x) if for_x else None,
            transposed_times(rows, x.flatten(0, -2)) if for_weight else None,
            rows.sum(0) if for_bias else None,
        )


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weight^T + bias: x (…, in), weight (out, in), bias (out,) -> (…, out)."""
    if torch.is_grad_enabled() and _by_onednn(x):
        result: Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
        return result
    return times_transposed(x, weight, bias)


class Linear(nn.Linear):
    """torch's linear map, by `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) -> (…, out)."""
        return linear(x, self.weight, self.bias)
