"""Logits processors: functions that change logits before the search chooses among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from dragoman.search.log_probabilities import log_probabilities
from dragoman.settings import Decoding
from dragoman.system.device import to_device

LogitsProcessor = Callable[[Tensor, Tensor], Tensor]
"""Takes logits (rows, vocabulary) and the tokens of each row so far (rows, length); may change the logits in place."""


def forbid(ids: Sequence[int]) -> LogitsProcessor:
    """Never choose these ids."""
    columns = torch.tensor(ids, dtype=torch.int64)

    def apply(logits: Tensor, tokens: Tensor) -> Tensor:
        nonlocal columns
        if columns.device != logits.device:
            columns = to_device(columns, logits.device)  # once
        return logits.index_fill_(1, columns, -math.inf)

    return apply


def temperature(value: float) -> LogitsProcessor:
    """Flatten (above 1) or sharpen (below 1) the distribution."""
    return lambda logits, tokens: logits.div_(value)


def top_k(k: int) -> LogitsProcessor:
    """Choose only among the k most probable ids (Fan et al. 2018)."""

    def apply(logits: Tensor, tokens: Tensor) -> Tensor:
        lowest = logits.topk(min(k, logits.shape[1])).values[:, -1:]  # (rows, 1)
        return logits.masked_fill(logits < lowest, -math.inf)

    return apply


def top_p(p: float) -> LogitsProcessor:
    """Choose only from the smallest set of ids whose total probability reaches p (Holtzman et al. 2020)."""

    def apply(logits: Tensor, tokens: Tensor) -> Tensor:
        ordered, order = logits.sort(descending=True)
        probabilities = ordered.softmax(dim=-1)
        before = probabilities.cumsum(dim=-1) - probabilities  # total probability of more probable ids
        removed = torch.zeros_like(logits, dtype=torch.bool).scatter(1, order, before >= p)
        return logits.masked_fill(removed, -math.inf)

    return apply


def minimum_length(length: int, eos: int) -> LogitsProcessor:
    """Do not end a hypothesis before it has this many tokens."""
    forbid_eos = forbid([eos])
    return lambda logits, tokens: forbid_eos(logits, tokens) if tokens.shape[1] < length else logits


def no_repeat_ngram(n: int, exempt: Tensor | None = None) -> LogitsProcessor:
    """Do not produce the same n tokens in a row twice in a hypothesis (Paulus et al. 2018, section 2.5).

    Ids in `exempt` may always follow, because the source has them that often.
    """

    def apply(logits: Tensor, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        if length < n:
            return logits
        ngrams = tokens.unfold(1, n, 1)  # (rows, ngrams, n)
        matches = (ngrams[:, :, :-1] == tokens[:, None, length - n + 1 :]).all(dim=-1)  # (rows, ngrams)
        if exempt is not None:
            matches &= ~torch.isin(ngrams[:, :, -1], exempt)
        limits = torch.full_like(matches, math.inf, dtype=logits.dtype).masked_fill(matches, -math.inf)
        return logits.scatter_reduce_(1, ngrams[:, :, -1], limits, "amin")

    return apply


def build_processors(
    settings: Decoding, forbidden: Sequence[int], eos: int, required: Tensor | None = None
) -> list[LogitsProcessor]:
    """The processors that every search uses with these settings, in order; `required` are ids of `RequiredTokens`."""
    processors = [forbid(forbidden)] if forbidden else []
    if settings.min_length:
        processors.append(minimum_length(settings.min_length, eos))
    if settings.no_repeat_ngram:
        processors.append(no_repeat_ngram(settings.no_repeat_ngram, required))
    if settings.temperature != 1.0:
        processors.append(temperature(settings.temperature))
    return processors


def build_sampling_processors(settings: Decoding) -> list[LogitsProcessor]:
    """Processors that limit which tokens are drawn; as they return new logits, log-probabilities do not change."""
    processors = []
    if settings.top_k is not None:
        processors.append(top_k(settings.top_k))
    if settings.top_p is not None and settings.top_p < 1.0:
        processors.append(top_p(settings.top_p))
    return processors


def apply_processors(processors: Sequence[LogitsProcessor], logits: Tensor, tokens: Tensor) -> Tensor:
    """Apply all processors, in order, in float32; the logits passed in may be overwritten."""
    logits = logits.float()
    for processor in processors:
        logits = processor(logits, tokens)
    return logits


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
