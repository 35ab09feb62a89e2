"""One hypothesis a sentence, extended token by token: the likeliest (greedy) or a random one (sampling)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dragoman.search.constraints import Forcing, force
from dragoman.search.hypothesis import CacheType, Hypothesis, Step, finish
from dragoman.search.log_probabilities import log_probabilities
from dragoman.search.logits_processors import Filter, apply_filters

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
        prefixes: What each sentence's hypothesis begins with, see `Forcing`.

    Returns:
        The hypothesis of each sentence.
    """
    device = max_lengths.device
    alive = list(range(len(max_lengths)))  # sentence of each row
    tokens = torch.full((len(alive), 1), bos, device=device)
    history = tokens.new_empty(len(alive), 0)  # (rows, length)
    forcing = Forcing(prefixes, max_lengths, eos)
    values: list[list[float]] = [[] for _ in alive]
    said: list[list[int]] = [[] for _ in alive]
    while alive:
        logits = step(tokens[:, 0], cache)
        forced = forcing.at(history.shape[1], alive)
        seen = logits if forced is None else logits.clone()
        logits = apply_filters(filters, logits, history)
        tokens = choose(logits, history)[:, None]  # (rows, 1)
        new = log_probabilities(logits, tokens)  # (rows, 1)
        if forced is not None:
            tokens, new = force(tokens, new, forced, logits, seen)
        for sentence, token, value in zip(alive, tokens[:, 0].tolist(), new[:, 0].tolist(), strict=True):
            said[sentence].append(token)
            values[sentence].append(value)
        history = torch.cat((history, tokens), dim=1)
        going = [row for row, sentence in enumerate(alive) if said[sentence][-1] != eos]
        if len(going) < len(alive):
            alive = [alive[row] for row in going]
            rows = torch.tensor(going, dtype=torch.int64, device=device)
            tokens, history = tokens[rows], history[rows]
            cache.select(rows, rows)
    return [finish(each[:-1], scores, length_penalty) for each, scores in zip(said, values, strict=True)]
