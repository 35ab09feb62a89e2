"""The outputs of a bundle's model for given pairs of sentences, to compare with those of an export."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from dragoman.bundle import Bundle
from dragoman.dataset.batch import pad
from dragoman.export.protocol import OutputKind, Outputs

BATCH_SIZE = 32

RANDOM_PAIRS = 32
MAX_RANDOM_LENGTH = 20


@torch.inference_mode()
def model_outputs(
    bundle: Bundle, sources: Sequence[list[int]], targets: Sequence[list[int]], kind: OutputKind
) -> list[Outputs]:
    """The outputs of a bundle's model for pairs of ids, see `ExportedModel.outputs`."""
    source, target = bundle.source.vocabulary, bundle.target.vocabulary
    outputs: list[Outputs] = []
    for start in range(0, len(sources), BATCH_SIZE):
        batch = targets[start : start + BATCH_SIZE]
        ids = pad(sources[start : start + BATCH_SIZE], first=None, last=source.eos, pad=source.pad)
        values = bundle.model(ids, pad(batch, first=target.bos, last=None, pad=target.pad)).float()
        if kind == "log-probabilities":
            values[:, :, target.forbidden_ids] = -torch.inf  # (batch, target, vocabulary)
            expected = pad(batch, first=None, last=target.eos, pad=target.pad)  # (batch, target)
            values = values.log_softmax(dim=-1).gather(2, expected[:, :, None])[:, :, 0]
        outputs += [row[: len(tokens) + 1].numpy() for row, tokens in zip(values, batch, strict=True)]
    return outputs


def random_pairs(bundle: Bundle) -> tuple[list[list[int]], list[list[int]]]:
    """Sources and targets of random tokens, the same at each call: together they use every weight."""
    generator = np.random.default_rng(1)
    longest = min(MAX_RANDOM_LENGTH, bundle.model.settings.max_length - 1)

    def sentences(vocabulary_size: int) -> list[list[int]]:
        lengths = (1 + index % longest for index in range(RANDOM_PAIRS))
        return [generator.integers(4, vocabulary_size, length).tolist() for length in lengths]  # 0 to 3 are special

    return sentences(len(bundle.source.vocabulary)), sentences(len(bundle.target.vocabulary))
