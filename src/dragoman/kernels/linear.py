"""Linear maps: in float32 on a CPU with oneDNN, which is faster than torch's default library.

oneDNN compiles a kernel for each new shape, so it is not used for small matrices; for decoding see
`dragoman.kernels.prepacked_linear`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from dragoman.kernels.operators import HAS_ONEDNN_LINEAR
from dragoman.model.attention import StackedLinear

MIN_ONEDNN_INPUT = 2**16
"""If the left matrix has fewer numbers than this, torch computes the product."""


def uses_onednn(a: Tensor) -> bool:
    """Whether products with this matrix on the left are computed by oneDNN."""
    on_cpu = a.device.type == "cpu" and not torch.is_autocast_enabled("cpu")
    return HAS_ONEDNN_LINEAR and on_cpu and a.dtype == torch.float32 and a.numel() >= MIN_ONEDNN_INPUT


def _onednn(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")
    return product


def matmul_nt(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a b^T + bias, without a gradient: a (…, k), b (n, k), bias (n,) -> (…, n)."""
    return _onednn(a, b, bias) if uses_onednn(a) else F.linear(a, b, bias)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """a b, without a gradient: a (m, k), b (k, n) -> (m, n)."""
    return _onednn(a, b.t()) if uses_onednn(a) else a @ b


def matmul_tn(a: Tensor, b: Tensor) -> Tensor:
    """a^T b, without a gradient: a (k, m), b (k, n) -> (m, n)."""
    if not uses_onednn(a):
        return a.t() @ b
    if a.shape[1] <= b.shape[1]:
        return _onednn(a.t(), b.t())
    return _onednn(b.t(), a.t()).t()  # oneDNN copies a transposed first matrix: let that be the smaller one


class _Linear(torch.autograd.Function):
    """x weight^T + bias with its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return matmul_nt(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        for_x, for_weight, for_bias = ctx.needs_input_grad
        rows = gradients[0].flatten(0, -2)  # (rows, out)
        return (
            matmul(rows, weight).view_as(x) if for_x else None,
            matmul_tn(rows, x.flatten(0, -2)) if for_weight else None,
            rows.sum(0) if for_bias else None,
        )


def onednn_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weight^T + bias: x (…, in), weight (out, in), bias (out,) -> (…, out)."""
    if torch.is_grad_enabled() and uses_onednn(x):
        result: Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
        return result
    return matmul_nt(x, weight, bias)


class _SharedLinear(StackedLinear):
    """A linear map that shares the parameters of another."""

    def __init__(self, other: nn.Linear) -> None:
        super().__init__(other.in_features, other.out_features, bias=other.bias is not None, device="meta")
        self.weight, self.bias = other.weight, other.bias


class OneDNNLinear(_SharedLinear):
    """A linear map that is computed by oneDNN, as is its gradient."""

    def forward(self, x: Tensor, rows: slice = slice(None)) -> Tensor:
        """(…, inputs) -> (…, outputs of these rows of the matrix)."""
        return onednn_linear(x, self.weight[rows], None if self.bias is None else self.bias[rows])


class UnslicedLinear(_SharedLinear):
    """A linear map whose gradient is not copied if it uses all rows."""

    def forward(self, x: Tensor, rows: slice = slice(None)) -> Tensor:
        """(…, inputs) -> (…, outputs of these rows of the matrix)."""
        return F.linear(x, self.weight, self.bias) if rows == slice(None) else super().forward(x, rows)
