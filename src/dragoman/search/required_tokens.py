"""Tokens that a hypothesis must contain a given number of times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor


class RequiredTokens:
    """The number of times that each hypothesis must contain each of some ids.

    Args:
        ids: Ids that may occur only as often as required, (ids,), int64.
        counts: How often each sentence's hypotheses must contain each of them, (sentences, ids), int64.
    """

    def __init__(self, ids: Tensor, counts: Tensor) -> None:
        self.ids, self.counts = ids, counts

    @classmethod
    def of(cls, ids: Sequence[int], counts: Sequence[Mapping[int, int]], device: torch.device) -> RequiredTokens:
        """For ids, and the counts of each sentence; ids without a count must not occur."""
        table = [[sentence.get(index, 0) for index in ids] for sentence in counts]
        return cls(torch.tensor(ids, device=device), torch.tensor(table, device=device))

    def repeat(self, copies: int) -> RequiredTokens:
        """The same for a batch in which every sentence occurs this many times in a row."""
        return RequiredTokens(self.ids, self.counts.repeat_interleave(copies, dim=0))

    def restrict(self, logits: Tensor, tokens: Tensor, sentences: Tensor, limits: Tensor, eos: int) -> Tensor:
        """The logits with -inf for tokens that must not follow.

        These are ids that occurred often enough, and eos while others are missing. Where eos is the most probable token
        or the maximum length is near, all tokens but the missing ones: otherwise, the hypothesis would be continued
        with words that the source does not have.

        Args:
            logits: Of the next token, (rows, vocabulary).
            tokens: Of each row so far, (rows, length).
            sentences: The sentence of each row, (rows,).
            limits: Maximum length of each row, eos included, (rows,).
            eos: The id that ends a hypothesis.
        """
        used = (tokens[:, :, None] == self.ids).sum(dim=1)  # (rows, ids)
        missing = (self.counts[sentences] - used).clamp(min=0)
        total = missing.sum(dim=1)  # (rows,)
        last = tokens.shape[1] + total + 1 >= limits
        only_missing = (total > 0) & (last | (logits.argmax(dim=1) == eos))
        restricted = logits.masked_fill(only_missing[:, None], -math.inf)
        restricted[:, self.ids] = logits[:, self.ids].masked_fill(missing == 0, -math.inf)
        restricted[:, eos] = logits[:, eos].masked_fill(total > 0, -math.inf)
        return restricted
