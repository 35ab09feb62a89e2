"""Random choice of tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from dragoman.search.logits_processors import apply_processors, build_sampling_processors
from dragoman.settings import Decoding
from dragoman.system.device import device_for_float64, to_device


class Sampler:
    """Draws tokens. The samples of a sentence depend only on the seed and its key, not on the rest of the batch.

    Args:
        settings: Seed, samples per sentence, top_k and top_p.
        keys: A number for each sentence.
        max_lengths: Maximum length of each sentence's hypotheses, (sentences,).
    """

    def __init__(self, settings: Decoding, keys: Sequence[int], max_lengths: Tensor) -> None:
        self.processors = build_sampling_processors(settings)
        length = int(max_lengths.max()) if len(max_lengths) else 0
        streams = ((settings.seed, key, sample) for key in keys for sample in range(settings.n_best))
        numbers = [np.random.default_rng(stream).random(length) for stream in streams]
        self.device = device_for_float64(max_lengths.device)
        self.numbers = torch.tensor(np.array(numbers), device=self.device)  # (samples, length), 0 to 1

    def draw(self, logits: Tensor, tokens: Tensor, samples: list[int]) -> Tensor:
        """A token for each row, (rows,).

        Args:
            logits: (rows, vocabulary).
            tokens: The tokens of each row so far, (rows, length).
            samples: Which sample of the batch each row is.
        """
        probabilities = apply_processors(self.processors, logits, tokens).softmax(dim=-1)
        cumulative = probabilities.to(self.device).double().cumsum(dim=-1)  # (rows, vocabulary)
        rows = to_device(torch.tensor(samples), self.device)  # (rows,)
        numbers = self.numbers[rows, tokens.shape[1]][:, None] * cumulative[:, -1:]  # (rows, 1)
        drawn = torch.searchsorted(cumulative, numbers, right=True)[:, 0].clamp(max=logits.shape[1] - 1)  # (rows,)
        return drawn.to(logits.device)
