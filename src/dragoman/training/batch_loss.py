"""A module that contains a model and computes its loss: batch in, summed losses out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.dataset.batch import Batch
from dragoman.kernels import supports_unpadded, supports_varlen
from dragoman.kernels.projected_loss import plain_cross_entropy, projected_cross_entropy
from dragoman.kernels.unpadded import UnpaddedBatch, unpadded_hidden
from dragoman.kernels.varlen import concatenate, concatenate_vectors, plain_hidden, varlen_hidden
from dragoman.model.transformer import Transformer
from dragoman.settings import Training
from dragoman.system.device import autocast
from dragoman.training.r_drop import r_drop_loss
from dragoman.training.scheduled_sampling import SAMPLED


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
        unpadded = UnpaddedBatch.join(batch) if teacher_forcing == 1.0 and supports_unpadded(self.model) else None
        with autocast(self.settings.precision, batch[0].source.device) as dtype:
            output = self.model.output
            projection = output.weight.to(dtype), None if output.bias is None else output.bias.to(dtype)
            if unpadded is None:
                targets, ignore = self._targets(batch), self.target_pad
                hidden, repeat = self._hidden(batch, teacher_forcing)  # (tokens, d_model)
            else:
                targets, ignore = unpadded.target_output, None
                repeat = partial(unpadded_hidden, self.model, unpadded)
                hidden = repeat()
            hidden = hidden.to(dtype)
            if self.settings.r_drop:
                other = repeat().to(dtype)  # the same inputs with different dropout
                logits = F.linear(hidden, *projection), F.linear(other, *projection)  # (tokens, vocabulary) each
                return r_drop_loss(logits, targets, self.settings, ignore)
            loss = projected_cross_entropy if self.settings.kernels else plain_cross_entropy
            return loss(hidden, *projection, targets, self.settings.label_smoothing, ignore)

    def _targets(self, batch: list[Batch]) -> Tensor:
        """The ids to predict in the order of `concatenate`, (tokens,)."""
        return concatenate([group.target_output for group in batch], self.target_pad)[0][0]

    def _hidden(self, batch: list[Batch], teacher_forcing: float) -> tuple[Tensor, Callable[[], Tensor]]:
        """The decoder's outputs in the order of `concatenate`, (tokens, d_model); a function for another such pass."""
        if teacher_forcing == 1.0:
            return self._teacher_forced(batch), partial(self._teacher_forced, batch)
        sampled = SAMPLED[self.settings.scheduled_sampling]
        hidden, inputs = zip(*(sampled(self.model, group, teacher_forcing) for group in batch), strict=True)
        used = [replace(group, target_input=ids) for group, ids in zip(batch, inputs, strict=True)]
        return concatenate_vectors(hidden), partial(self._teacher_forced, used)

    def _teacher_forced(self, batch: list[Batch]) -> Tensor:
        """The decoder's outputs for the inputs in the batch, in the order of `concatenate`, (tokens, d_model)."""
        hidden = varlen_hidden if supports_varlen(self.model) else plain_hidden
        return hidden(self.model, [group.source for group in batch], [group.target_input for group in batch])
