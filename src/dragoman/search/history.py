"""The steps of a beam search on the CPU: what the search decides with, read from the device once per step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass
class Continuations:
    """Continuations of the hypotheses of each sentence by one token, best first: tensors, or arrays on the CPU."""

    scores: Any  # (sentences, continuations), summed log-probabilities
    origins: Any  # (sentences, continuations), index of the hypothesis that each continues
    tokens: Any  # (sentences, continuations)
    log_probabilities: Any  # (sentences, continuations), of the last token

    @property
    def fields(self) -> tuple[Any, Any, Any, Any]:
        """The tensors or arrays in order."""
        return self.scores, self.origins, self.tokens, self.log_probabilities

    def gather(self, order: Tensor) -> Continuations:
        """Some continuations of each sentence, given their indices, (sentences, chosen)."""
        return Continuations(*(each.gather(1, order) for each in self.fields))

    def select(self, sentences: Tensor) -> Continuations:
        """The continuations of some sentences, given their indices, (chosen,)."""
        return Continuations(*(each[sentences] for each in self.fields))


def read_together(*continuations: Continuations) -> list[Continuations]:
    """Copies on the CPU, by a single transfer, because a GPU finishes all its work before each.

    Everything is transferred in the data type of the scores. Ids below 2**24 are exact in float32.
    """
    tensors = [each for one in continuations for each in one.fields]
    together = torch.cat([each.to(continuations[0].scores.dtype) for each in tensors], dim=1)
    joined: NDArray[np.float64] = together.cpu().double().numpy()
    arrays = iter(np.split(joined, np.cumsum([each.shape[1] for each in tensors])[:-1], axis=1))
    read = []
    for _ in continuations:
        scores, origins, tokens, log_probabilities = (next(arrays) for _ in range(4))
        read.append(Continuations(scores, origins.astype(np.int64), tokens.astype(np.int64), log_probabilities))
    return read


class History:
    """The live hypotheses of every step so far, as links to those of the step before."""

    def __init__(self) -> None:
        self._steps: list[tuple[dict[int, int], Continuations]] = []  # row of each sentence, and what was kept

    def add(self, sentences: Sequence[int], kept: Continuations) -> None:
        """Add a step: the sentence of each row, and the continuations that were kept, on the CPU."""
        self._steps.append(({sentence: row for row, sentence in enumerate(sentences)}, kept))

    def hypothesis(self, sentence: int, index: int) -> tuple[list[int], list[float]]:
        """Tokens and log-probabilities of a hypothesis of the last step, given its index among those of a sentence."""
        tokens, log_probabilities = [], []
        for rows, kept in reversed(self._steps):
            row = rows[sentence]
            tokens.append(int(kept.tokens[row, index]))
            log_probabilities.append(float(kept.log_probabilities[row, index]))
            index = int(kept.origins[row, index])
        return tokens[::-1], log_probabilities[::-1]
