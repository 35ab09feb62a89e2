"""Learning rate schedules, and optimizers: Adam, AdamW and Muon."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache, reduce
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.model.positions import LearnedPositions
from dragoman.settings import Training
from dragoman.system.device import compute_dtype

Schedule = Callable[[int, float, float], float]
"""(step from 1, warm-up steps, fraction of the budget spent) -> factor of the learning rate after the warm-up."""


def _constant(step: int, warmup: float, spent: float) -> float:
    return 1.0


def _inverse_sqrt(step: int, warmup: float, spent: float) -> float:
    return math.sqrt(warmup / max(step, warmup))


def _cosine(step: int, warmup: float, spent: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * spent))


def _linear(step: int, warmup: float, spent: float) -> float:
    return 1.0 - spent


SCHEDULES: dict[str, Schedule] = {
    "constant": _constant,
    "inverse_sqrt": _inverse_sqrt,
    "cosine": _cosine,
    "linear": _linear,
}


def learning_rate(settings: Training, d_model: int, step: int, spent: float) -> float:
    """The learning rate of a step.

    Args:
        settings: Peak, schedule and warm-up.
        d_model: Width of the model, which scales noam.
        step: Number of the step, from 1.
        spent: Fraction of the budget spent before it, 0 to 1.
    """
    warmup = max(settings.warmup_steps, 1)
    if settings.schedule == "noam":  # Vaswani et al. 2017, eq. 3
        return float(settings.learning_rate * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
    rising = min(1.0, step / warmup)
    start, end = settings.schedule_part
    done = start + (end - start) * min(spent, 1.0)
    return settings.learning_rate * rising * SCHEDULES[settings.schedule](step, warmup, done)


BLOCK_ROWS = 64
"""Rows of a block, at most."""

MOMENTUM = 0.95
UPDATE_SIZE = 0.07
"""Root mean square of an update of a square block, in learning rates.

With 0.2 (Liu et al. 2025), updates are about as large as those of Adam. They are a third of that, because embeddings,
biases and norms, which Adam updates, learn best with three times the rate of the matrices.
"""

_MIN_BOUND = 1e-16  # smaller ones are not computed exactly, because fourth powers of the numbers are added up
_ITERATIONS = 2  # whole matrices need 5; the singular values of blocks of rows differ less
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the polynomial of Jordan et al. 2024


class Muon(torch.optim.AdamW):
    """Muon for matrices, AdamW for other parameters, with the same learning rate.

    Args:
        matrices: The parameters with two dimensions that are updated with an orthogonalized momentum.
        groups: The other parameters, as groups of AdamW.
        weight_decay: Weight decay of `matrices`.
        dtype: The arithmetic of the orthogonalization: float32, or bfloat16, which is precise enough.
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
        shapes: dict[tuple[int, int], list[tuple[nn.Parameter, Tensor]]] = defaultdict(list)
        for parameter in matrices["params"]:
            if parameter.grad is not None:
                tall = _tall(parameter)
                shapes[_block_rows(len(tall)), tall.shape[1]].append((parameter, parameter.grad))
                parameter.grad = None  # so that AdamW leaves it as it is
        for shape, parameters in shapes.items():
            counts = [math.ceil(len(_tall(parameter)) / shape[0]) for parameter, _ in parameters]
            updates = torch.empty(sum(counts), *shape, dtype=self._dtype, device=parameters[0][0].device)
            for (parameter, gradient), update in zip(parameters, torch.split(updates, counts), strict=True):
                update.copy_(_blocks(self._direction(parameter, gradient), shape[0]))
            updates = orthogonalize(updates)
            for (parameter, _), update in zip(parameters, torch.split(updates, counts), strict=True):
                parameter.mul_(1 - matrices["lr"] * matrices["weight_decay"])
                tall = _tall(parameter)
                tall.add_(update.flatten(0, 1)[: len(tall)], alpha=-matrices["lr"] * UPDATE_SIZE * max(shape) ** 0.5)
        super().step(closure)

    def __setstate__(self, state: dict[str, Any]) -> None:
        torch.optim.Optimizer.__setstate__(self, state)  # that of AdamW expects its moments for all parameters

    def _direction(self, parameter: nn.Parameter, gradient: Tensor) -> Tensor:
        """The gradient with Nesterov momentum, in the memory of the gradient."""
        state = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(parameter)
        return gradient.lerp_(state["momentum"].lerp_(gradient, 1 - MOMENTUM), MOMENTUM)


