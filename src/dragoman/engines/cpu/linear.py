"""Linear maps with prepacked weights, which are in oneDNN's internal layout, for few rows at a time."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.kernels.operators import HAS_FAST_MKL

TYPICAL_ROWS = 64
"""The number of rows for which oneDNN chooses the layout of weights."""

FEW_ROWS = 64 if HAS_FAST_MKL else 1
"""Up to this many rows, torch's linear map is faster than oneDNN's: on Intel, MKL needs half of the time for 8 rows."""

EXACT_ROWS = 8
"""Up to this many rows, the number of rows is not rounded up."""


def rounded_rows(rows: int) -> int:
    """The number of rows rounded up to one of few values, because oneDNN compiles a kernel for each."""
    for limit, multiple in ((EXACT_ROWS, 1), (256, 8), (1024, 16)):
        if rows <= limit:
            return -(-rows // multiple) * multiple
    return -(-rows // 128) * 128


def pad_rows(x: Tensor) -> Tensor:
    """(rows, size) -> (rounded_rows(rows), size)."""
    missing = rounded_rows(x.shape[0]) - x.shape[0]
    return F.pad(x, (0, 0, 0, missing)) if missing else x


class Linear(Protocol):
    """A linear map with weights in a layout for decoding."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        """A map with a weight (out, in) and a bias (out,) or None."""

    def __call__(self, x: Tensor, activation: str = "none") -> Tensor:
        """(rows, in) -> (rows, out), after the activation 'none' or 'relu'."""
        ...

    def plus(self, x: Tensor, residual: Tensor) -> Tensor:
        """The linear map of x, (rows, in), plus the residual, (rows, out)."""
        ...


class PrepackedLinear:
    """x weight^T + bias, for a weight (out, in) and a bias (out,) or None.

    For few rows, torch is faster than oneDNN: for one row, if the longer side of the weight is contiguous; with MKL on
    Intel, if the output side is.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        weight, self._bias = weight.detach(), None if bias is None else bias.detach()
        self._prepacked = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), TYPICAL_ROWS)
        size_out, size_in = weight.shape
        by_output = HAS_FAST_MKL or size_out > size_in
        self._few_rows = weight.t().contiguous().t() if by_output else weight.contiguous()

    def __call__(self, x: Tensor, activation: str = "none") -> Tensor:
        """(rows, in) -> (rows, out), after the activation 'none' or 'relu'."""
        if x.shape[0] <= FEW_ROWS:
            y = F.linear(x, self._few_rows, self._bias)
            return y.relu_() if activation == "relu" else y
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._prepacked, self._bias, activation, [], "")
        return product

    def plus(self, x: Tensor, residual: Tensor) -> Tensor:
        """The linear map of x, (rows, in), plus the residual, (rows, out)."""
        if x.shape[0] <= FEW_ROWS:
            return F.linear(x, self._few_rows, self._bias).add_(residual)
        total: Tensor = torch.ops.mkldnn._linear_pointwise.binary(x, residual, self._prepacked, self._bias, "add")
        return total
