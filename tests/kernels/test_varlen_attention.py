"""Attention of concatenated batches: equal to attention with a dense mask, values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dragoman.kernels import operators
from dragoman.kernels.varlen import FusedVarlenAttention, VarlenAttention, VarlenMask
from dragoman.model.attention import ScaledDotProductAttention
from dragoman.model.masks import causal_mask
from dragoman.model.positions import RotaryPositions

HEADS, D_HEAD, TOKENS = 2, 4, 8
PADDED = torch.tensor([[True, True, False], [True, True, True]])[:, None]  # keys of two sentences
MEMORY = VarlenMask(((2, 2), (1, 3)), ((2, 3), (1, 1)), (PADDED, None))  # 7 queries, 7 keys
OWN = VarlenMask(((2, 2), (1, 3)), ((2, 2), (1, 3)), (None, causal_mask(3, torch.device("cpu"))))
REAL = 7  # of 8 tokens
close = torch.testing.assert_close


def heads() -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, (1, heads, tokens, d_head), with one padded token."""
    torch.manual_seed(1)
    q, k, v = (torch.randn(1, HEADS, TOKENS, D_HEAD, dtype=torch.float64, requires_grad=True) for _ in range(3))
    return q, k, v


def rotary() -> Tensor:
    """Rotary frequencies of sentences of 2, 2 and 3 tokens, and of a padded one, (tokens, d_head / 2, 2)."""
    rotation = RotaryPositions(4, D_HEAD, 1).double().rotation(torch.tensor([0, 1, 0, 1, 0, 1, 2, 0]))
    assert rotation is not None
    return rotation


@pytest.mark.parametrize("kind", [VarlenAttention, FusedVarlenAttention])
@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("mask", [MEMORY, OWN], ids=["memory", "own"])
def test_values_and_gradients_equal_attention_with_a_dense_mask(
    mask: VarlenMask, rotated: bool, kind: type[ScaledDotProductAttention]
) -> None:
    rotation = rotary() if rotated and mask is OWN else None
    tensors = heads()
    ours = kind()(*tensors, mask, rotation)
    theirs = ScaledDotProductAttention()(*tensors, mask.dense(TOKENS, TOKENS), rotation)
    assert ours.shape == theirs.shape
    close(ours[:, :, :REAL], theirs[:, :, :REAL])
    assert not ours[:, :, REAL:].any()
    weights = torch.randn(1, HEADS, REAL, D_HEAD, dtype=torch.float64)
    gradients = (torch.autograd.grad((each[:, :, :REAL] * weights).sum(), tensors) for each in (ours, theirs))
    for our, their in zip(*gradients, strict=True):
        close(our, their)


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("rotated", [False, True])
def test_gradients_equal_finite_differences(rotated: bool, dropout: float) -> None:
    attention = VarlenAttention(dropout).train()

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        torch.manual_seed(2)  # the same weights are dropped each time
        return attention(q, k, v, OWN, rotary() if rotated else None)  # type: ignore[no-any-return]

    assert torch.autograd.gradcheck(run, heads(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", [VarlenAttention, FusedVarlenAttention])
def test_dropout_acts_in_training_only_and_keeps_the_mean(kind: type[ScaledDotProductAttention]) -> None:
    q, k, v = heads()
    attention, plain = kind(0.5), kind()(q, k, v, OWN)
    assert torch.equal(attention.eval()(q, k, v, OWN), plain)
    assert torch.equal(kind(0.0).train()(q, k, v, OWN), plain)
    attention.train()
    outputs = torch.stack([attention(q, k, v, OWN) for _ in range(4000)])
    deviation = outputs.std(0)
    assert (deviation[:, :, :REAL] > 0.1 * plain[:, :, :REAL].abs()).all()
    close(outputs.mean(0), plain, atol=5 * deviation.max().item() / 4000**0.5, rtol=0)


def test_without_torchs_private_operator_gradients_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def gradients() -> tuple[Tensor, ...]:
        tensors = heads()
        return torch.autograd.grad(VarlenAttention()(*tensors, OWN).square().sum(), tensors)

    fast = gradients()
    monkeypatch.setattr(operators, "HAS_SOFTMAX_BACKWARD", False)
    close(gradients(), fast)


@pytest.mark.parametrize("mask", [None, causal_mask(TOKENS, torch.device("cpu"))], ids=["all", "causal"])
def test_other_masks_give_plain_attention(mask: Tensor | None) -> None:
    tensors = heads()
    for kind in (VarlenAttention, FusedVarlenAttention):
        for rotation in (None, rotary()):
            close(kind()(*tensors, mask, rotation), ScaledDotProductAttention()(*tensors, mask, rotation))
    wide = ScaledDotProductAttention()(*(each.bfloat16().float() for each in tensors), mask)
    narrow = VarlenAttention()(*(each.bfloat16() for each in tensors), mask)
    assert narrow.dtype == torch.bfloat16
    assert torch.equal(narrow, wide.bfloat16()), "computed in float32"
