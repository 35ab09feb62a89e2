"""Recorded attention is the attention that was used: rows sum to 1, masked keys have 0, recording changes nothing."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from tiny_models import PAD, TINY, VARIANTS, padded_source, random_ids, tiny_model
from torch import Tensor

from dragoman.engines.decoders import PrefixDecoder
from dragoman.model.capture import KINDS, Recording, capture
from dragoman.model.transformer import Transformer

TORCH: dict[str, Any] = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
"""Both implementations can have this."""

CHOICES: list[dict[str, Any]] = [
    {"attention": attention, "norm": norm, "positions": positions}
    for attention, norm, positions in product(
        ("explicit", "fused"), ("pre", "post"), ("sinusoidal", "learned", "rotary")
    )
] + [
    {"implementation": "torch", "norm": norm, "positions": positions, **TORCH}
    for norm, positions in product(("pre", "post"), ("sinusoidal", "learned"))
]
"""Both implementations with every norm and position encoding that they have."""

every_choice = pytest.mark.parametrize(
    "options", CHOICES, ids=lambda options: "-".join(filter(str.isalpha, map(str, options.values())))
)


def recorded(model: Transformer, source: Tensor, target: Tensor) -> tuple[Tensor, Recording]:
    with torch.inference_mode(), capture(model) as maps:
        return model(source, target), maps


@every_choice
def test_shapes_rows_and_masked_cells(options: dict[str, Any]) -> None:
    source, target = padded_source(5, 3, 4), random_ids(3, 6)
    _, maps = recorded(tiny_model(**options), source, target)
    lengths = {"encoder": (5, 5), "decoder": (6, 6), "cross": (6, 5)}
    for kind in KINDS:
        weights = maps.weights(kind)
        assert weights.shape == (2, 3, 2, *lengths[kind])
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1], dtype=weights.dtype))
    for kind in KINDS[::2]:
        assert not maps.weights(kind).masked_select((source == PAD)[None, :, None, None]).any(), "padding"
    future = torch.ones(6, 6, dtype=torch.bool).triu(1)
    assert not maps.weights("decoder").masked_select(future).any()
    assert maps.weights("decoder").masked_select(~future).gt(0).all()


@every_choice
def test_recording_changes_nothing_and_ends(options: dict[str, Any]) -> None:
    model, source, target = tiny_model(**options), padded_source(5, 3, 4), random_ids(3, 6)
    with torch.inference_mode():
        before = model(source, target)
        during, maps = recorded(model, source, target)
        calls = [len(calls) for kind in KINDS for calls in maps.calls[kind]]
        assert calls == [1] * len(calls)
        torch.testing.assert_close(during, before, rtol=0, atol=1e-5)
        torch.testing.assert_close(model(source, target), before, rtol=0, atol=0)
    assert [len(calls) for kind in KINDS for calls in maps.calls[kind]] == calls, "nothing is recorded afterwards"


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_recorded_weights_mixed_the_values(options: dict[str, Any]) -> None:
    model, source, target = tiny_model(**options), padded_source(5, 3, 4), random_ids(3, 6)
    layer: Any = model.decoder[0]
    mixed: list[Tensor] = []  # (batch, target, d_model)
    handle = layer.memory_attention.output.register_forward_pre_hook(lambda _, inputs: mixed.append(inputs[0]))
    _, maps = recorded(model, source, target)
    handle.remove()
    with torch.inference_mode():
        _, values = layer.memory_attention.keys_values(model.memory(source))  # (batch, heads, source, d_head)
    torch.testing.assert_close((maps.weights("cross")[0] @ values).transpose(1, 2).flatten(2), mixed[0])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_both_implementations_have_the_same_attention(norm: str) -> None:
    source, target = padded_source(5, 3, 4), random_ids(3, 6)
    ours = recorded(tiny_model(norm=norm, **TORCH), source, target)[1]
    theirs = recorded(tiny_model(norm=norm, **TORCH | {"implementation": "torch"}), source, target)[1]
    for kind in KINDS:
        torch.testing.assert_close(theirs.weights(kind), ours.weights(kind))


@every_choice
def test_steps_with_the_cache_give_the_maps_of_the_full_pass(options: dict[str, Any]) -> None:
    model, source, target = tiny_model(**options), padded_source(5, 3, 4), random_ids(3, 6)
    _, full = recorded(model, source, target)
    with torch.inference_mode(), capture(model) as maps:
        cache = model.start(source)
        for tokens in target.unbind(dim=1):
            model.step(tokens, cache)
    for kind in KINDS:
        torch.testing.assert_close(maps.weights(kind), full.weights(kind))


@torch.inference_mode()
def test_steps_without_a_cache_are_recorded_too() -> None:
    model, source, target = tiny_model(), padded_source(5, 3), random_ids(2, 3)
    with capture(model) as maps:
        decoder = PrefixDecoder(model)
        cache = decoder.start(source)
        for tokens in target.unbind(dim=1):
            decoder.step(tokens, cache)
    assert [call.shape[2] for call in maps.calls["cross"][0]] == [1, 2, 3]


def test_other_models_are_not_recorded() -> None:
    model, other = tiny_model(), tiny_model()
    with torch.inference_mode(), capture(model) as maps:
        other(padded_source(4), random_ids(1, 3))
    assert not any(calls for kind in KINDS for calls in maps.calls[kind])


def test_recording_ends_with_an_error_too() -> None:
    model = tiny_model()
    with pytest.raises(KeyboardInterrupt), capture(model):
        raise KeyboardInterrupt
    with capture(model) as maps:
        model(padded_source(4), random_ids(1, 3))
    assert len(maps.calls["encoder"]) == TINY["encoder_layers"]


def test_weights_are_recorded_after_dropout() -> None:
    model = tiny_model(attention_dropout=0.5).train()
    torch.manual_seed(1)
    _, maps = recorded(model, padded_source(5), random_ids(1, 6))
    assert (maps.weights("encoder") == 0).any()
