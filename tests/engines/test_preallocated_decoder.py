"""Decoding with preallocated keys and values gives the logits of the model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from steps import Steps, check_steps
from tiny_models import SIZE, VARIANTS, padded_source, random_ids, tiny_model

from dragoman.engines.decoders import SPARE_POSITIONS, PreallocatedDecoder
from dragoman.kernels import accelerate, accelerated
from dragoman.model.transformer import Transformer


def decoder(model: Transformer) -> PreallocatedDecoder:
    """The decoder for GPUs, on a CPU."""
    accelerate(model, device_type="cuda")
    return PreallocatedDecoder(model)


@pytest.mark.parametrize("lengths", [(4, 6, 2), (4, 4, 4), (17, 16, 3)], ids=str)
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_steps_give_the_logits_of_the_model(options: dict[str, Any], lengths: tuple[int, ...]) -> None:
    check_steps(tiny_model(**options), padded_source(*lengths), decoder)


@torch.inference_mode()
def test_sentences_may_leave_or_be_copied_before_the_first_step() -> None:
    steps = Steps(tiny_model(), padded_source(4, 6, 2), decoder)
    steps.select([2, 0], [2, 0])
    steps.select([0, 0, 1, 1], [0, 0, 1, 1])
    steps.feed(random_ids(4))
    steps.select([0, 2, 3], [0, 2, 3])
    steps.feed(random_ids(3))


@torch.inference_mode()
def test_memory_grows_with_the_number_of_positions() -> None:
    length = 2 * SPARE_POSITIONS + 3
    steps = Steps(tiny_model(max_length=length), padded_source(5, 3), decoder)
    for position in range(length):
        steps.feed(random_ids(2, seed=position))


@torch.inference_mode()
def test_half_precision_changes_logits_little_and_the_model_not_at_all() -> None:
    model = tiny_model(positions="rotary").float()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    half = accelerated(model, dtype=torch.bfloat16)
    assert {parameter.dtype for parameter in half.parameters()} == {torch.bfloat16}
    assert {buffer.dtype for buffer in half.buffers()} == {torch.float32}, "tables of positions stay exact"
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    exact, rounded = PreallocatedDecoder(accelerated(model)), PreallocatedDecoder(half)
    for each in (exact.model, rounded.model):
        accelerate(each, device_type="cuda")
    source, tokens = padded_source(4, 4), random_ids(2)
    logits = rounded.step(tokens, rounded.start(source))
    assert logits.dtype == torch.float32
    assert logits.shape == (2, SIZE)
    expected = exact.step(tokens, exact.start(source))
    assert (logits - expected).abs().max() < 0.05 * expected.abs().max()
