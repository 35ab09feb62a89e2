"""The equations in NumPy = our attention step by step = torch's fused attention."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.model.attention import ATTENTION, FusedAttention, MultiHeadAttention, ScaledDotProductAttention
from dragoman.model.masks import causal_mask, padding_mask
from dragoman.model.positions import RotaryPositions
from dragoman.reference import attention as reference

BATCH, TARGET, SOURCE, D_MODEL, HEADS = 3, 5, 7, 12, 3
close = torch.testing.assert_close


def build(implementation: str, qkv_bias: bool) -> MultiHeadAttention:
    torch.manual_seed(1)
    core = ATTENTION[implementation]()
    return MultiHeadAttention(D_MODEL, HEADS, qkv_bias=qkv_bias, core=core).double()


def projections(layer: MultiHeadAttention) -> reference.Projections:
    """The reference's maps, whose weights are the transposes of torch's."""
    weights = layer.qkv.weight.detach().numpy().reshape(3, D_MODEL, D_MODEL)
    biases = np.zeros((3, D_MODEL)) if layer.qkv.bias is None else layer.qkv.bias.detach().numpy().reshape(3, D_MODEL)
    q, k, v = (reference.Linear(weight.T, bias) for weight, bias in zip(weights, biases, strict=True))
    output = reference.Linear(layer.output.weight.detach().numpy().T, layer.output.bias.detach().numpy())
    return reference.Projections(q, k, v, output)


def inputs(*shape: int) -> Tensor:
    return torch.randn(*shape, D_MODEL, dtype=torch.float64, generator=torch.Generator().manual_seed(shape[1]))


def padding(length: int) -> Tensor:
    """The mask of sentences that are 2, 3 and all tokens long."""
    real = torch.arange(length) < torch.tensor([2, 3, length])[:, None]
    return padding_mask(real.long(), pad=0)


def masks(kind: str, length: int) -> Tensor | None:
    causal = causal_mask(length, torch.device("cpu"))
    return {"none": None, "padding": padding(length), "causal": causal, "both": causal & padding(length)}[kind]


@pytest.mark.parametrize("qkv_bias", [True, False])
@pytest.mark.parametrize("implementation", ["explicit", "fused", "auto"])
@pytest.mark.parametrize("mask_kind", ["none", "padding", "causal", "both"])
def test_self_attention_is_that_of_the_reference(mask_kind: str, implementation: str, qkv_bias: bool) -> None:
    layer, x, mask = build(implementation, qkv_bias), inputs(BATCH, TARGET), masks(mask_kind, TARGET)
    numpy_mask = None if mask is None else mask.numpy()
    theirs, _ = reference.multi_head_attention(x.numpy(), x.numpy(), projections(layer), HEADS, numpy_mask)
    close(layer(x, mask), torch.from_numpy(theirs))


@pytest.mark.parametrize("qkv_bias", [True, False])
@pytest.mark.parametrize("implementation", ["explicit", "fused", "auto"])
@pytest.mark.parametrize("mask_kind", ["none", "padding"])
def test_attention_to_a_memory_is_that_of_the_reference(mask_kind: str, implementation: str, qkv_bias: bool) -> None:
    layer, x, memory = build(implementation, qkv_bias), inputs(BATCH, TARGET), inputs(BATCH, SOURCE)
    mask = masks(mask_kind, SOURCE)
    numpy_mask = None if mask is None else mask.numpy()
    theirs, _ = reference.multi_head_attention(x.numpy(), memory.numpy(), projections(layer), HEADS, numpy_mask)
    close(layer(x, mask, memory=memory), torch.from_numpy(theirs))


@pytest.mark.parametrize("mask_kind", ["none", "both"])
def test_fused_and_explicit_attention_have_the_same_gradients(mask_kind: str) -> None:
    rotation = RotaryPositions(TARGET, D_MODEL, HEADS).rotation(torch.arange(TARGET))

    def gradients(implementation: str) -> list[Tensor]:
        layer, x = build(implementation, qkv_bias=True), inputs(BATCH, TARGET).requires_grad_()
        (layer(x, masks(mask_kind, TARGET), rotation) ** 2).sum().backward()
        return [gradient for each in (x, *layer.parameters()) if (gradient := each.grad) is not None]

    explicit, fused = gradients("explicit"), gradients("fused")
    assert len(explicit) == 5
    close(explicit, fused)


def test_float32_loses_little() -> None:
    q, k, v = (torch.randn(2, HEADS, length, 4, dtype=torch.float64) for length in (TARGET, SOURCE, SOURCE))
    exact = ScaledDotProductAttention()(q, k, v)
    for core in (ScaledDotProductAttention(), FusedAttention()):
        close(core(q.float(), k.float(), v.float()).double(), exact, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", [ScaledDotProductAttention, FusedAttention])
def test_dropped_attention_weights_keep_their_mean(kind: type[ScaledDotProductAttention]) -> None:
    q, k = torch.randn(1, 1, 500, 4), torch.randn(1, 1, 60, 4)
    torch.manual_seed(4)
    mixed = kind(0.3).train()(q, k, torch.ones(1, 1, 60, 1))  # each the sum of its weights: 1 without dropout
    assert mixed.std() > 0.01
    assert abs(mixed.mean().item() - 1) < 5 * mixed.std().item() / 500**0.5 + 0.005
