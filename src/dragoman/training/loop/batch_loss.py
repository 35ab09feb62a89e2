"""The loss of a batch, in a module that contains the model; also, by scheduled sampling, on its own predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.dataset.batch import Batch
from dragoman.kernels import supports_unpadded, supports_varlen
from dragoman.kernels.projected_loss import plain_cross_entropy, projected_cross_entropy
from dragoman.kernels.projected_r_drop import plain_r_drop, projected_r_drop
from dragoman.kernels.unpadded import UnpaddedBatch, unpadded_hidden
from dragoman.kernels.varlen import TOKENS_MULTIPLE, concatenate, concatenate_vectors, plain_hidden, varlen_hidden
from dragoman.model.transformer import Transformer
from dragoman.settings import Training
from dragoman.system.device import autocast


class BatchLoss(nn.Module):
    """The module that DistributedDataParallel wraps: its forward pass uses all parameters, and nothing else uses them.

    Args:
        model: The model to train.
        settings: Label smoothing, precision, scheduled sampling, kernels.
        target_pad: Id of padding in the target, which has no loss.
    """

    def __init__(self, model: Transformer, settings: Training, target_pad: int) -> None:
        super().__init__()
        self.model, self.settings, self.target_pad = model, settings, target_pad

    def forward(self, batch: list[Batch], teacher_forcing: float = 1.0) -> tuple[Tensor, Tensor]:
        """The loss to minimize, and the loss without label smoothing, summed over the batch's real target tokens.

        Args:
            batch: Groups of sentences of similar length.
            teacher_forcing: Probability that an input of the decoder is the reference's token.
        """
        passes = 2 if self.settings.r_drop else 1
        together = batch * passes  # copies of a sentence have different dropout
        unpads = teacher_forcing == 1.0 and supports_unpadded(self.model)
        unpadded = UnpaddedBatch.join(together) if unpads else None
        with autocast(self.settings.precision, batch[0].source.device) as dtype:
            output = self.model.output
            projection = output.weight.to(dtype), None if output.bias is None else output.bias.to(dtype)
            if unpads and not any(group.target_tokens for group in batch):
                targets, ignore = batch[0].target_output[0], self.target_pad
                hidden = self._hidden_of_padding(batch[0], passes)
            elif unpadded is None:
                targets, ignore = self._targets(batch), self.target_pad
                hidden = self._hidden(batch, teacher_forcing, passes)
            else:
                targets, ignore = unpadded.target_output[: len(unpadded.target_output) // passes], None
                hidden = unpadded_hidden(self.model, unpadded).view(passes, len(targets), -1)
            hidden, smoothing = hidden.to(dtype), self.settings.label_smoothing
            if self.settings.r_drop:
                r_drop = projected_r_drop if self.settings.kernels else plain_r_drop
                return r_drop(hidden, projection, targets, smoothing, self.settings.r_drop, ignore)
            cross_entropy = projected_cross_entropy if self.settings.kernels else plain_cross_entropy
            return cross_entropy(hidden.squeeze(0), *projection, targets, smoothing, ignore)

    def _hidden_of_padding(self, group: Batch, passes: int) -> Tensor:
        """Outputs without a loss, in one call of each layer, as the other processes make; (passes, tokens, d_model)."""
        return self.model.hidden(group.source[:1].expand(passes, -1), group.target_input[:1].expand(passes, -1))

    def _targets(self, batch: list[Batch]) -> Tensor:
        """The ids to predict in the order of `concatenate`, (tokens,)."""
        return concatenate([group.target_output for group in batch], self.target_pad)[0][0]

    def _hidden(self, batch: list[Batch], teacher_forcing: float, passes: int) -> Tensor:
        """The decoder's outputs in the order of `concatenate`, (passes, tokens, d_model), all for the same inputs."""
        if teacher_forcing < 1.0:
            sampled = SAMPLED[self.settings.scheduled_sampling]
            vectors, inputs = zip(*(sampled(self.model, group, teacher_forcing) for group in batch), strict=True)
            used = [replace(group, target_input=ids) for group, ids in zip(batch, inputs, strict=True)]
            first = concatenate_vectors(vectors)
            return torch.stack([first, *(self._teacher_forced(used) for _ in range(1, passes))])
        if passes == 1:
            return self._teacher_forced(batch)[None]
        hidden = self._teacher_forced(batch, passes)
        sizes = [passes * group.target_input.numel() for group in batch]
        groups = [each.view(passes, -1, each.shape[-1]) for each in torch.split(hidden[: sum(sizes)], sizes)]
        hidden = torch.cat(groups, dim=1)  # (passes, tokens, d_model)
        return F.pad(hidden, (0, 0, 0, -hidden.shape[1] % TOKENS_MULTIPLE))

    def _teacher_forced(self, batch: list[Batch], passes: int = 1) -> Tensor:
        """The decoder's outputs for the inputs in the batch, in the order of `concatenate`, (tokens, d_model).

        With several passes, each group has its sentences several times: attention of a few large groups is faster.
        """
        sources = [group.source.repeat(passes, 1) for group in batch]
        targets = [group.target_input.repeat(passes, 1) for group in batch]
        hidden = varlen_hidden if supports_varlen(self.model) else plain_hidden
        return hidden(self.model, sources, targets)


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
