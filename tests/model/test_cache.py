"""Decoding step by step with the cache gives the logits of the full forward pass."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from tiny_models import SIZE, VARIANTS, padded_source, random_ids, tiny_model
from torch import Tensor

from dragoman.model.cache import KVCache
from dragoman.model.transformer import Transformer

CHOICES: dict[str, list[Any]] = {
    "norm": ["pre", "post"],
    "final_norm": [True, False],
    "activation": ["relu", "gelu", "silu", "swiglu"],
    "tie": ["all", "target", "none"],
    "qkv_bias": [True, False],
}


class Steps:
    """Rows decoded with the cache, beside their whole prefixes and sources."""

    def __init__(self, model: Transformer, source: Tensor) -> None:
        self.model = model
        self.cache: KVCache = model.start(source)
        self.source = source  # (rows, source)
        self.prefix = torch.empty(len(source), 0, dtype=torch.int64)  # (rows, length)

    def feed(self, tokens: Tensor) -> None:
        """One token a row; the logits are those of the full forward pass."""
        self.prefix = torch.cat((self.prefix, tokens[:, None]), dim=1)
        logits = self.model.step(tokens, self.cache)
        assert logits.shape == (len(tokens), SIZE)
        torch.testing.assert_close(logits, self.model(self.source, self.prefix)[:, -1])

    def select(self, rows: list[int], sentences: list[int] | None) -> None:
        """Keep these rows and sentences."""
        chosen = torch.tensor(rows)
        self.cache.select(chosen, None if sentences is None else torch.tensor(sentences))
        self.source, self.prefix = self.source[chosen], self.prefix[chosen]


@torch.inference_mode()
def check(model: Transformer, source: Tensor) -> None:
    """Branch, reorder and drop the hypotheses of three sentences."""
    steps = Steps(model, source)
    for select in (
        None,
        ([0, 0, 1, 1, 2, 2], None),  # two hypotheses a sentence
        None,
        ([1, 0, 3, 3, 4, 5], None),  # swap, take one twice, leave
        ([4, 4, 5, 1, 1, 0], [2, 0]),  # three a sentence; drop and reorder sentences
        ([2, 0], [0]),
        ([1], None),
    ):
        if select is not None:
            steps.select(*select)
        steps.feed(random_ids(len(steps.source), seed=steps.prefix.numel()))


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@pytest.mark.parametrize("choice", list(product(*CHOICES.values())), ids=lambda choice: "-".join(map(str, choice)))
def test_steps_give_the_logits_of_the_full_pass(choice: tuple[Any, ...], positions: str) -> None:
    options = dict(zip(CHOICES, choice, strict=True))
    check(tiny_model(**options, positions=positions, encoder_layers=1), padded_source(4, 6, 2))


@pytest.mark.parametrize("attention", ["explicit", "fused"])
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_steps_without_padding(options: dict[str, Any], attention: str) -> None:
    check(tiny_model(**options, attention=attention), padded_source(4, 4, 4))


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
