"""An accelerated model has the same parameters and computes the same."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny_models import VARIANTS, padded_source, random_ids, tiny_model
from torch import Tensor, nn

from dragoman.kernels import KERNELS, accelerate, accelerated, linear
from dragoman.kernels.dropout import ByteDropout
from dragoman.kernels.linear import OneDNNLinear, PrepackedLinear, UnslicedLinear
from dragoman.kernels.operators import HAS_ONEDNN_LINEAR
from dragoman.kernels.unpadded import UnpaddedAttention
from dragoman.kernels.varlen import FusedVarlenAttention, VarlenAttention
from dragoman.model.transformer import Transformer

close = torch.testing.assert_close
SOURCE, TARGET = padded_source(6, 4), random_ids(2, 5)
TORCH: dict[str, Any] = {
    "implementation": "torch",
    "dropout": 0.1,
    "attention_dropout": 0.1,
    "activation_dropout": 0.1,
}


def values_and_gradients(model: Transformer) -> tuple[Tensor, dict[str, Tensor]]:
    logits = model(SOURCE, TARGET)
    model.zero_grad()
    logits.square().sum().backward()
    return logits.detach(), {name: each.grad for name, each in model.named_parameters() if each.grad is not None}


@pytest.mark.parametrize("device_type", ["cpu", "cuda"])
@pytest.mark.parametrize("options", [*VARIANTS, {"attention": "fused"}, TORCH], ids=str)
def test_values_and_gradients_are_the_same(
    options: dict[str, Any], device_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "MIN_ONEDNN_INPUT", 1)  # let oneDNN compute these small products too
    model = tiny_model(**options).float()
    expected = values_and_gradients(model)
    accelerate(model, device_type=device_type)
    close(values_and_gradients(model), expected, rtol=1e-4, atol=1e-4)


def test_parameters_are_shared_and_keep_their_names() -> None:
    model = tiny_model()
    faster = accelerated(model)
    ours, theirs = dict(model.named_parameters()), dict(faster.named_parameters())
    assert list(ours) == list(theirs)
    assert all(ours[name] is theirs[name] for name in ours)
    assert not any(isinstance(module, OneDNNLinear) for module in model.modules()), "the model itself is unchanged"


def test_nothing_is_drawn_at_random() -> None:
    state = torch.get_rng_state()
    accelerate(tiny_model())
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("training", [True, False])
def test_each_kernel_can_be_left_out(training: bool) -> None:
    """In evaluation mode, prepacked weights replace the linear maps of training."""
    kinds: dict[str, type] = {"attention": VarlenAttention, "dropout": ByteDropout}
    kinds |= {"linear": OneDNNLinear} if training or not HAS_ONEDNN_LINEAR else {"prepacked": PrepackedLinear}
    assert KERNELS.keys() == kinds.keys() | {"linear", "prepacked"}
    for left_out, kind in kinds.items():
        model = tiny_model().train(training)
        accelerate(model, KERNELS.keys() - {left_out})
        used = {type(module) for module in model.modules()}
        assert kind not in used
        assert {other for name, other in kinds.items() if name != left_out} <= used


def test_each_kernel_for_a_gpu_can_be_left_out() -> None:
    kinds = {"attention": UnpaddedAttention, "linear": UnslicedLinear}
    for left_out, kind in kinds.items():
        model = tiny_model()
        accelerate(model, KERNELS.keys() - {left_out}, device_type="cuda")
        used = {type(module) for module in model.modules()}
        assert kind not in used
        assert {other for name, other in kinds.items() if name != left_out} <= used
        assert not {VarlenAttention, FusedVarlenAttention, OneDNNLinear, ByteDropout} & used


def test_only_a_model_for_a_gpu_switches_the_attention_of_cudnn_off() -> None:
    for device_type, used in (("cpu", True), ("cuda", False)):
        torch.backends.cuda.enable_cudnn_sdp(True)
        accelerate(tiny_model(), device_type=device_type)
        assert torch.backends.cuda.cudnn_sdp_enabled() == used  # type: ignore[no-untyped-call]


def test_accelerating_twice_is_accelerating_once() -> None:
    model = tiny_model()
    accelerate(model)
    modules = list(model.modules())
    accelerate(model)
    assert list(model.modules()) == modules


def test_the_setting_for_attention_is_respected() -> None:
    model = tiny_model(attention="fused")
    accelerate(model)
    assert any(isinstance(module, FusedVarlenAttention) for module in model.modules())
    assert not any(isinstance(module, VarlenAttention) for module in model.modules())


def test_modules_in_several_places_are_replaced_by_one() -> None:
    model: Any = tiny_model(**TORCH).train()
    accelerate(model)
    assert model.theirs.encoder.layers[0].linear1 is model.encoder[0].feed_forward.inner
    assert isinstance(model.encoder[0].feed_forward.inner, OneDNNLinear)


def test_training_and_evaluation_mode_are_kept() -> None:
    for training in (True, False):
        model = tiny_model().train(training)
        accelerate(model)
        assert all(module.training == training for module in model.modules())
    assert isinstance(model.dropout, nn.Dropout)


def test_copy_is_in_evaluation_mode_and_shares_parameters() -> None:
    model = tiny_model(dropout=0.5).train()
    copy = accelerated(model)
    assert model.training
    assert not copy.training
    assert all(one is other for one, other in zip(model.parameters(), copy.parameters(), strict=True))
