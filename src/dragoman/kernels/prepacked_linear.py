"""Linear maps with prepacked weights, for translation on a CPU.

A decoding step multiplies few rows with every weight of the decoder, so most of its time goes into reading weights.
oneDNN reads them faster in its own layout. The plain equivalent is `nn.Linear`, to which `OneDNNLinear` corresponds in
training, where weights change in every step.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.kernels.linear import OneDNNLinear
from dragoman.kernels.operators import HAS_FAST_MKL

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
