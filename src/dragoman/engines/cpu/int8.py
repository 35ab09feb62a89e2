"""Linear maps in int8: weights and inputs are rounded to integers, whose products are exact and four times faster.

Sums of products are exact, too; those above 2^24, which are rare, are rounded when they become float32.
"""

from __future__ import annotations

import torch
from torch import Tensor

LARGEST = 127
"""Values are rounded to -127, …, 127 times a scale; -128 is not used."""

SMALLEST_SCALE = torch.tensor(1e-30)
"""Added to each scale, because that of a row of zeros would divide by zero; a tensor, to save an operation."""

OFFSET = 128
"""Added to inputs for oneDNN, which multiplies unsigned integers with signed ones, and subtracts what this adds."""

LARGE_WEIGHT, LARGE_OUTPUT = 2**19, 2**16
"""From this many numbers in the weight, or in the output, oneDNN's operator is faster in spite of its longer start."""


class Int8Linear:
    """x weight^T + bias in int8, for a weight (out, in) and a bias (out,) or None.

    Each row of the weight and each row of x has its own scale, so a row's result depends on no other row.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        quantized, scales = _quantize(weight.detach().contiguous())
        self._weight = quantized.t() if quantized.numel() < LARGE_WEIGHT else None
        self._prepacked = torch.ops.onednn.qlinear_prepack(quantized, None)
        self._scales, self._zero_points = scales[:, 0], torch.zeros(len(weight), dtype=torch.int64)
        self._bias = None if bias is None else bias.detach()

    def __call__(self, x: Tensor, activation: str = "none") -> Tensor:
        """(rows, in) -> (rows, out), after the activation 'none' or 'relu'."""
        product, scales = self._product(x)
        y = product.mul_(scales) if self._bias is None else torch.addcmul(self._bias, product, scales, out=product)
        return y.relu_() if activation == "relu" else y

    def plus(self, x: Tensor, residual: Tensor) -> Tensor:
        """The linear map of x, (rows, in), plus the residual, (rows, out)."""
        product, scales = self._product(x)
        y = torch.addcmul(residual, product, scales, out=product)
        return y if self._bias is None else y.add_(self._bias)

    def _product(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The product without bias, (rows, out), which must still be multiplied by the scales of x, (rows, 1).

        Both operators compute the same numbers, except the last bit of sums above 2^24.
        """
        quantized, scales = _quantize(x)
        if self._weight is not None and x.shape[0] * self._weight.shape[1] < LARGE_OUTPUT:
            return torch._int_mm(quantized, self._weight).float().mul_(self._scales), scales
        unsigned = quantized.view(torch.uint8).bitwise_xor_(OFFSET)  # this adds 128: only the sign bit changes
        weight = self._prepacked, self._scales, self._zero_points
        product: Tensor = torch.ops.onednn.qlinear_pointwise(
            unsigned, 1.0, OFFSET, *weight, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return product, scales


def _quantize(x: Tensor) -> tuple[Tensor, Tensor]:
    """x in int8, (rows, size), and its scales, (rows, 1), with which it must be multiplied."""
    scales = torch.add(SMALLEST_SCALE, x.abs().amax(dim=-1, keepdim=True), alpha=1 / LARGEST)
    return torch.div(x, scales).round_().to(torch.int8), scales
