"""Filters change logits before search chooses among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dragoman.settings import Decoding

Filter = Callable[[Tensor, Tensor], Tensor]
"""Logits, (rows, vocabulary), and the tokens of each row so far, (rows, length) -> logits, perhaps the same changed."""


def forbid(ids: Sequence[int]) -> Filter:
    """These ids are never chosen."""
    columns = torch.tensor(ids, dtype=torch.int64)

    def apply(logits: Tensor, tokens: Tensor) -> Tensor:
        return logits.index_fill_(1, columns.to(logits.device), -math.inf)

    return apply


def temper(temperature: float) -> Filter:
    """Flatten (above 1) or sharpen (below 1) the distribution."""
    return lambda logits, tokens: logits.div_(temperature)


def keep_top_k(k: int) -> Filter:
    """Only the k likeliest ids can be chosen (Fan et al. 2018)."""

    def apply(logits: Tensor, tokens: Tensor) -> Tensor:
        lowest = logits.topk(min(k, logits.shape[1])).values[:, -1:]
        return logits.masked_fill(logits < lowest, -math.inf)

    return apply


def keep_top_p(p: float) -> Filter:
    """Only the smallest set of likeliest ids whose probability reaches p can be chosen (Holtzman et al. 2020)."""

    def apply(logits: Tensor, tokens: Tensor) -> Tensor:
        ordered, order = logits.sort(descending=True)
        probabilities = ordered.softmax(dim=-1)
        before = probabilities.cumsum(dim=-1) - probabilities  # probability of all likelier ids
        return logits.masked_fill(torch.zeros_like(logits, dtype=torch.bool).scatter(1, order, before >= p), -math.inf)

    return apply


def keep_going(min_length: int, eos: int) -> Filter:
    """A hypothesis cannot end before it has so many tokens."""
    end = forbid([eos])
    return lambda logits, tokens: end(logits, tokens) if tokens.shape[1] < min_length else logits


def forbid_repeats(n: int) -> Filter:
    """No n tokens in a row come twice in a hypothesis (Paulus et al. 2018, section 2.5)."""

    def apply(logits: Tensor, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        if length < n:
            return logits
        ngrams = tokens.unfold(1, n, 1)  # (rows, ngrams, n)
        begun = (ngrams[:, :, :-1] == tokens[:, None, length - n + 1 :]).all(dim=-1)  # (rows, ngrams)
        rows, places = begun.nonzero(as_tuple=True)
        return logits.index_put_((rows, ngrams[rows, places, -1]), logits.new_tensor(-math.inf))

    return apply


def build_filters(settings: Decoding, forbidden: Sequence[int], eos: int) -> list[Filter]:
    """The filters that any search asks for with these settings, in order of use."""
    filters = [forbid(forbidden)] if forbidden else []
    if settings.min_length:
        filters.append(keep_going(settings.min_length, eos))
    if settings.no_repeat_ngram:
        filters.append(forbid_repeats(settings.no_repeat_ngram))
    if settings.temperature != 1.0:
        filters.append(temper(settings.temperature))
    return filters


def build_sampling_filters(settings: Decoding) -> list[Filter]:
    """Filters that decide what is drawn, but not how a drawn token counts in a score; they leave the logits alone."""
    filters = []
    if settings.top_k is not None:
        filters.append(keep_top_k(settings.top_k))
    if settings.top_p is not None:
        filters.append(keep_top_p(settings.top_p))
    return filters


def apply_filters(filters: Sequence[Filter], logits: Tensor, tokens: Tensor) -> Tensor:
    """All filters, one after another, in float32; the logits given are not to be used again."""
    logits = logits.float()
    for each in filters:
        logits = each(logits, tokens)
    return logits
