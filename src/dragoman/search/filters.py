"""Filters change logits, (rows, vocabulary), before search chooses among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dragoman.settings import Decoding

Filter = Callable[[Tensor], Tensor]


def forbid(ids: Sequence[int]) -> Filter:
    """These ids are never chosen."""
    columns = torch.tensor(ids, dtype=torch.int64)

    def apply(logits: Tensor) -> Tensor:
        return logits.index_fill(1, columns.to(logits.device), -math.inf)

    return apply


def temper(temperature: float) -> Filter:
    """Flatten (above 1) or sharpen (below 1) the distribution."""
    return lambda logits: logits / temperature


def keep_top_k(k: int) -> Filter:
    """Only the k likeliest ids can be chosen (Fan et al. 2018)."""

    def apply(logits: Tensor) -> Tensor:
        lowest = logits.topk(min(k, logits.shape[1])).values[:, -1:]
        return logits.masked_fill(logits < lowest, -math.inf)

    return apply


def keep_top_p(p: float) -> Filter:
    """Only the smallest set of likeliest ids whose probability reaches p can be chosen (Holtzman et al. 2020)."""

    def apply(logits: Tensor) -> Tensor:
        ordered, order = logits.sort(descending=True)
        probabilities = ordered.softmax(dim=-1)
        before = probabilities.cumsum(dim=-1) - probabilities  # probability of all likelier ids
        return logits.masked_fill(torch.zeros_like(logits, dtype=torch.bool).scatter(1, order, before >= p), -math.inf)

    return apply


def build_filters(settings: Decoding, forbidden: Sequence[int]) -> list[Filter]:
    """The filters that any search asks for with these settings, in order of use."""
    filters = [forbid(forbidden)] if forbidden else []
    if settings.temperature != 1.0:
        filters.append(temper(settings.temperature))
    return filters


def build_sampling_filters(settings: Decoding) -> list[Filter]:
    """Filters that decide what is drawn, but not how a drawn token counts in a score."""
    filters = []
    if settings.top_k is not None:
        filters.append(keep_top_k(settings.top_k))
    if settings.top_p is not None:
        filters.append(keep_top_p(settings.top_p))
    return filters


def apply_filters(filters: Sequence[Filter], logits: Tensor) -> Tensor:
    """All filters, one after another, on float32 logits."""
    logits = logits.float()
    for each in filters:
        logits = each(logits)
    return logits
