"""Running the search that the decoding settings describe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from dragoman.search.beam import beam_search, fill_gaps
from dragoman.search.hypothesis import BeamTrace, Cache, Decoder, Hypothesis, finished_hypothesis
from dragoman.search.log_probabilities import log_probabilities
from dragoman.search.logits_processors import Constraints, apply_processors, build_processors, build_sampling_processors
from dragoman.settings import Decoding
from dragoman.system.device import device_for_float64, to_device


@torch.inference_mode()
def decode(
    decoder: Decoder,
    source: Tensor,
    settings: Decoding,
    constraints: Constraints,
    trace: BeamTrace | None = None,
    keys: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each sentence, best first: `n_best`, or all samples of minimum Bayes risk decoding.

    Args:
        decoder: The model.
        source: Ids of the sentences, (sentences, source).
        settings: Kind of search, beam size, number of hypotheses and more.
        constraints: Maximum lengths, prefixes and forbidden ids.
        trace: Records each step of a beam search; greedy search is then run as a beam search with beam size 1.
        keys: A number for each sentence, which determines its samples together with the seed; by default its index.
    """
    settings, cache = sampling_settings(settings), decoder.start(source)
    if not settings.sampling and (settings.beam_size > 1 or trace is not None):
        return beam_search(decoder, cache, settings, constraints, trace)
    copies = settings.n_best
    sampler = Sampler(settings, keys or range(len(source)), constraints.max_lengths) if settings.sampling else None
    if copies > 1:  # each sample is decoded like a separate sentence
        sentences = torch.arange(len(source), device=source.device).repeat_interleave(copies)
        cache.select(sentences, sentences)
        constraints = constraints.repeat(copies)
    flat = decode_single(decoder, cache, settings, constraints, sampler)
    groups = [flat[start : start + copies] for start in range(0, len(flat), copies)]
    return [sorted(group, key=lambda hypothesis: -hypothesis.score) for group in groups]


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


def sampling_settings(settings: Decoding) -> Decoding:
    """The settings that draw the samples if `mbr_samples` is set, otherwise the settings unchanged."""
    if not settings.mbr_samples:
        return settings
    return settings.model_copy(update={"sampling": True, "n_best": settings.mbr_samples})


def by_expected_chrf(texts: Sequence[str]) -> list[tuple[int, float]]:
    """Indices of the distinct texts with their mean chrF against all texts as references, best first.

    The mean over samples estimates the expected chrF under the model (Eikema and Aziz 2020, eq. 3).

    Args:
        texts: Sampled translations of one sentence, repeated as often as each was drawn.
    """
    from sacrebleu.metrics.chrf import CHRF

    chrf, counts = CHRF(), Counter(texts)
    utilities = {
        text: sum(count * chrf.sentence_score(text, [other]).score for other, count in counts.items()) / len(texts)
        for text in counts
    }
    first = {text: index for index, text in reversed(list(enumerate(texts)))}
    return sorted(((first[text], utility) for text, utility in utilities.items()), key=lambda each: (-each[1], each[0]))


class Sampler:
    """Draws tokens. The samples of a sentence depend only on the seed and its key, not on the rest of the batch.

    Args:
        settings: Seed, samples per sentence, top_k and top_p.
        keys: A number for each sentence.
        max_lengths: Maximum length of each sentence's hypotheses, (sentences,).
    """

    def __init__(self, settings: Decoding, keys: Sequence[int], max_lengths: Tensor) -> None:
        self.processors = build_sampling_processors(settings)
        length = int(max_lengths.max()) if len(max_lengths) else 0
        streams = ((settings.seed, key, sample) for key in keys for sample in range(settings.n_best))
        numbers = [np.random.default_rng(stream).random(length) for stream in streams]
        self.device = device_for_float64(max_lengths.device)
        self.numbers = torch.tensor(np.array(numbers), device=self.device)  # (samples, length), 0 to 1

    def draw(self, logits: Tensor, tokens: Tensor, samples: list[int]) -> Tensor:
        """A token for each row, (rows,).

        Args:
            logits: (rows, vocabulary).
            tokens: The tokens of each row so far, (rows, length).
            samples: Which sample of the batch each row is.
        """
        probabilities = apply_processors(self.processors, logits, tokens).softmax(dim=-1)
        cumulative = probabilities.to(self.device).double().cumsum(dim=-1)  # (rows, vocabulary)
        rows = to_device(torch.tensor(samples), self.device)  # (rows,)
        numbers = self.numbers[rows, tokens.shape[1]][:, None] * cumulative[:, -1:]  # (rows, 1)
        drawn = torch.searchsorted(cumulative, numbers, right=True)[:, 0].clamp(max=logits.shape[1] - 1)  # (rows,)
        return drawn.to(logits.device)
