"""Tokens that a hypothesis must take: a given beginning, and eos at the maximum length."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from dragoman.search.log_probabilities import log_probabilities

ANY = -1
"""In place of a token: none is forced."""


class Forcing:
    """What the hypotheses of a batch must take.

    Args:
        prefixes: Tokens that each input's hypotheses begin with, then ANY, (inputs, longest), or None.
        max_lengths: Most tokens of each input's hypotheses, (inputs,).
        eos: The token that is then forced.
    """

    def __init__(self, prefixes: Tensor | None, max_lengths: Tensor, eos: int) -> None:
        self.prefixes, self.max_lengths, self.eos = prefixes, max_lengths, eos
        self.begun = 0 if prefixes is None else prefixes.shape[1]  # tokens that all have when no prefix goes on
        self.shortest = int(max_lengths.min()) if len(max_lengths) else 0

    def at(self, length: int, inputs: list[int]) -> Tensor | None:
        """The only token that may follow so many others, or ANY, for each of these inputs, (inputs,).

        None if nothing is forced.
        """
        if self.begun <= length and length + 1 < self.shortest:
            return None
        chosen = torch.tensor(inputs, dtype=torch.int64, device=self.max_lengths.device)
        if self.prefixes is not None and length < self.begun:
            forced = self.prefixes[chosen, length]
        else:
            forced = torch.full_like(chosen, ANY)
        return forced.masked_fill(self.max_lengths[chosen] <= length + 1, self.eos)


def force(tokens: Tensor, values: Tensor, forced: Tensor, filtered: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
    """Let the forced token of each row that has one be its only candidate, as likely as it was among all.

    Args:
        tokens: Candidates, best first, (rows, candidates).
        values: Their log-probabilities, (rows, candidates).
        forced: A token, or ANY, (rows,).
        filtered: Logits as the filters left them, (rows, vocabulary).
        logits: As the model gave them; a forced token that the filters forbid counts as the model sees it.

    Returns:
        Candidates and their log-probabilities, which are -inf for all but the first where one is forced.
    """
    chosen, column = (forced != ANY)[:, None], forced.clamp(min=0)[:, None]  # (rows, 1)
    value = log_probabilities(filtered, column)
    value = torch.where(value == -math.inf, log_probabilities(logits, column), value)
    only = torch.full_like(values, -math.inf).index_copy(1, values.new_zeros(1, dtype=torch.int64), value)
    return torch.where(chosen, column, tokens), torch.where(chosen, only, values)
