"""Logits processors: functions that change logits before the search chooses among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

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
