"""What the hypotheses of a batch must look like: given prefixes, maximum lengths, ids that are never chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from dragoman.search.log_probabilities import log_probabilities
from dragoman.settings import Decoding

ANY = -1
"""Instead of a token: none is forced."""


class Constraints:
    """Constraints on the hypotheses of each sentence of a batch.

    Args:
        bos: Id that every hypothesis starts from.
        eos: Id that ends a hypothesis, and that is forced at the maximum length.
        forbidden: Ids that are never chosen.
        max_lengths: Most tokens of each sentence's hypotheses, eos included, (sentences,), int64.
        prefixes: Tokens that each sentence's hypotheses begin with, then ANY, (sentences, longest); or None.
    """

    def __init__(
        self, bos: int, eos: int, forbidden: Sequence[int], max_lengths: Tensor, prefixes: Tensor | None = None
    ) -> None:
        self.bos, self.eos, self.forbidden = bos, eos, forbidden
        self.max_lengths, self.prefixes = max_lengths, prefixes
        self._shortest = int(max_lengths.min()) if len(max_lengths) else 0

    def repeat(self, copies: int) -> Constraints:
        """The same for a batch in which every sentence occurs this many times in a row."""
        prefixes = None if self.prefixes is None else self.prefixes.repeat_interleave(copies, dim=0)
        return Constraints(self.bos, self.eos, self.forbidden, self.max_lengths.repeat_interleave(copies), prefixes)

    def forced_tokens(self, length: int, sentences: list[int]) -> Tensor | None:
        """The only token that may follow `length` others, or ANY, for each of these sentences, (sentences,).

        None if nothing is forced.
        """
        prefixes = self.prefixes if self.prefixes is not None and length < self.prefixes.shape[1] else None
        if prefixes is None and length + 1 < self._shortest:
            return None
        chosen = torch.tensor(sentences, dtype=torch.int64, device=self.max_lengths.device)
        forced = torch.full_like(chosen, ANY) if prefixes is None else prefixes[chosen, length]
        return forced.masked_fill(self.max_lengths[chosen] <= length + 1, self.eos)


def apply_constraints(
    tokens: Tensor, values: Tensor, forced: Tensor, processed: Tensor, logits: Tensor
) -> tuple[Tensor, Tensor]:
    """Make the forced token of each row that has one its only candidate, with its probability among all tokens.

    Args:
        tokens: Candidates, best first, (rows, candidates).
        values: Their log-probabilities, (rows, candidates).
        forced: A token, or ANY, (rows,).
        processed: Logits after the logits processors, (rows, vocabulary).
        logits: Logits before them: a forced token that they forbid has the probability that the model gives it.

    Returns:
        Candidates and their log-probabilities; where a token is forced, all but the first are -inf.
    """
    chosen, column = (forced != ANY)[:, None], forced.clamp(min=0)[:, None]  # (rows, 1)
    value = log_probabilities(processed, column)
    value = torch.where(value == -math.inf, log_probabilities(logits, column), value)
    only = torch.full_like(values, -math.inf).index_copy(1, values.new_zeros(1, dtype=torch.int64), value)
    return torch.where(chosen, column, tokens), torch.where(chosen, only, values)


def max_target_length(source_length: int, settings: Decoding, model_limit: int) -> int:
    """Most tokens of the translation of a source with this many tokens; both lengths count eos.

    Args:
        source_length: Tokens of the source.
        settings: max_length, max_length_ratio, max_length_offset.
        model_limit: Most tokens that the model can write.
    """
    by_source = int(source_length * settings.max_length_ratio) + settings.max_length_offset
    return min(by_source, settings.max_length, model_limit)
