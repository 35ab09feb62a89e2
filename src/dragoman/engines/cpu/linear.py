"""Linear maps with prepacked weights, which are in oneDNN's internal layout, for few rows at a time."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

TYPICAL_ROWS = 64
"""The number of rows for which oneDNN chooses the layout of weights."""

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

    For one row, torch is faster than oneDNN if the longer side of the weight is contiguous.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        weight, self._bias = weight.detach(), None if bias is None else bias.detach()
        self._prepacked = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), TYPICAL_ROWS)
        size_out, size_in = weight.shape
        self._one_row = weight.t().contiguous().t() if size_out > size_in else weight.contiguous()

    def __call__(self, x: Tensor, activation: str = "none") -> Tensor:
        """(rows, in) -> (rows, out), after the activation 'none' or 'relu'."""
        if x.shape[0] == 1:
            one = F.linear(x, self._one_row, self._bias)
            return one.relu_() if activation == "relu" else one
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._prepacked, self._bias, activation, [], "")
        return product

    def plus(self, x: Tensor, residual: Tensor) -> Tensor:
        """The linear map of x, (rows, in), plus the residual, (rows, out)."""
        if x.shape[0] == 1:
            return F.linear(x, self._one_row, self._bias).add_(residual)
        total: Tensor = torch.ops.mkldnn._linear_pointwise.binary(x, residual, self._prepacked, self._bias, "add")
        return total
