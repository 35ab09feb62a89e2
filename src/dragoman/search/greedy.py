"""One hypothesis a sentence, extended token by token: the likeliest (greedy) or a random one (sampling)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dragoman.search.filters import Filter, apply_filters
from dragoman.search.forcing import force, forced_tokens
from dragoman.search.hypothesis import CacheType, Hypothesis, Step, finish

Choose = Callable[[Tensor, Tensor], Tensor]
"""Logits (rows, vocabulary) and tokens so far (rows, length) -> a token for each row, (rows,)."""


def likeliest(logits: Tensor, tokens: Tensor) -> Tensor:
    """The token with the highest logit in each row."""
    return logits.argmax(dim=-1)


def sampler(seed: int, device: torch.device, filters: Sequence[Filter]) -> Choose:
    """Draw tokens with the probabilities that filters leave, from a generator of its own."""
    generator = torch.Generator(device).manual_seed(seed)

    def choose(logits: Tensor, tokens: Tensor) -> Tensor:
        return apply_filters(filters, logits, tokens).softmax(dim=-1).multinomial(1, generator=generator)[:, 0]

    return choose


def follow(
    step: Step[CacheType],
    cache: CacheType,
    choose: Choose,
    *,
    bos: int,
    eos: int,
    max_lengths: Tensor,
    length_penalty: float,
    filters: Sequence[Filter],
    prefixes: Tensor | None = None,
) -> list[Hypothesis]:
    """Extend one hypothesis a sentence until each has ended; ended ones leave the batch.

    Args:
        step: The model.
        cache: Prepared for one row a sentence.
        choose: How the next token is picked.
        bos: Id every hypothesis starts from.
        eos: Id that ends a hypothesis.
        max_lengths: Most tokens of each sentence's hypothesis, eos included, (sentences,), int64.
        length_penalty: Exponent of the length penalty.
        filters: Applied to the logits of each step.
        prefixes: What each sentence's hypothesis begins with, see `forced_tokens`.

    Returns:
        The hypothesis of each sentence.
    """
    alive = torch.arange(len(max_lengths), device=max_lengths.device)  # sentence of each row
    tokens = torch.full_like(alive, bos)
    history = alive.new_empty(len(alive), 0)  # (rows, length)
    log_probabilities: list[list[float]] = [[] for _ in range(len(max_lengths))]
    chosen: list[list[int]] = [[] for _ in range(len(max_lengths))]
    while len(alive):
        length = history.shape[1]
        logits = step(tokens, cache)
        forced = forced_tokens(prefixes, alive, length, max_lengths[alive] <= length + 1, eos)
        logits, totals = force(logits, apply_filters(filters, logits, history), forced)
        tokens = choose(logits, history)  # (rows,)
        values = (logits.gather(1, tokens[:, None]) - totals)[:, 0]
        for sentence, token, value in zip(alive.tolist(), tokens.tolist(), values.tolist(), strict=True):
            log_probabilities[sentence].append(value)
            if token != eos:
                chosen[sentence].append(token)
        history = torch.cat((history, tokens[:, None]), dim=1)
        rows = (tokens != eos).nonzero()[:, 0]
        if len(rows) < len(alive):
            alive, tokens, history = alive[rows], tokens[rows], history[rows]
            cache.select(rows, rows)
    return [finish(*hypothesis, length_penalty) for hypothesis in zip(chosen, log_probabilities, strict=True)]
