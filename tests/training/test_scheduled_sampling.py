"""Scheduled sampling: what is fed is the reference's or the model's own, and nothing else."""

from __future__ import annotations

import pytest
import torch
from tiny_models import SIZE, VARIANTS, padded_source, random_ids, tiny_model

from dragoman.dataset.batch import Batch
from dragoman.model.positions import Positions
from dragoman.model.transformer import Transformer
from dragoman.settings import Training
from dragoman.training.scheduled_sampling import SAMPLED, stepwise, teacher_forcing_probability, two_pass

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
    close(SAMPLED[kind](model, batch, 1.0), model.hidden(batch.source, batch.target_input))


def test_stepwise_with_probability_zero_is_greedy_decoding(model: Transformer, batch: Batch) -> None:
    hidden = stepwise(model, batch, 0.0)
    own = model.output(hidden).argmax(dim=-1)  # (rows, target)
    inputs = torch.cat((batch.target_input[:, :1], own[:, :-1]), dim=1)
    close(hidden, model.hidden(batch.source, inputs))


def test_two_pass_with_probability_zero_feeds_the_predictions_of_the_first_pass(
    model: Transformer, batch: Batch
) -> None:
    first = model(batch.source, batch.target_input).argmax(dim=-1)
    inputs = torch.cat((batch.target_input[:, :1], first[:, :-1]), dim=1)
    close(two_pass(model, batch, 0.0), model.hidden(batch.source, inputs))


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
    model.output(SAMPLED[kind](model, batch, 0.5)).logsumexp(dim=-1).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


def test_the_gradient_of_stepwise_is_that_of_one_pass_on_the_same_inputs(model: Transformer, batch: Batch) -> None:
    stepwise(model, batch, 1.0).square().sum().backward()  # type: ignore[no-untyped-call]
    first = {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}
    model.zero_grad()
    model.hidden(batch.source, batch.target_input).square().sum().backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            close(first[name], parameter.grad, rtol=1e-5, atol=1e-5)


def test_the_probability_falls_to_its_minimum() -> None:
    settings = Training(epochs=1, scheduled_sampling="stepwise")
    values = [teacher_forcing_probability(settings, epoch) for epoch in range(30)]
    assert values[:2] == [1.0, 0.95]
    assert values == sorted(values, reverse=True)
    assert values[23] == pytest.approx(0.95**23)
    assert values[24] == values[29] == 0.3
    assert teacher_forcing_probability(Training(epochs=1), 29) == 1.0
