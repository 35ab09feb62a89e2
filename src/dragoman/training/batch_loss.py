"""A model and its loss as one module: batch in, summed losses out."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.dataset.batch import Batch
from dragoman.kernels.projected_loss import projected_cross_entropy, regularised_cross_entropy
from dragoman.model.masks import pack, pack_vectors
from dragoman.model.transformer import Transformer
from dragoman.settings import Training
from dragoman.system.device import autocast
from dragoman.training.scheduled_sampling import SAMPLED


class BatchLoss(nn.Module):
    """What DistributedDataParallel wraps: all parameters take part in its forward, and only there.

    Args:
        model: Its weights learn.
        settings: Label smoothing, precision, scheduled sampling.
        target_pad: Id of padding in the target, which does not count.
    """

    def __init__(self, model: Transformer, settings: Training, target_pad: int) -> None:
        super().__init__()
        self.model, self.settings, self.target_pad = model, settings, target_pad

    def forward(self, batch: list[Batch], teacher_forcing: float = 1.0) -> tuple[Tensor, Tensor]:
        """Summed over the batch's real target tokens: the loss to minimise, and that without label smoothing.

        Args:
            batch: Groups of sentences of like length.
            teacher_forcing: Probability of each input of the decoder being the reference's.
        """
        targets, _ = pack([group.target_output for group in batch], self.target_pad)  # (1, cells)
        with autocast(self.settings.precision, targets.device) as dtype:
            output = self.model.output
            weight, bias = output.weight.to(dtype), None if output.bias is None else output.bias.to(dtype)
            hidden = self._hidden(batch, teacher_forcing).to(dtype)  # (cells, d_model)
            if self.settings.r_drop:
                other = self._hidden(batch, teacher_forcing).to(dtype)  # with another dropout
                logits = F.linear(hidden, weight, bias), F.linear(other, weight, bias)  # (cells, vocabulary) each
                return regularised_cross_entropy(
                    *logits, targets[0], self.settings.label_smoothing, self.settings.r_drop, ignore=self.target_pad
                )
            return projected_cross_entropy(
                hidden, weight, bias, targets[0], self.settings.label_smoothing, ignore=self.target_pad
            )

    def _hidden(self, batch: list[Batch], teacher_forcing: float) -> Tensor:
        """Decoder outputs of a batch, laid end to end, (cells, d_model)."""
        if teacher_forcing == 1.0:
            return self.model.packed_hidden([group.source for group in batch], [group.target_input for group in batch])
        sampled = SAMPLED[self.settings.scheduled_sampling]
        return pack_vectors([sampled(self.model, group, teacher_forcing) for group in batch])
