"""Concatenated batches give the hidden states of the batches one by one, and their gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny_models import PAD, VARIANTS, padded_source, random_ids, tiny_model
from torch import Tensor

from dragoman.kernels import accelerated, supports_varlen
from dragoman.kernels.varlen import TOKENS_MULTIPLE, concatenate, concatenate_vectors, plain_hidden, varlen_hidden
from dragoman.model.transformer import Transformer

close = torch.testing.assert_close
SOURCES, TARGETS = [padded_source(6, 4), random_ids(3, 2)], [random_ids(2, 5), random_ids(3, 7, seed=5)]
REAL = 2 * 5 + 3 * 7


@pytest.mark.parametrize("attention", ["explicit", "fused"])
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_hidden_states_and_gradients_are_those_of_the_groups(options: dict[str, Any], attention: str) -> None:
    model = tiny_model(**options, attention=attention)

    def run(each: Transformer, hidden: Any) -> tuple[Tensor, list[Tensor]]:
        vectors = hidden(each, SOURCES, TARGETS)[:REAL]
        gradients = torch.autograd.grad(vectors.square().sum(), list(each.parameters()), allow_unused=True)
        return vectors, [gradient for gradient in gradients if gradient is not None]

    close(run(accelerated(model), varlen_hidden), run(model, plain_hidden))


def test_only_models_whose_attention_was_replaced_support_concatenated_batches() -> None:
    assert supports_varlen(accelerated(tiny_model()))
    assert not supports_varlen(tiny_model())
    same = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
    assert not supports_varlen(accelerated(tiny_model(implementation="torch", **same)))


def test_concatenated_ids_keep_their_positions_and_are_padded() -> None:
    ids, positions = concatenate(SOURCES, PAD)
    assert ids.shape == (1, TOKENS_MULTIPLE)
    assert ids[0].tolist() == [*SOURCES[0].flatten(), *SOURCES[1].flatten(), *[PAD] * (TOKENS_MULTIPLE - 18)]
    assert positions[:18].tolist() == [*range(6), *range(6), 0, 1, 0, 1, 0, 1]
    vectors = concatenate_vectors([group[:, :, None].float() for group in SOURCES])
    assert torch.equal(vectors[:18, 0], ids[0, :18].float())
    assert vectors.shape == (TOKENS_MULTIPLE, 1)
