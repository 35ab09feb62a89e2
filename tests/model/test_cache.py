"""Decoding step by step with the cache, plain and packed, gives the logits of the full forward pass."""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from typing import Any

import pytest
import torch
from tiny_models import SIZE, VARIANTS, padded_source, random_ids, tiny_model
from torch import Tensor

from dragoman.engines.cpu.decoder import PackedTransformer, padded
from dragoman.kernels.linear import ONEDNN
from dragoman.model.transformer import Transformer

CHOICES: dict[str, list[Any]] = {
    "norm": ["pre", "post"],
    "final_norm": [True, False],
    "activation": ["relu", "gelu", "silu", "swiglu"],
    "tie": ["all", "target", "none"],
    "qkv_bias": [True, False],
}


FORMS = pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])


class Steps:
    """Rows decoded with the cache, beside their whole prefixes and sources."""

    def __init__(self, model: Transformer, source: Tensor, packed: bool) -> None:
        if packed and not ONEDNN:
            pytest.skip("this processor has no AVX-512")
        self.model = model  # in float64
        self.form = PackedTransformer(deepcopy(model).float()) if packed else model
        self.tolerance: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-4} if packed else {}
        self.cache: Any = self.form.start(source)
        self.source = source  # (rows, source)
        self.prefix = torch.empty(len(source), 0, dtype=torch.int64)  # (rows, length)

    def feed(self, tokens: Tensor) -> None:
        """One token a row; the logits are those of the full forward pass."""
        self.prefix = torch.cat((self.prefix, tokens[:, None]), dim=1)
        logits = self.form.step(tokens, self.cache)
        assert logits.shape == (len(tokens), SIZE)
        expected = self.model(self.source, self.prefix)[:, -1]
        torch.testing.assert_close(logits.double(), expected, **self.tolerance)

    def select(self, rows: list[int], sentences: list[int] | None) -> None:
        """Keep these rows and sentences."""
        chosen = torch.tensor(rows)
        self.cache.select(chosen, None if sentences is None else torch.tensor(sentences))
        self.source, self.prefix = self.source[chosen], self.prefix[chosen]


@torch.inference_mode()
def check(model: Transformer, source: Tensor, packed: bool) -> None:
    """Branch, reorder and drop the hypotheses of three sentences."""
    steps = Steps(model, source, packed)
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


@FORMS
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@pytest.mark.parametrize("choice", list(product(*CHOICES.values())), ids=lambda choice: "-".join(map(str, choice)))
def test_steps_give_the_logits_of_the_full_pass(choice: tuple[Any, ...], positions: str, packed: bool) -> None:
    options = dict(zip(CHOICES, choice, strict=True))
    check(tiny_model(**options, positions=positions, encoder_layers=1), padded_source(4, 6, 2), packed)


@FORMS
@pytest.mark.parametrize("attention", ["explicit", "fused"])
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_steps_without_padding(options: dict[str, Any], attention: str, packed: bool) -> None:
    check(tiny_model(**options, attention=attention), padded_source(4, 4, 4), packed)


@FORMS
@torch.inference_mode()
def test_sentences_may_leave_before_the_first_step(packed: bool) -> None:
    steps = Steps(tiny_model(), padded_source(4, 6, 2), packed)
    steps.select([2, 0], [2, 0])
    steps.feed(random_ids(2))


@FORMS
@torch.inference_mode()
def test_sentences_may_be_copied_before_the_first_step(packed: bool) -> None:
    steps = Steps(tiny_model(), padded_source(4, 6), packed)
    steps.select([0, 0, 1, 1], [0, 0, 1, 1])
    steps.feed(random_ids(4))
    steps.select([0, 2, 3], [0, 2, 3])
    steps.feed(random_ids(3))


@FORMS
@torch.inference_mode()
def test_many_rows_and_positions(packed: bool) -> None:
    steps = Steps(tiny_model(max_length=40), padded_source(*range(2, 15)), packed)
    steps.select([sentence for sentence in range(13) for _ in range(11)], None)
    for length in range(40):
        steps.feed(random_ids(143, seed=length))
        if length % 16 == 0:
            steps.select(list(reversed(range(143))), list(reversed(range(13))))


def test_few_numbers_of_rows_are_computed() -> None:
    sizes = [padded(rows) for rows in range(1, 2001)]
    assert all(rows <= size <= max(rows + 8, 1.15 * rows) for rows, size in enumerate(sizes, start=1))
    assert len(set(sizes)) < 100
    assert all(padded(size) == size for size in sizes)
