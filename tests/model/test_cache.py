"""Decoding step by step with the cache gives the logits of the full forward pass."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from steps import Steps, check_steps
from tiny_models import VARIANTS, padded_source, random_ids, tiny_model

CHOICES: dict[str, list[Any]] = {
    "norm": ["pre", "post"],
    "final_norm": [True, False],
    "activation": ["relu", "gelu", "silu", "swiglu"],
    "tie": ["all", "target", "none"],
    "qkv_bias": [True, False],
}


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@pytest.mark.parametrize("choice", list(product(*CHOICES.values())), ids=lambda choice: "-".join(map(str, choice)))
def test_steps_give_the_logits_of_the_full_pass(choice: tuple[Any, ...], positions: str) -> None:
    options = dict(zip(CHOICES, choice, strict=True))
    check_steps(tiny_model(**options, positions=positions, encoder_layers=1), padded_source(4, 6, 2))


@pytest.mark.parametrize("attention", ["explicit", "fused"])
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_steps_without_padding(options: dict[str, Any], attention: str) -> None:
    check_steps(tiny_model(**options, attention=attention), padded_source(4, 4, 4))


@torch.inference_mode()
def test_sentences_may_leave_before_the_first_step() -> None:
    steps = Steps(tiny_model(), padded_source(4, 6, 2))
    steps.select([2, 0], [2, 0])
    steps.feed(random_ids(2))


@torch.inference_mode()
def test_sentences_may_be_copied_before_the_first_step() -> None:
    steps = Steps(tiny_model(), padded_source(4, 6))
    steps.select([0, 0, 1, 1], [0, 0, 1, 1])
    steps.feed(random_ids(4))
    steps.select([0, 2, 3], [0, 2, 3])
    steps.feed(random_ids(3))
