"""One hypothesis per sentence, extended token by token: the likeliest (greedy) or a random one (sampling)."""

from __future__ import annotations

import torch
from torch import Tensor

from dragoman.search.compaction import fill_gaps
from dragoman.search.constraints import Constraints
from dragoman.search.hypothesis import Cache, Decoder, Hypothesis, finished_hypothesis
from dragoman.search.log_probabilities import log_probabilities
from dragoman.search.logits_processors import apply_processors, build_processors
from dragoman.search.sampler import Sampler
from dragoman.settings import Decoding
from dragoman.system.device import to_device

CPU_STEPS, GPU_STEPS = 1, 4
"""Number of steps after which ended hypotheses are removed: to read tokens, the program must wait for a GPU. Hypotheses
that have ended are extended like the others until then, and these tokens are ignored."""


def decode_single(
    decoder: Decoder, cache: Cache, settings: Decoding, constraints: Constraints, sampler: Sampler | None = None
) -> list[Hypothesis]:
    """Extend one hypothesis per sentence until all have ended; ended ones are removed from the batch.

    Args:
        decoder: The model.
        cache: Its cache, with one row per sentence.
        settings: Length penalty and logits processors.
        constraints: Maximum lengths, prefixes and forbidden ids.
        sampler: Draws tokens; without it, the most probable token is chosen.

    Returns:
        The hypothesis of each sentence.
    """
    processors = build_processors(settings, constraints.forbidden, constraints.eos, constraints.required_ids)
    alive = list(range(len(constraints.max_lengths)))  # sentence of each row
    tokens = torch.full_like(constraints.max_lengths, constraints.bos)[:, None]  # (rows, 1)
    history = tokens[:, :0]  # (rows, length)
    chosen: list[list[int]] = [[] for _ in alive]
    values: list[list[float]] = [[] for _ in alive]
    steps_per_read, unread = CPU_STEPS if tokens.device.type == "cpu" else GPU_STEPS, []
    while alive:
        logits = decoder.step(tokens[:, 0], cache)  # (rows, vocabulary)
        forced = constraints.forced_tokens(history.shape[1], alive)
        original = logits if forced is None else logits.clone()
        logits = apply_processors(processors, logits, history)
        allowed = constraints.restrict(logits, history, alive)
        tokens = (sampler.draw(allowed, history, alive) if sampler else allowed.argmax(dim=-1))[:, None]  # (rows, 1)
        new = log_probabilities(logits, tokens)  # (rows, 1)
        if forced is not None:
            tokens, new = constraints.apply(tokens, new, forced, logits, original)
        history = torch.cat((history, tokens), dim=1)
        unread.append(torch.cat((tokens.to(new.dtype), new), dim=1))  # (rows, 2), ids below 2**24 are exact
        if len(unread) < steps_per_read and history.shape[1] < constraints.longest:
            continue
        for sentence, steps in zip(alive, _read(unread), strict=True):
            _append(steps, constraints.eos, chosen[sentence], values[sentence])
        unread = []
        unfinished = [row for row, sentence in enumerate(alive) if chosen[sentence][-1] != constraints.eos]
        if len(unfinished) < len(alive):
            unfinished = fill_gaps(unfinished)
            alive = [alive[row] for row in unfinished]
            rows = to_device(torch.tensor(unfinished, dtype=torch.int64), tokens.device)
            tokens, history = tokens[rows], history[rows]
            cache.select(rows, rows)
    pairs = zip(chosen, values, strict=True)
    return [finished_hypothesis(each[:-1], scores, settings.length_penalty) for each, scores in pairs]


def _read(steps: list[Tensor]) -> list[list[list[float]]]:
    """Copy tokens and log-probabilities of some steps, (rows, 2) each, to the CPU, (rows, steps, 2)."""
    read: list[list[list[float]]] = torch.stack(steps, dim=1).tolist()
    return read


def _append(steps: list[list[float]], eos: int, tokens: list[int], values: list[float]) -> None:
    """Append the tokens and log-probabilities of some steps to a hypothesis, up to eos."""
    for token, value in steps:
        tokens.append(int(token))
        values.append(value)
        if tokens[-1] == eos:
            return
