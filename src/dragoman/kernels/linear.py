"""Linear maps in float32 on a CPU with oneDNN, which is faster than torch's default library.

In training, weights change in every step, and batches are large: `OneDNNLinear`. oneDNN compiles a kernel for each new
shape, so it is not used for small matrices.

A decoding step multiplies few rows with every weight of the decoder, so most of its time goes into reading weights.
oneDNN reads them faster in its own layout: `PrepackedLinear`. The plain equivalent of both is `nn.Linear`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from dragoman.kernels.operators import HAS_FAST_MKL, HAS_ONEDNN_LINEAR
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


TYPICAL_ROWS = 64
"""The number of rows for which oneDNN chooses the layout of weights."""

MIN_PRODUCTS = 2**19
"""For fewer multiplications, torch's linear map is faster: oneDNN takes 12 µs to start."""

FEW_ROWS = 64 if HAS_FAST_MKL else 1
"""Up to this many rows, too: on Intel, MKL needs half of oneDNN's time for 8 rows. Their products are faster if the
longer side of the weight is contiguous or, with MKL on Intel, the output side."""

EXACT_ROWS = 8
"""Up to this many rows, the number of rows is not rounded up."""


class PrepackedLinear(OneDNNLinear):
    """A linear map that keeps copies of its weights in faster layouts; they are made again if the weights change.

    It is used without gradients. With them, it computes the same as `OneDNNLinear`.
    """

    def __init__(self, other: nn.Linear) -> None:
        super().__init__(other)
        self._packed = _PackedRows()

    def forward(self, x: Tensor, rows: slice = slice(None)) -> Tensor:
        """(…, inputs) -> (…, outputs of these rows of the matrix)."""
        if torch.is_grad_enabled() or x.dtype != torch.float32 or torch.is_autocast_enabled("cpu"):
            return super().forward(x, rows)
        weight = self.weight  # once, because looking up a parameter takes a microsecond
        version = weight.data_ptr(), 0 if weight.is_inference() else weight._version
        packed = self._packed.get((rows.start, rows.stop))
        if packed is None or packed.version != version:
            packed = _Packed(weight[rows], None if self.bias is None else self.bias[rows], version)
            self._packed[rows.start, rows.stop] = packed
        return packed.multiply(x)


class _Packed:
    """A weight (out, in) in several layouts, and its bias (out,) or None."""

    def __init__(self, weight: Tensor, bias: Tensor | None, version: tuple[int, int]) -> None:
        self.version, self.weight, self.bias = version, weight, bias
        size_out, self.size_in = weight.shape
        self.unpacked_rows = max(FEW_ROWS, MIN_PRODUCTS // weight.numel())
        self.transposed = weight.t().contiguous().t() if HAS_FAST_MKL or size_out > self.size_in else weight
        self.layout = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), TYPICAL_ROWS)

    def multiply(self, x: Tensor) -> Tensor:
        """(…, in) -> (…, out)."""
        rows = x.numel() // self.size_in
        if rows <= self.unpacked_rows:
            return F.linear(x, self.transposed if rows <= FEW_ROWS else self.weight, self.bias)
        if missing := rounded_rows(rows) - rows:
            padded = F.pad(x.reshape(rows, self.size_in), (0, 0, 0, missing))
            return self._product(padded)[:rows].view(*x.shape[:-1], -1)
        return self._product(x)

    def _product(self, x: Tensor) -> Tensor:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.layout, self.bias, "none", [], "")
        return product


class _PackedRows(dict[tuple[int | None, int | None], _Packed]):
    """By the first and the last row. The layouts are not copied with a model, whose weights will be others."""

    def __deepcopy__(self, memo: Any) -> _PackedRows:
        return _PackedRows()


def rounded_rows(rows: int) -> int:
    """The number of rows rounded up to one of few values, because oneDNN compiles a kernel for each."""
    for limit, multiple in ((EXACT_ROWS, 1), (256, 8), (1024, 16)):
        if rows <= limit:
            return -(-rows // multiple) * multiple
    return -(-rows // 128) * 128
