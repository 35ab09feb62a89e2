"""Muon: matrices are updated with an orthogonalized momentum (Jordan et al. 2024), everything else by AdamW.

Adam scales each weight by itself, so most of an update points in a few directions, in which all gradients agree. An
orthogonalized update has the same length in all directions. Updates are orthogonalized in blocks of rows: this is
faster than for whole matrices, and models learn faster from it. `torch.optim.Muon` orthogonalizes whole matrices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

BLOCK_ROWS = 64
"""Rows of a block, at most."""

MOMENTUM = 0.95
UPDATE_SIZE = 0.2
"""Root mean square of an update of a square block, in learning rates: about that of Adam (Liu et al. 2025)."""

_ITERATIONS = 3  # whole matrices need 5; the singular values of blocks of rows differ less
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the polynomial of Jordan et al. 2024


class Muon(torch.optim.AdamW):
    """Muon for matrices, AdamW for other parameters, with the same learning rate.

    Args:
        matrices: The parameters with two dimensions that are updated with an orthogonalized momentum.
        groups: The other parameters, as groups of AdamW.
        weight_decay: Weight decay of `matrices`.
        dtype: The arithmetic of the orthogonalization; bfloat16 is precise enough.
        settings: Other settings of AdamW.
    """

    def __init__(
        self,
        matrices: Iterable[nn.Parameter],
        groups: Iterable[dict[str, Any]],
        weight_decay: float,
        dtype: torch.dtype,
        **settings: Any,
    ) -> None:
        super().__init__([{"params": list(matrices), "weight_decay": weight_decay}, *groups], **settings)
        self._dtype = dtype
        self._step_supports_amp_scaling = False  # a step with gradients that overflow in float16 is left out

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update all parameters that have a gradient; the gradients of the matrices are deleted."""
        matrices = self.param_groups[0]
        blocks: dict[torch.Size, list[tuple[nn.Parameter, Tensor]]] = defaultdict(list)
        for parameter in matrices["params"]:
            if parameter.grad is not None:
                divided = _divide(self._direction(parameter, parameter.grad))
                blocks[divided.shape[1:]].append((parameter, divided))
                parameter.grad = None  # so that AdamW leaves it as it is
        for shape, divided_updates in blocks.items():
            orthogonal = orthogonalize(torch.cat([each for _, each in divided_updates]), self._dtype)
            updates = torch.split(orthogonal, [len(each) for _, each in divided_updates])
            for (parameter, _), update in zip(divided_updates, updates, strict=True):
                parameter.mul_(1 - matrices["lr"] * matrices["weight_decay"])
                joined = update.flatten(0, 1)
                joined = joined if joined.shape == parameter.shape else joined.mT
                parameter.add_(joined, alpha=-matrices["lr"] * UPDATE_SIZE * max(shape) ** 0.5)
        super().step(closure)

    def __setstate__(self, state: dict[str, Any]) -> None:
        torch.optim.Optimizer.__setstate__(self, state)  # that of AdamW expects its moments for all parameters

    def _direction(self, parameter: nn.Parameter, gradient: Tensor) -> Tensor:
        """The gradient with Nesterov momentum."""
        momentum = self.state[parameter].setdefault("momentum", torch.zeros_like(gradient))
        momentum.lerp_(gradient, 1 - MOMENTUM)
        return gradient.lerp(momentum, MOMENTUM)


def orthogonalize(blocks: Tensor, dtype: torch.dtype) -> Tensor:
    """Matrices with the singular vectors of the given ones, and singular values of about 1 (0.7 to 1.2).

    Args:
        blocks: [count, rows, columns], with rows <= columns for speed.
        dtype: The arithmetic of the products, and the type of the result.
    """
    first, third, fifth = _COEFFICIENTS
    blocks = (blocks / blocks.norm(dim=(1, 2), keepdim=True).clamp(min=1e-12)).to(dtype)
    for _ in range(_ITERATIONS):
        squares = blocks @ blocks.mT
        polynomial = torch.baddbmm(squares, squares, squares, beta=third, alpha=fifth)
        blocks = torch.baddbmm(blocks, polynomial, blocks, beta=first)
    return blocks


def _divide(matrix: Tensor) -> Tensor:
    """A matrix as blocks of an equal number of rows, transposed if it has fewer rows than columns."""
    tall = matrix if len(matrix) >= matrix.shape[1] else matrix.mT
    rows = max(count for count in range(1, BLOCK_ROWS + 1) if len(tall) % count == 0)
    return tall.reshape(-1, rows, tall.shape[1])
