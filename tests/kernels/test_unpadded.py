"""Batches without padding give the hidden states of the padded batches, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tiny_models import PAD, VARIANTS, padded_source, tiny_model
from torch import Tensor

from dragoman.dataset.batch import Batch, unpad
from dragoman.kernels import accelerate, supports_unpadded, supports_varlen
from dragoman.kernels import unpadded as unpadded_module
from dragoman.kernels.projected_loss import plain_cross_entropy, projected_cross_entropy
from dragoman.kernels.unpadded import (
    UnpaddedAttention,
    UnpaddedBatch,
    UnpaddedMask,
    plain_unpadded_attention,
    unpadded_attention,
    unpadded_hidden,
)
from dragoman.kernels.varlen import plain_hidden
from dragoman.model.attention import ScaledDotProductAttention
from dragoman.model.positions import RotaryPositions

close = torch.testing.assert_close
HEADS, D_HEAD = 2, 8
OWN = UnpaddedMask(torch.tensor([0, 2, 3, 7]), torch.tensor([0, 2, 3, 7]), 4, 4, causal=True)
MEMORY = UnpaddedMask(torch.tensor([0, 2, 3, 7]), torch.tensor([0, 1, 5, 9]), 4, 4, causal=False)
POSITIONS = torch.tensor([0, 1, 0, 0, 1, 2, 3])
MASKS = pytest.mark.parametrize("mask", [OWN, MEMORY], ids=["own", "memory"])


def group(sources: tuple[int, ...], targets: tuple[int, ...]) -> Batch:
    """Sentences of these lengths, padded."""
    source, target = padded_source(*sources), padded_source(*targets)
    batch = Batch(source, target, target, int((source != PAD).sum()), int((target != PAD).sum()))
    return unpad(batch, PAD, PAD)


GROUPS = [group((6, 4, 1), (3, 5, 5)), group((2,), (7,))]


def real(vectors: Tensor) -> Tensor:
    """Of vectors in the order of `concatenate`, those of real target tokens."""
    ids = torch.cat([each.target_input.flatten() for each in GROUPS])
    return vectors[: len(ids)][ids != PAD]


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_hidden_states_and_gradients_are_those_of_padded_batches(options: dict[str, Any]) -> None:
    plain, faster = tiny_model(**options), tiny_model(**options)
    accelerate(faster, device_type="cuda")
    joined = UnpaddedBatch.join(GROUPS)
    assert joined is not None
    sources, targets = [each.source for each in GROUPS], [each.target_input for each in GROUPS]
    hidden = unpadded_hidden(faster, joined), real(plain_hidden(plain, sources, targets))
    close(*hidden)
    gradients = (
        torch.autograd.grad(each.square().sum(), list(model.parameters()), allow_unused=True)
        for each, model in zip(hidden, (faster, plain), strict=True)
    )
    close(*gradients)
    assert torch.equal(
        joined.target_output, torch.cat([each.target_output[each.target_output != PAD] for each in GROUPS])
    )


def test_padded_groups_cannot_be_joined() -> None:
    padded = Batch(padded_source(2), padded_source(3), padded_source(3), 2, 3)
    assert UnpaddedBatch.join([*GROUPS, padded]) is None


def test_only_modules_for_gpus_support_batches_without_padding() -> None:
    for device_type, unpadded in (("cuda", True), ("cpu", False)):
        model = tiny_model()
        accelerate(model, device_type=device_type)
        assert supports_unpadded(model) == unpadded
        assert supports_varlen(model) != unpadded
    explicit = tiny_model(attention="explicit")
    accelerate(explicit, device_type="cuda")
    assert not supports_unpadded(explicit)
    assert not supports_unpadded(tiny_model())


def heads(
    mask: UnpaddedMask, dtype: torch.dtype = torch.float64, device: str = "cpu", d_head: int = D_HEAD
) -> list[Tensor]:
    """Queries, keys and values, (tokens, heads, d_head)."""
    generator = torch.Generator().manual_seed(1)
    lengths = [int(offsets[-1]) for offsets in (mask.query_offsets, mask.key_offsets, mask.key_offsets)]
    numbers = [torch.randn(length, HEADS, d_head, generator=generator) for length in lengths]
    return [each.to(device, dtype).requires_grad_() for each in numbers]


@MASKS
@pytest.mark.parametrize("rotated", [False, True])
def test_attention_and_gradients_are_those_of_a_dense_mask(mask: UnpaddedMask, rotated: bool) -> None:
    rotation = None
    if rotated and mask is OWN:
        rotation = RotaryPositions(4, D_HEAD, 1).double().rotation(POSITIONS)
    tensors = heads(mask)
    batched = [each.transpose(0, 1)[None] for each in tensors]  # (1, heads, tokens, d_head)
    ours = UnpaddedAttention()(*batched, mask, rotation)
    theirs = ScaledDotProductAttention()(*batched, mask.dense(), rotation)
    close(ours, theirs)
    weights = torch.randn(ours.shape, dtype=torch.float64)
    close(*(torch.autograd.grad((each * weights).sum(), tensors) for each in (ours, theirs)))
    half = UnpaddedAttention()(*(each.bfloat16() for each in batched), mask, rotation)
    assert half.dtype == torch.bfloat16, "rotated in the type of the rotation, but returned in that of the queries"
    close(half.double(), ours, rtol=0.1, atol=0.1)


def test_attention_weights_are_dropped_in_training_only() -> None:
    batched = [each.transpose(0, 1)[None] for each in heads(OWN)]
    attention = UnpaddedAttention(0.5)
    assert not torch.equal(attention.train()(*batched, OWN), attention(*batched, OWN))
    close(attention.eval()(*batched, OWN), UnpaddedAttention()(*batched, OWN))


@pytest.mark.parametrize("mask", [None, torch.ones(7, 7, dtype=torch.bool).tril()], ids=["all", "causal"])
def test_other_masks_give_plain_attention(mask: Tensor | None) -> None:
    batched = [each.transpose(0, 1)[None] for each in heads(OWN)]
    close(UnpaddedAttention()(*batched, mask), ScaledDotProductAttention()(*batched, mask))


@pytest.mark.parametrize(
    ("dtype", "d_head", "flash", "kernel"),
    [
        (torch.bfloat16, 8, True, "_flash_attention"),
        (torch.float16, 192, True, "_flash_attention"),
        (torch.bfloat16, 12, True, "_flash_attention"),
        (torch.bfloat16, 8, False, "_efficient_attention"),
        (torch.bfloat16, 200, True, "_efficient_attention"),
        (torch.float32, 12, True, "_efficient_attention"),
    ],
    ids=str,
)
def test_the_kernel_that_fits_is_called_with_aligned_heads(
    dtype: torch.dtype, d_head: int, flash: bool, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With plain attention in place of the kernels, on a CPU."""
    called: list[str] = []

    def plain(name: str) -> Callable[..., Tensor]:
        def attend(q: Tensor, *others: Any) -> Tensor:
            called.append(name)
            assert q.shape[-1] % 8 == 0
            return plain_unpadded_attention(q, *others)

        return attend

    monkeypatch.setattr(unpadded_module, "has_flash_attention", lambda device: flash)
    for name in ("_flash_attention", "_efficient_attention"):
        monkeypatch.setattr(unpadded_module, name, plain(name))
    q, k, v = (each.to(dtype) for each in heads(OWN, d_head=d_head))
    mixed = unpadded_module._attention_of_aligned_heads(q, k, v, OWN, 0.0)
    assert called == [kernel]
    tolerance = 1e-5 if dtype == torch.float32 else 0.05
    expected = plain_unpadded_attention(q.double(), k.double(), v.double(), OWN)
    close(mixed.double(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("d_head", [8, 12, 200])
@pytest.mark.parametrize("flash", [False, True])
def test_heads_of_any_size_fit_the_kernels(flash: bool, d_head: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpadded_module, "has_flash_attention", lambda device: flash)
    q, k, v = heads(MEMORY, torch.bfloat16, "meta", d_head)  # shapes without numbers
    mask = UnpaddedMask(MEMORY.query_offsets.to("meta"), MEMORY.key_offsets.to("meta"), 4, 4, causal=False)
    mixed = unpadded_attention(q, k, v, mask)
    assert mixed.shape == q.shape
    gradients = torch.autograd.grad(mixed.sum(), (q, k, v))
    assert [each.shape for each in gradients] == [q.shape, k.shape, v.shape]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("d_head", [8, 12, 64, 200])
@MASKS
def test_kernels_on_a_gpu_give_plain_attention(mask: UnpaddedMask, d_head: int, dtype: torch.dtype) -> None:
    queries, keys = (each.to("cuda", torch.int32) for each in (mask.query_offsets, mask.key_offsets))
    on_gpu = UnpaddedMask(queries, keys, mask.longest_query, mask.longest_key, mask.causal)
    (q, k, v), (plain_q, plain_k, plain_v) = heads(mask, dtype, "cuda", d_head), heads(mask, d_head=d_head)
    mixed = unpadded_attention(q, k, v, on_gpu)
    expected = plain_unpadded_attention(plain_q, plain_k, plain_v, mask)
    tolerance = 1e-4 if dtype == torch.float32 else 0.05
    close(mixed.double().cpu(), expected, rtol=tolerance, atol=tolerance)
    ours = torch.autograd.grad(mixed.square().sum(), (q, k, v))
    theirs = torch.autograd.grad(expected.square().sum(), (plain_q, plain_k, plain_v))
    for our, their in zip(ours, theirs, strict=True):
        close(our.double().cpu(), their, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("bias", [False, True])
def test_loss_without_padding_is_that_of_padded_targets(bias: bool) -> None:
    torch.manual_seed(1)
    hidden, weight = torch.randn(7, 4, requires_grad=True), torch.randn(9, 4, requires_grad=True)
    offset = torch.randn(9, requires_grad=True) if bias else None
    targets, keep = torch.tensor([3, 1, 4, 1, 5, 8, 1]), torch.tensor([0, 2, 4, 5])
    inputs = [each for each in (hidden, weight, offset) if each is not None]
    padded = projected_cross_entropy(hidden, weight, offset, targets, 0.1, ignore=1)
    for function in (projected_cross_entropy, plain_cross_entropy):
        losses = function(hidden[keep], weight, offset, targets[keep], 0.1, None)
        close(losses, padded)
        close(torch.autograd.grad(losses[0], inputs), torch.autograd.grad(padded[0], inputs, retain_graph=True))
