"""Decoding with prepacked weights gives the logits of the model."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from steps import Steps, check_steps
from tiny_models import VARIANTS, padded_source, random_ids, tiny_model

from dragoman.engines.cpu.decoder import PrepackedDecoder
from dragoman.engines.cpu.linear import rounded_rows
from dragoman.kernels.operators import HAS_ONEDNN_LINEAR

pytestmark = pytest.mark.skipif(not HAS_ONEDNN_LINEAR, reason="this processor has no AVX-512")

CHOICES: dict[str, list[Any]] = {
    "norm": ["pre", "post"],
    "final_norm": [True, False],
    "activation": ["relu", "gelu", "silu", "swiglu"],
    "tie": ["all", "target", "none"],
    "qkv_bias": [True, False],
}


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@pytest.mark.parametrize("choice", list(product(*CHOICES.values())), ids=lambda choice: "-".join(map(str, choice)))
def test_steps_give_the_logits_of_the_model(choice: tuple[Any, ...], positions: str) -> None:
    options = dict(zip(CHOICES, choice, strict=True))
    check_steps(tiny_model(**options, positions=positions, encoder_layers=1), padded_source(4, 6, 2), PrepackedDecoder)


@pytest.mark.parametrize("few_rows", [1, 64])
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_steps_without_padding(options: dict[str, Any], few_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are multiplied by MKL or by oneDNN, as it is faster on the processor."""
    monkeypatch.setattr("dragoman.engines.cpu.linear.FEW_ROWS", few_rows)
    check_steps(tiny_model(**options), padded_source(4, 4, 4), PrepackedDecoder)


@torch.inference_mode()
def test_sentences_may_leave_before_the_first_step() -> None:
    steps = Steps(tiny_model(), padded_source(4, 6, 2), PrepackedDecoder)
    steps.select([2, 0], [2, 0])
    steps.feed(random_ids(2))


@torch.inference_mode()
def test_sentences_may_be_copied_before_the_first_step() -> None:
    steps = Steps(tiny_model(), padded_source(4, 6), PrepackedDecoder)
    steps.select([0, 0, 1, 1], [0, 0, 1, 1])
    steps.feed(random_ids(4))
    steps.select([0, 2, 3], [0, 2, 3])
    steps.feed(random_ids(3))


@torch.inference_mode()
def test_the_last_sentences_may_take_the_places_of_others() -> None:
    steps = Steps(tiny_model(positions="rotary"), padded_source(4, 6, 2, 5, 3), PrepackedDecoder)
    steps.feed(random_ids(5))
    steps.select([0, 4, 2], [0, 4, 2])
    steps.feed(random_ids(3))
    steps.select([2, 1], [2, 1])
    steps.feed(random_ids(2))


@torch.inference_mode()
def test_many_rows_and_positions() -> None:
    steps = Steps(tiny_model(max_length=40), padded_source(*range(2, 15)), PrepackedDecoder)
    steps.select([sentence for sentence in range(13) for _ in range(11)], None)
    for length in range(40):
        steps.feed(random_ids(143, seed=length))
        if length % 16 == 0:
            steps.select(list(reversed(range(143))), list(reversed(range(13))))


@torch.inference_mode()
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@pytest.mark.parametrize("lengths", [(15,), (16,), (17, 17), (15, 16, 33)])
def test_more_keys_than_are_padded(lengths: tuple[int, ...], positions: str) -> None:
    steps = Steps(tiny_model(max_length=40, positions=positions), padded_source(*lengths), PrepackedDecoder)
    for length in range(40):
        steps.feed(random_ids(len(lengths), seed=length))


def test_the_number_of_rows_takes_few_values() -> None:
    sizes = [rounded_rows(rows) for rows in range(1, 2001)]
    assert all(rows <= size <= max(rows + 8, 1.15 * rows) for rows, size in enumerate(sizes, start=1))
    assert len(set(sizes)) < 100
    assert all(rounded_rows(size) == size for size in sizes)
