"""Attention by blocks has the gradient of what it computes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dragoman.kernels.varlen_attention import attend_blocks
from dragoman.model.attention import attend
from dragoman.model.masks import Blocks, causal_mask
from dragoman.model.positions import rotate, turns

HEADS, D_HEAD, CELLS = 2, 4, 8
PADDED = torch.tensor([[True, True, False], [True, True, True]])[:, None]  # keys of two sentences
BLOCKS = Blocks(((2, 2), (1, 3)), ((2, 3), (1, 1)), (PADDED, None))  # 7 queries, 7 keys
OWN = Blocks(((2, 2), (1, 3)), ((2, 2), (1, 3)), (None, causal_mask(3, torch.device("cpu"))))


def heads() -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, (1, heads, cells, d_head), one cell of filler."""
    torch.manual_seed(1)
    q, k, v = (torch.randn(1, HEADS, CELLS, D_HEAD, dtype=torch.float64, requires_grad=True) for _ in range(3))
    return q, k, v


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("blocks", [BLOCKS, OWN], ids=["memory", "own"])
def test_gradients_are_those_of_finite_differences(blocks: Blocks, rotary: bool, dropout: float) -> None:
    turn = turns(torch.arange(3), D_HEAD) if rotary else None

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        torch.manual_seed(2)  # the same weights are dropped each time
        return attend_blocks(q, k, v, blocks, turn, dropout)

    assert torch.autograd.gradcheck(run, heads(), atol=1e-5, rtol=1e-4)


def test_rotary_gradients_are_those_of_rotating_first() -> None:
    q, k, v = heads()
    turn = turns(torch.tensor([0, 1, 0, 1, 0, 1, 2, 0]), D_HEAD)
    first = attend(rotate(q, turn), rotate(k, turn), v, OWN, 0.0, fused=True)
    mixed = attend_blocks(q, k, v, OWN, turns(torch.arange(3), D_HEAD), 0.0)
    torch.testing.assert_close(mixed, first, atol=1e-6, rtol=1e-5)
    theirs = torch.autograd.grad(first.square().sum(), (q, k, v))
    for ours, expected in zip(torch.autograd.grad(mixed.square().sum(), (q, k, v)), theirs, strict=True):
        torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)
