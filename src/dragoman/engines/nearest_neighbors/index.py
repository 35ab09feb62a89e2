"""The contexts of a corpus, and the tokens that follow them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

NEIGHBORS = 16
"""How many contexts vote for the next token."""

PROBED_LISTS = 16
"""How many of the lists, into which similar contexts are sorted, are searched."""

TEMPERATURE = 0.03
"""By what the squared distances are divided before the softmax, as a share of the mean distance of two contexts."""

RANGE = 0.11
"""The squared distance of the nearest neighbor at which the share of all neighbors has fallen to 1/e, as a share of the
mean distance of two contexts."""

FAR = 1e30
"""The distance of a neighbor that was not found."""

INDEX_FILE, TOKENS_FILE = "contexts.faiss", "tokens.npy"


@dataclass(frozen=True)
class NeighborIndex:
    """Finds the contexts of a corpus that are most similar to those of unfinished translations.

    A context is a source with the beginning of its translation. It is represented by the decoder's output for it, from
    which the model predicts the next token.

    Attributes:
        contexts: An index of faiss.
        tokens: The token that follows each context, (contexts,), int64.
        distance: The mean squared distance of two contexts.
    """

    contexts: Any
    tokens: Tensor
    distance: float

    @classmethod
    def load(cls, directory: Path, distance: float) -> NeighborIndex:
        """Read the index that `open_index` has written."""
        import faiss

        contexts: Any = faiss.deserialize_index(np.fromfile(directory / INDEX_FILE, dtype=np.uint8))
        contexts.nprobe = min(PROBED_LISTS, contexts.nlist)
        return cls(contexts, torch.from_numpy(np.load(directory / TOKENS_FILE)), distance)

    def find(self, states: Tensor, number: int) -> tuple[Tensor, Tensor]:
        """The squared distances and the indices of the nearest contexts, (rows, number) each.

        Args:
            states: Decoder outputs, (rows, d_model).
            number: How many contexts; at most as many as there are.
        """
        import faiss

        faiss.omp_set_num_threads(torch.get_num_threads())  # for this thread: batches are searched in several
        distances, indices = self.contexts.search(states.float().cpu().contiguous().numpy(), number)
        found = torch.from_numpy(indices)  # -1 where the probed lists have too few contexts
        return torch.from_numpy(distances).masked_fill(found < 0, FAR), found

    def mix(self, logits: Tensor, states: Tensor, weight: float) -> Tensor:
        """The logarithms of the model's probabilities, averaged with those of the neighbors, (rows, vocabulary).

        For the neighbors, the probability of a token is the sum of softmax(-distance / temperature) over those that it
        follows. Their share falls exponentially with the distance of the nearest one.

        Args:
            logits: Of the model, (rows, vocabulary).
            states: The decoder's outputs from which they were computed, (rows, d_model).
            weight: The share of the neighbors if one is the same context, from 0 to 1.
        """
        distances, indices = self.find(states, min(NEIGHBORS, len(self.tokens)))
        share = weight * torch.exp(distances[:, :1] / (-RANGE * self.distance)).to(logits.device)  # (rows, 1)
        votes = (distances / (-TEMPERATURE * self.distance)).softmax(dim=-1)  # (rows, neighbors)
        tokens = self.tokens[indices]  # (rows, neighbors)
        same = tokens[:, :, None] == tokens[:, None, :]
        found = (votes[:, None, :] * same).sum(dim=-1)  # (rows, neighbors), of all neighbors with the same token
        tokens, found = tokens.to(logits.device), found.to(logits.device)
        mixed = logits.float().log_softmax(dim=-1) + torch.log1p(-share)
        both = torch.logaddexp(mixed.gather(1, tokens), found.log() + share.log())
        return mixed.scatter_(1, tokens, both)
