"""Tokens that a hypothesis must take: a given beginning, and eos at the maximum length."""

from __future__ import annotations

import math

import torch
from torch import Tensor

ANY = -1
"""In place of a token: none is forced."""


def forced_tokens(prefixes: Tensor | None, sentences: Tensor, length: int, last: Tensor, eos: int) -> Tensor:
    """The only token that each sentence's hypotheses may take next, or ANY.

    Args:
        prefixes: Tokens that each input's hypotheses begin with, then ANY, (inputs, longest), or None.
        sentences: Which input each sentence is, (sentences,).
        length: Tokens taken so far.
        last: Whether the next token is the last, (sentences,).
        eos: The token that is then forced.

    Returns:
        (sentences,), int64.
    """
    begun = prefixes is not None and length < prefixes.shape[1]
    forced = prefixes[sentences, length] if begun else torch.full_like(sentences, ANY)  # type: ignore[index]
    return forced.masked_fill(last, eos)


def force(logits: Tensor, filtered: Tensor, forced: Tensor) -> tuple[Tensor, Tensor]:
    """Leave only the forced token of each row that has one; its log-probability is what it was among all.

    Args:
        logits: As the model gave them, (rows, vocabulary).
        filtered: As the filters left them; a forced token that they forbid counts as the model sees it.
        forced: A token, or ANY, (rows,).

    Returns:
        Logits, and what to subtract from them to have log-probabilities, (rows, vocabulary) and (rows, 1).
    """
    totals = filtered.logsumexp(dim=-1, keepdim=True)
    if not bool((forced != ANY).any()):
        return filtered, totals
    chosen, column = (forced != ANY)[:, None], forced.clamp(min=0)[:, None]  # (rows, 1)
    values, logits = filtered.gather(1, column), logits.float()
    forbidden = chosen & (values == -math.inf)
    values = torch.where(forbidden, logits.gather(1, column), values)
    only = torch.full_like(filtered, -math.inf).scatter(1, column, values)
    totals = torch.where(forbidden, logits.logsumexp(dim=-1, keepdim=True), totals)
    return torch.where(chosen, only, filtered), totals
