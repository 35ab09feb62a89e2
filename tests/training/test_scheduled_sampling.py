"""Scheduled sampling: what is fed is the reference's or the model's own, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import PAD, SIZE, VARIANTS, padded_source, random_ids, tiny_model

from dragoman.dataset.batch import Batch
from dragoman.kernels import accelerate
from dragoman.model.positions import Positions
from dragoman.model.transformer import Transformer
from dragoman.settings import Training
from dragoman.training.loop.batch_loss import (
    SAMPLED,
    BatchLoss,
    draw_teacher_forcing,
    stepwise,
    teacher_forcing_probability,
    two_pass,
)

close = torch.testing.assert_close


@pytest.fixture(params=range(len(VARIANTS)))
def model(request: pytest.FixtureRequest) -> Transformer:
    return tiny_model(**VARIANTS[request.param])


@pytest.fixture
def batch() -> Batch:
    target = random_ids(3, 6)
    return Batch(padded_source(6, 4, 5), target, target.roll(-1, dims=1), 15, 18)


@pytest.mark.parametrize("kind", SAMPLED)
def test_with_probability_one_it_is_teacher_forcing(kind: str, model: Transformer, batch: Batch) -> None:
    hidden, inputs = SAMPLED[kind](model, batch, 1.0)
    close(hidden, model.hidden(batch.source, batch.target_input))
    assert torch.equal(inputs, batch.target_input)


def test_stepwise_with_probability_zero_is_greedy_decoding(model: Transformer, batch: Batch) -> None:
    hidden, used = stepwise(model, batch, 0.0)
    own = model.output(hidden).argmax(dim=-1)  # (rows, target)
    inputs = torch.cat((batch.target_input[:, :1], own[:, :-1]), dim=1)
    close(hidden, model.hidden(batch.source, inputs))
    assert torch.equal(used, inputs)


def test_two_pass_with_probability_zero_feeds_the_predictions_of_the_first_pass(
    model: Transformer, batch: Batch
) -> None:
    first = model(batch.source, batch.target_input).argmax(dim=-1)
    inputs = torch.cat((batch.target_input[:, :1], first[:, :-1]), dim=1)
    hidden, used = two_pass(model, batch, 0.0)
    close(hidden, model.hidden(batch.source, inputs))
    assert torch.equal(used, inputs)


@pytest.mark.parametrize("kind", SAMPLED)
def test_the_share_of_reference_inputs_is_the_probability(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen from the inputs that the decoder embeds: an unlikely id of the reference gives them away."""
    model = tiny_model(tie="none", output_bias=True)
    rare = SIZE - 1
    with torch.no_grad():
        model.output.bias[rare] = -1e9  # never the model's own choice
    target = torch.full((40, 30), rare).index_fill(1, torch.tensor([0]), 2)
    fed: list[torch.Tensor] = []
    embed = model._embed

    def spy(embedding: torch.nn.Embedding, add: Positions, ids: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        if embedding is model.target_embedding:
            fed.append(ids)
        return embed(embedding, add, ids, at)

    monkeypatch.setattr(model, "_embed", spy)
    model.settings = model.settings.model_copy(update={"max_length": 64})
    model.target_positions.table = torch.zeros(64, 8, dtype=torch.float64)
    torch.manual_seed(1)
    SAMPLED[kind](model, Batch(random_ids(40, 3), target, target, 1, 1), 0.3)
    inputs = torch.cat(fed, dim=1)[:, -29:] if kind == "stepwise" else fed[-1][:, 1:]
    assert (inputs == rare).double().mean() == pytest.approx(0.3, abs=0.04)


@pytest.mark.parametrize("kind", SAMPLED)
def test_gradients_reach_every_parameter(kind: str, model: Transformer, batch: Batch) -> None:
    model.train()
    model.output(SAMPLED[kind](model, batch, 0.5)[0]).logsumexp(dim=-1).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


def test_the_gradient_of_stepwise_is_that_of_one_pass_on_the_same_inputs(model: Transformer, batch: Batch) -> None:
    stepwise(model, batch, 1.0)[0].square().sum().backward()  # type: ignore[no-untyped-call]
    first = {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}
    model.zero_grad()
    model.hidden(batch.source, batch.target_input).square().sum().backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            close(first[name], parameter.grad, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("teacher_forcing", [1.0, 0.5])
@pytest.mark.parametrize("kind", SAMPLED)
def test_r_drop_compares_passes_over_the_same_inputs(
    kind: str, teacher_forcing: float, kernels: bool, model: Transformer, batch: Batch
) -> None:
    """Without dropout they agree, although the inputs are drawn at random, and in groups of any size."""
    if kernels:
        accelerate(model)
    target, losses = random_ids(2, 4), []
    other = Batch(padded_source(7, 5), target, target.roll(-1, dims=1), 12, 8)
    for weight in (0.0, 1000.0):
        loss = BatchLoss(model, Training(steps=1, scheduled_sampling=kind, r_drop=weight, precision="float32"), PAD)
        torch.manual_seed(1)
        losses.append(loss([batch, other], teacher_forcing)[0])
    close(losses[0], losses[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("teacher_forcing", [1.0, 0.5])
@pytest.mark.parametrize("kind", SAMPLED)
def test_r_drop_compares_passes_with_different_dropout(
    kind: str, teacher_forcing: float, kernels: bool, batch: Batch
) -> None:
    model = tiny_model(dropout=0.3).train()
    if kernels:
        accelerate(model)
    losses = []
    for weight in (1e-6, 1000.0):
        settings = Training(
            steps=1, scheduled_sampling=kind, r_drop=weight, precision="float32", kernels=kernels, label_smoothing=0.0
        )
        torch.manual_seed(1)
        losses.append(BatchLoss(model, settings, PAD)([batch, batch], teacher_forcing)[0])
    assert losses[1] > 2 * losses[0]


def test_the_draws_of_batches_depend_on_the_seed_and_the_step_only() -> None:
    """All processes must agree on them, regardless of the random numbers that they used before."""
    settings = Training(epochs=1, scheduled_sampling="two_pass", teacher_forcing_decay=0.5)

    def draws(step: int) -> list[float]:
        torch.rand(step + 1)
        np.random.seed(step)
        return draw_teacher_forcing(settings, step, 1, 20)

    first = [draws(step) for step in range(5)]
    torch.manual_seed(7)
    assert first == [draws(step) for step in range(5)]
    assert len({tuple(each) for each in first}) == 5


def test_the_probability_falls_to_its_minimum() -> None:
    settings = Training(epochs=1, scheduled_sampling="stepwise")
    values = [teacher_forcing_probability(settings, epoch) for epoch in range(30)]
    assert values[:2] == [1.0, 0.95]
    assert values == sorted(values, reverse=True)
    assert values[23] == pytest.approx(0.95**23)
    assert values[24] == values[29] == 0.3
    assert teacher_forcing_probability(Training(epochs=1), 29) == 1.0
