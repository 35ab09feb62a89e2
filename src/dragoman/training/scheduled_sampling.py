"""Scheduled sampling: training on the model's own predictions (Bengio et al. 2015).

A batch is teacher-forced, as usual, with a probability that falls from epoch to epoch. In any other batch each next
input of the decoder is the reference's token with that same probability, else the model's likeliest token.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from dragoman.dataset.batch import Batch
from dragoman.model.transformer import Transformer
from dragoman.settings import Training
from dragoman.training.progress import Progress

_STREAM = 1
"""Keeps these random numbers apart from others that depend on the seed and the step."""


def teacher_forcing_probability(settings: Training, epoch: int) -> float:
    """max(minimum, decay^epoch), with epochs counted from 0; 1 without scheduled sampling."""
    if settings.scheduled_sampling == "none":
        return 1.0
    return max(settings.teacher_forcing_minimum, settings.teacher_forcing_decay**epoch)


def draw_teacher_forcing(settings: Training, progress: Progress, batches: int) -> list[float]:
    """For each batch of the next step, the probability that an input of the decoder is the reference's token.

    1 means that the batch is teacher-forced. The draws depend on the seed and the step alone, so all processes agree.
    """
    probability = teacher_forcing_probability(settings, progress.epoch)
    draws = np.random.default_rng((settings.seed, progress.step, _STREAM)).random(batches)
    return [1.0 if draw < probability else probability for draw in draws]


def stepwise(model: Transformer, batch: Batch, probability: float) -> Tensor:
    """Decoder outputs of a batch, token by token, each chosen input fed to the next step.

    Args:
        model: In training mode; gradients flow through every step.
        batch: (rows, source) and (rows, target).
        probability: Of each next input being the reference's.

    Returns:
        What the output projection turns into logits, (rows, target, d_model).
    """
    cache, tokens, hidden = model.start(batch.source), batch.target_input[:, 0], []
    for position in range(1, batch.target_input.shape[1] + 1):
        hidden.append(model.step_hidden(tokens, cache))  # (rows, d_model)
        if position < batch.target_input.shape[1]:
            tokens = _mix(batch.target_input[:, position], _likeliest(model, hidden[-1]), probability)
    return torch.stack(hidden, dim=1)


def two_pass(model: Transformer, batch: Batch, probability: float) -> Tensor:
    """Decoder outputs of a batch for inputs mixed from the reference and the predictions of a teacher-forced pass.

    Two parallel passes instead of one step a token (Mihaylova and Martins 2019): the predictions of the first
    are made with the reference as prefix, and not with what the model itself said before.

    Args:
        model: In training mode; gradients flow through the second pass.
        batch: (rows, source) and (rows, target).
        probability: Of each input being the reference's.

    Returns:
        What the output projection turns into logits, (rows, target, d_model).
    """
    with torch.no_grad():
        predictions = _likeliest(model, model.hidden(batch.source, batch.target_input))  # (rows, target)
    mixed = _mix(batch.target_input[:, 1:], predictions[:, :-1], probability)
    return model.hidden(batch.source, torch.cat((batch.target_input[:, :1], mixed), dim=1))


@torch.no_grad()
def _likeliest(model: Transformer, hidden: Tensor) -> Tensor:
    return model.output(hidden).argmax(dim=-1)  # type: ignore[no-any-return]


def _mix(reference: Tensor, own: Tensor, probability: float) -> Tensor:
    """Each token from the reference with this probability, else the model's own; both of one shape."""
    return torch.where(torch.rand(reference.shape, device=reference.device) < probability, reference, own)


SAMPLED: dict[str, Callable[[Transformer, Batch, float], Tensor]] = {"stepwise": stepwise, "two_pass": two_pass}
"""How the decoder outputs of a batch that is not teacher-forced are made."""
