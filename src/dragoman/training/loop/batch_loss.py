"""A module that contains a model and computes its loss: batch in, summed losses out."""

from __future__ import annotations

from dataclasses import replace

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
from dragoman.training.loop.scheduled_sampling import SAMPLED


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
