"""All implementations compute the same with the same weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny_models import PAD, SIZE, TINY, padded_source, random_ids

from dragoman.engines.decoders import PrefixDecoder
from dragoman.kernels.varlen import plain_hidden
from dragoman.model.build import IMPLEMENTATIONS, build_model
from dragoman.model.transformer import Transformer
from dragoman.settings import Model

close = torch.testing.assert_close
SHARED: list[dict[str, Any]] = [
    {"norm": "post", "tie": "none", "output_bias": True},
    {"norm": "pre", "activation": "gelu", "positions": "learned", "tie": "all"},
]
"""Settings that all implementations support."""


def both(options: dict[str, Any]) -> list[Transformer]:
    """Each implementation in turn, built from one seed, with the same changes of all zeros and ones."""
    models = []
    for implementation in IMPLEMENTATIONS:
        settings = Model.model_validate({**TINY, "max_length": 20, **options, "dropout": 0.0})
        model = build_model(
            settings.model_copy(update={"implementation": implementation}), SIZE, SIZE, PAD, seed=1
        ).eval()
        generator = torch.Generator().manual_seed(2)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.empty_like(parameter).normal_(std=0.3, generator=generator))
        models.append(model)
    return models


@pytest.mark.parametrize("options", SHARED, ids=str)
def test_logits_are_the_same_with_padding(options: dict[str, Any]) -> None:
    ours, theirs = both(options)
    source, target = padded_source(7, 4, 5), random_ids(3, 6)
    close(theirs(source, target), ours(source, target), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("options", SHARED, ids=str)
def test_gradients_are_the_same(options: dict[str, Any]) -> None:
    sources, targets = [padded_source(7, 4), random_ids(3, 5)], [random_ids(2, 6), random_ids(3, 4)]
    hiddens, gradients = [], []
    for model in both(options):
        model.train()
        hidden = plain_hidden(model, sources, targets)[: 2 * 6 + 3 * 4]  # without padded tokens
        hidden.square().sum().backward()  # type: ignore[no-untyped-call]
        hiddens.append(hidden)
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    close(hiddens[1], hiddens[0], atol=1e-5, rtol=1e-5)
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        if gradient is not None:
            other = gradients[1][name]
            assert other is not None
            close(other, gradient, atol=1e-4 * float(gradient.abs().max() + 1), rtol=1e-4)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("options", SHARED, ids=str)
def test_decoding_with_a_cache_equals_decoding_without(options: dict[str, Any], implementation: str) -> None:
    model = both(options)[list(IMPLEMENTATIONS).index(implementation)]
    source, tokens = padded_source(6, 3), random_ids(4, 5)  # two hypotheses per sentence
    with torch.inference_mode():
        prefix = PrefixDecoder(model)
        cached, plain = model.start(source), prefix.start(source)
        for cache in (cached, plain):
            cache.select(torch.tensor([0, 0, 1, 1]))
        for position in range(5):
            ours, theirs = model.step(tokens[:, position], cached), prefix.step(tokens[:, position], plain)
            close(ours, theirs, atol=1e-5, rtol=1e-5)
            if position == 2:  # reorder hypotheses, then drop a sentence
                for memory in (cached, plain):
                    memory.select(torch.tensor([3, 2]), torch.tensor([1]))
                tokens = tokens[[3, 2]]


def test_names_and_number_of_parameters_are_the_same() -> None:
    ours, theirs = both(SHARED[0])
    shapes = [[(name, parameter.shape) for name, parameter in model.named_parameters()] for model in (ours, theirs)]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"qkv_bias": False}, "qkv_bias = true"),
        ({"final_norm": False}, "final_norm = true"),
        ({"activation": "silu"}, "activation = 'relu' or 'gelu'"),
        ({"positions": "rotary"}, "positions = 'sinusoidal', 'fairseq' or 'learned'"),
        ({"attention_dropout": 0.3}, "equal dropout"),
    ],
)
def test_settings_that_torch_does_not_support_are_refused(options: dict[str, Any], message: str) -> None:
    everything = {
        **TINY,
        "implementation": "torch",
        "dropout": 0.1,
        "attention_dropout": 0.1,
        "activation_dropout": 0.1,
    }
    Model.model_validate(everything)
    with pytest.raises(ValueError, match=message):
        Model.model_validate({**everything, **options})
