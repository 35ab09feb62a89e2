"""A module that contains a model and computes its loss: batch in, summed losses out."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.dataset.batch import Batch
from dragoman.kernels import supports_varlen
from dragoman.kernels.projected_loss import plain_cross_entropy, projected_cross_entropy
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
        targets, _ = concatenate([group.target_output for group in batch], self.target_pad)  # (1, tokens)
        with autocast(self.settings.precision, targets.device) as dtype:
            output = self.model.output
            weight, bias = output.weight.to(dtype), None if output.bias is None else output.bias.to(dtype)
            hidden, batch = self._hidden(batch, teacher_forcing)  # (tokens, d_model)
            if self.settings.r_drop:
                other = self._teacher_forced(batch)  # the same inputs with different dropout
                first, second = (F.linear(each.to(dtype), weight, bias) for each in (hidden, other))
                return r_drop_loss((first, second), targets[0], self.settings, self.target_pad)
            loss = projected_cross_entropy if self.settings.kernels else plain_cross_entropy
            return loss(hidden.to(dtype), weight, bias, targets[0], self.settings.label_smoothing, self.target_pad)

    def _hidden(self, batch: list[Batch], teacher_forcing: float) -> tuple[Tensor, list[Batch]]:
        """The decoder's outputs in the order of `concatenate`, (tokens, d_model), and the batch with its inputs."""
        if teacher_forcing == 1.0:
            return self._teacher_forced(batch), batch
        sampled = SAMPLED[self.settings.scheduled_sampling]
        hidden, inputs = zip(*(sampled(self.model, group, teacher_forcing) for group in batch), strict=True)
        used = [replace(group, target_input=ids) for group, ids in zip(batch, inputs, strict=True)]
        return concatenate_vectors(hidden), used

    def _teacher_forced(self, batch: list[Batch]) -> Tensor:
        """The decoder's outputs for the inputs in the batch, in the order of `concatenate`, (tokens, d_model)."""
        hidden = varlen_hidden if supports_varlen(self.model) else plain_hidden
        return hidden(self.model, [group.source for group in batch], [group.target_input for group in batch])