def orthogonalize(blocks: Tensor) -> Tensor:
    """Matrices with the singular vectors of the given ones, and singular values of about 1.

    Each iteration multiplies a block from the left by a polynomial of its square. The polynomials are multiplied first,
    because they are smaller than the blocks. The iterations need singular values of at most 1: blocks are divided by
    the root of the Frobenius norm of their square, which is at least their largest singular value. In well-conditioned
    blocks, most singular values are 0.7 to 1.2 at the end. Blocks of extremely small numbers remain small.

    Args:
        blocks: [count, rows, columns], with rows <= columns for speed; float32, or bfloat16, which is precise enough.
    """
    first, third, fifth = _COEFFICIENTS
    squares = blocks @ blocks.mT
    bounds: Tensor = torch.linalg.vector_norm(squares, dim=(1, 2), keepdim=True, dtype=torch.float32)
    bounds.clamp_(min=_MIN_BOUND)
    squares = squares * bounds.reciprocal().to(blocks.dtype)
    polynomials: list[Tensor] = []
    for _ in range(_ITERATIONS):
        if polynomials:
            squares = polynomials[-1] @ squares @ polynomials[-1]
        polynomials.append(torch.baddbmm(squares, squares, squares, beta=third, alpha=fifth))
        polynomials[-1].diagonal(dim1=1, dim2=2).add_(first)
    return (reduce(torch.matmul, polynomials) * bounds.rsqrt().to(blocks.dtype)) @ blocks


def _tall(matrix: Tensor) -> Tensor:
    """A view of a matrix, transposed if it has fewer rows than columns."""
    return matrix if len(matrix) >= matrix.shape[1] else matrix.mT


def _blocks(matrix: Tensor, rows: int) -> Tensor:
    """The rows of a tall matrix in blocks, [count, rows, columns]; rows of zeros at the end, which remain zero."""
    tall = _tall(matrix)
    if missing := -len(tall) % rows:
        tall = F.pad(tall, (0, 0, 0, missing))
    return tall.view(-1, rows, tall.shape[1])


@cache
def _block_rows(rows: int) -> int:
    """The rows of each block: a divisor if there is one of a good size, otherwise as many as fill equal blocks best."""
    divisor = max(count for count in range(1, BLOCK_ROWS + 1) if rows % count == 0)
    return divisor if divisor >= min(rows, BLOCK_ROWS // 2) else math.ceil(rows / math.ceil(rows / BLOCK_ROWS))


Groups = list[dict[str, Any]]


def _adam(groups: Groups, constants: dict[str, Any], model: nn.Module, dtype: torch.dtype) -> torch.optim.Optimizer:
    return torch.optim.Adam(groups, **constants)


def _adamw(groups: Groups, constants: dict[str, Any], model: nn.Module, dtype: torch.dtype) -> torch.optim.Optimizer:
    return torch.optim.AdamW(groups, **constants)


def _muon(groups: Groups, constants: dict[str, Any], model: nn.Module, dtype: torch.dtype) -> torch.optim.Optimizer:
    """Muon for the matrices of the layers; tables of embeddings, of which a step uses a few rows, are left to AdamW."""
    tables = [each.weight for each in model.modules() if isinstance(each, nn.Embedding)]
    tables += [each.table for each in model.modules() if isinstance(each, LearnedPositions)]
    looked_up = {id(each) for each in (*tables, model.get_parameter("output.weight"))}
    matrices, others = groups
    parameters = matrices["params"]
    orthogonalized = [each for each in parameters if id(each) not in looked_up]
    rest = {**matrices, "params": [each for each in parameters if id(each) in looked_up]}
    if dtype == torch.float16:
        dtype = torch.float32  # float16 cannot represent the squares of small gradients
    return Muon(orthogonalized, [rest, others], matrices["weight_decay"], dtype, **constants)


OPTIMIZERS = {"adam": _adam, "adamw": _adamw, "muon": _muon}
"""(matrices and other parameters as groups, constants of Adam, model, dtype of the arithmetic) -> optimizer."""


def build_optimizer(model: nn.Module, settings: Training) -> torch.optim.Optimizer:
    """The optimizer of all parameters; weight decay applies to matrices only."""
    parameters = list(model.parameters())
    groups = [
        {"params": [each for each in parameters if each.dim() > 1], "weight_decay": settings.weight_decay},
        {"params": [each for each in parameters if each.dim() <= 1], "weight_decay": 0.0},
    ]
    constants = {"lr": settings.learning_rate, "betas": settings.betas, "eps": settings.epsilon, "fused": True}
    dtype = compute_dtype(settings.precision, parameters[0].device)
    return OPTIMIZERS[settings.optimizer](groups, constants, model, dtype)
