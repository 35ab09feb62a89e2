"""Scheduled sampling: training on the model's own predictions (Bengio et al. 2015).

A batch is teacher-forced, as usual, with a probability that decreases from epoch to epoch. In other batches each input
of the decoder is the token of the reference with the same probability, otherwise the model's most probable token.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from dragoman.dataset.batch import Batch
from dragoman.model.transformer import Transformer
from dragoman.settings import Training

_STREAM = 1
"""Makes these random numbers different from others that depend on the seed and the step."""


def teacher_forcing_probability(settings: Training, epoch: int) -> float:
    """max(minimum, decay^epoch), with epochs counted from 0; 1 without scheduled sampling."""
    if settings.scheduled_sampling == "none":
        return 1.0
    return max(settings.teacher_forcing_minimum, settings.teacher_forcing_decay**epoch)


def draw_teacher_forcing(settings: Training, step: int, epoch: int, batches: int) -> list[float]:
    """For each batch of a step, the probability that an input of the decoder is taken from the reference.

    1 means that the batch is teacher-forced. The draws depend only on the seed and the step, so all processes agree.

    Args:
        settings: Seed and probabilities.
        step: The number of steps before it.
        epoch: Epoch of the last batch of the step.
        batches: Number of batches.
    """
    probability = teacher_forcing_probability(settings, epoch)
    draws = np.random.default_rng((settings.seed, step, _STREAM)).random(batches)
    return [1.0 if draw < probability else probability for draw in draws]


def stepwise(model: Transformer, batch: Batch, probability: float) -> tuple[Tensor, Tensor]:
    """Decoder outputs of a batch, computed token by token; each chosen token is the input of the next step.

    Args:
        model: The model in training mode; gradients flow through every step.
        batch: (rows, source) and (rows, target).
        probability: Probability that an input is taken from the reference.

    Returns:
        Decoder outputs before the projection to logits, (rows, target, d_model), and the inputs, (rows, target).
    """
    cache, inputs, hidden = model.start(batch.source), [batch.target_input[:, 0]], []
    for position in range(1, batch.target_input.shape[1] + 1):
        hidden.append(model.step_hidden(inputs[-1], cache))  # (rows, d_model)
        if position < batch.target_input.shape[1]:
            inputs.append(_mix(batch.target_input[:, position], _likeliest(model, hidden[-1]), probability))
    return torch.stack(hidden, dim=1), torch.stack(inputs, dim=1)


def two_pass(model: Transformer, batch: Batch, probability: float) -> tuple[Tensor, Tensor]:
    """Decoder outputs of a batch for inputs mixed from the reference and the predictions of a teacher-forced pass.

    Two parallel passes instead of one step per token (Mihaylova and Martins 2019): the predictions of the first pass
    continue the reference, not the model's own predictions.

    Args:
        model: The model in training mode; gradients flow through the second pass.
        batch: (rows, source) and (rows, target).
        probability: Probability that an input is taken from the reference.

    Returns:
        Decoder outputs before the projection to logits, (rows, target, d_model), and the inputs, (rows, target).
    """
    with torch.no_grad():
        predictions = _likeliest(model, model.hidden(batch.source, batch.target_input))  # (rows, target)
    mixed = _mix(batch.target_input[:, 1:], predictions[:, :-1], probability)
    inputs = torch.cat((batch.target_input[:, :1], mixed), dim=1)  # (rows, target)
    return model.hidden(batch.source, inputs), inputs


@torch.no_grad()
def _likeliest(model: Transformer, hidden: Tensor) -> Tensor:
    return model.output(hidden).argmax(dim=-1)  # type: ignore[no-any-return]


def _mix(reference: Tensor, own: Tensor, probability: float) -> Tensor:
    """Each token from the reference with this probability, otherwise the model's own; both have one shape."""
    return torch.where(torch.rand(reference.shape, device=reference.device) < probability, reference, own)


Sampled = Callable[[Transformer, Batch, float], tuple[Tensor, Tensor]]
SAMPLED: dict[str, Sampled] = {"stepwise": stepwise, "two_pass": two_pass}
"""Functions for the decoder's outputs and inputs in batches that are not teacher-forced, by their names in recipes."""
