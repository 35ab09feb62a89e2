"""Constraints on the hypotheses of a batch: prefixes, maximum lengths, forbidden and required ids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from dragoman.search.log_probabilities import log_probabilities
from dragoman.search.required_tokens import RequiredTokens
from dragoman.settings import Decoding
from dragoman.system.device import to_device

ANY = -1
"""In place of a token: no token is forced."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraints on the hypotheses of each sentence of a batch.

    Attributes:
        bos: Id that starts every hypothesis.
        eos: Id that ends a hypothesis, and that is forced at the maximum length.
        forbidden: Ids that are never chosen.
        max_lengths: Maximum length of each sentence's hypotheses, eos included, (sentences,), int64.
        prefixes: Tokens that each sentence's hypotheses begin with, followed by ANY, (sentences, longest); or None.
        required: Tokens that each hypothesis must contain, if there are any.
        given: Ids whose log-probability is 0 where they are forced.
    """

    bos: int
    eos: int
    forbidden: Sequence[int]
    max_lengths: Tensor
    prefixes: Tensor | None = None
    required: RequiredTokens | None = None
    given: Sequence[int] = ()

    @property
    def required_ids(self) -> Tensor | None:
        """The ids that `required` counts."""
        return self.required.ids if self.required else None

    @cached_property
    def limits(self) -> list[int]:
        """The maximum length of each sentence's hypotheses."""
        lengths: list[int] = self.max_lengths.tolist()
        return lengths

    @cached_property
    def longest(self) -> int:
        """The largest of these; 0 if there is no sentence."""
        return max(self.limits, default=0)

    @cached_property
    def _shortest(self) -> int:
        return min(self.limits, default=0)

    def repeat(self, copies: int) -> Constraints:
        """The constraints of a batch in which every sentence occurs this many times in a row."""
        return replace(
            self,
            max_lengths=self.max_lengths.repeat_interleave(copies),
            prefixes=None if self.prefixes is None else self.prefixes.repeat_interleave(copies, dim=0),
            required=self.required.repeat(copies) if self.required else None,
        )

    def restrict(self, logits: Tensor, tokens: Tensor, sentences: Sequence[int]) -> Tensor:
        """The logits with -inf for tokens that the required tokens exclude; the same tensor if there are none.

        Args:
            logits: Of the next token, (rows, vocabulary).
            tokens: Of each row so far, (rows, length).
            sentences: The sentences of the rows, each of which has the same number of adjacent rows.
        """
        if self.required is None:
            return logits
        chosen = to_device(torch.tensor(sentences, dtype=torch.int64), logits.device)
        rows = chosen.repeat_interleave(len(tokens) // len(sentences))
        return self.required.restrict(logits, tokens, rows, self.max_lengths[rows], self.eos)

    def forced_tokens(self, length: int, sentences: list[int]) -> Tensor | None:
        """The token that each of these sentences must have after `length` others, or ANY, (sentences,).

        None if no token is forced.
        """
        prefixes = self.prefixes if self.prefixes is not None and length < self.prefixes.shape[1] else None
        if prefixes is None and length + 1 < self._shortest:
            return None
        chosen = to_device(torch.tensor(sentences, dtype=torch.int64), self.max_lengths.device)
        forced = torch.full_like(chosen, ANY) if prefixes is None else prefixes[chosen, length]
        return forced.masked_fill(self.max_lengths[chosen] <= length + 1, self.eos)

    def apply(
        self, tokens: Tensor, values: Tensor, forced: Tensor, processed: Tensor, logits: Tensor
    ) -> tuple[Tensor, Tensor]:
        """In rows with a forced token, make that token the only candidate, with its probability among all tokens.

        Args:
            tokens: Candidates, best first, (rows, candidates).
            values: Their log-probabilities, (rows, candidates).
            forced: A token, or ANY, (rows,).
            processed: Logits after the logits processors, (rows, vocabulary).
            logits: Logits before the processors, for forced tokens that the processors forbid, (rows, vocabulary).

        Returns:
            Candidates and their log-probabilities; where a token is forced, all but the first are -inf.
        """
        chosen, column = (forced != ANY)[:, None], forced.clamp(min=0)[:, None]  # (rows, 1)
        value = log_probabilities(processed, column)
        value = torch.where(value == -math.inf, log_probabilities(logits, column), value)
        if self.given:
            value = value.masked_fill(torch.isin(column, torch.tensor(self.given, device=column.device)), 0.0)
        only = torch.full_like(values, -math.inf).index_copy(1, values.new_zeros(1, dtype=torch.int64), value)
        return torch.where(chosen, column, tokens), torch.where(chosen, only, values)


def max_target_length(source_length: int, settings: Decoding, model_limit: int) -> int:
    """Maximum length of the translation of a source of this length; both lengths include eos.

    Args:
        source_length: Number of tokens of the source.
        settings: max_length, max_length_ratio, max_length_offset.
        model_limit: Maximum length that the model supports.
    """
    by_source = int(source_length * settings.max_length_ratio) + settings.max_length_offset
    return max(1, min(by_source, settings.max_length, model_limit))
