"""Beam search over a whole batch (Sutskever et al. 2014, section 3.2; Wu et al. 2016, section 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.search.hypothesis import BeamTrace, Decoder, Hypothesis, finished_hypothesis, length_penalty
from dragoman.search.log_probabilities import log_probabilities
from dragoman.search.logits_processors import Constraints, apply_processors, build_processors
from dragoman.settings import Decoding
from dragoman.system.device import to_device


def beam_search(
    decoder: Decoder, cache: Any, settings: Decoding, constraints: Constraints, trace: BeamTrace | None = None
) -> list[list[Hypothesis]]:
    """The `n_best` hypotheses of each sentence, best first; finished sentences are removed from the batch.

    A hypothesis ends when eos is among the `beam_size` best continuations, or at its maximum length,
    where eos is forced. A sentence is finished when `beam_size` hypotheses have ended, or when none of
    the live ones could still beat its `n_best`.

    Args:
        decoder: The model.
        cache: Its cache, with one row per sentence.
        settings: Beam size, length penalty and logits processors.
        constraints: Maximum lengths, prefixes and forbidden ids.
        trace: Records the candidates of each step.
    """
    search = _BeamSearch(settings, constraints)
    beams = _Beams.first(len(constraints.max_lengths), constraints.max_lengths.device)
    tokens = torch.full_like(constraints.max_lengths, constraints.bos)
    while beams.sentences:
        candidates = search.continuations(beams, decoder.step(tokens, cache))
        live = search.without_ended(candidates)
        read_candidates, read_live = read_together(candidates, live)
        search.collect_ended(beams, read_candidates)
        search.history.add(beams.sentences, read_live)
        before, unfinished = beams, search.unfinished(beams, read_live)
        beams, rows, kept = search.advance(beams, live, unfinished)
        if trace is not None:
            _record(trace, before, candidates, beams, search.ended)
        cache.select(rows, kept)
        tokens = beams.tokens[:, :, -1].flatten()
    return [each.best(settings.n_best) for each in search.ended]


@dataclass
class _Beams:
    """The live hypotheses of the sentences still in the batch."""

    sentences: list[int]  # index of each sentence in the input
    scores: Tensor  # (sentences, width), summed log-probabilities, float32; -inf: no hypothesis
    tokens: Tensor  # (sentences, width, length), int64

    @classmethod
    def first(cls, sentences: int, device: torch.device) -> _Beams:
        """One empty hypothesis for each sentence."""
        return cls(
            sentences=list(range(sentences)),
            scores=torch.zeros(sentences, 1, device=device),
            tokens=torch.empty(sentences, 1, 0, dtype=torch.int64, device=device),
        )


@dataclass
class _Ended:
    """Ended hypotheses of one sentence."""

    hypotheses: list[Hypothesis] = field(default_factory=list)

    def best(self, n: int) -> list[Hypothesis]:
        return sorted(self.hypotheses, key=lambda hypothesis: -hypothesis.score)[:n]


class _BeamSearch:
    """The steps of one search."""

    def __init__(self, settings: Decoding, constraints: Constraints) -> None:
        self.settings, self.constraints = settings, constraints
        self.processors = build_processors(settings, constraints.forbidden, constraints.eos, constraints.required_ids)
        self.ended = [_Ended() for _ in constraints.limits]
        self.history = History()

    def continuations(self, beams: _Beams, logits: Tensor) -> Continuations:
        """The 2 * beam_size best continuations of each sentence: enough for beam_size continuations without eos.

        Args:
            beams: The live hypotheses.
            logits: Of their next tokens, (sentences * width, vocabulary).
        """
        (sentences, width), beam_size = beams.scores.shape, self.settings.beam_size
        best, values = self._best_tokens(beams, logits)  # (sentences * width, best) each
        count = best.shape[1]
        values = values.view(sentences, width * count)
        scores = (beams.scores[:, :, None] + values.view(sentences, width, count)).flatten(1)
        scores, order = scores.topk(min(2 * beam_size, width * count), dim=-1)  # (sentences, candidates)
        return Continuations(
            scores=scores,
            origins=order // count,
            tokens=best.view(sentences, -1).gather(1, order),
            log_probabilities=values.gather(1, order),
        )

    def _best_tokens(self, beams: _Beams, logits: Tensor) -> tuple[Tensor, Tensor]:
        """The best next tokens of each hypothesis and their log-probabilities, (sentences * width, best) each."""
        width, length = beams.tokens.shape[1:]
        forced = self.constraints.forced_tokens(length, beams.sentences)
        original = logits if forced is None else logits.clone()
        logits = apply_processors(self.processors, logits, beams.tokens.flatten(0, 1))
        allowed = self.constraints.restrict(logits, beams.tokens.flatten(0, 1), beams.sentences)
        # no hypothesis can contribute more than beam_size live continuations and eos
        best = allowed.topk(min(self.settings.beam_size + 1, logits.shape[1]), dim=-1).indices
        values = log_probabilities(logits, best)
        if allowed is not logits:
            values = values.masked_fill(allowed.gather(1, best) == -math.inf, -math.inf)
        if forced is None:
            return best, values
        return self.constraints.apply(best, values, forced.repeat_interleave(width), logits, original)

    def without_ended(self, candidates: Continuations) -> Continuations:
        """The beam_size best candidates of each sentence without eos; -inf in place of missing ones."""
        scores = candidates.scores.masked_fill(candidates.tokens == self.constraints.eos, -math.inf)
        scores, order = scores.topk(min(self.settings.beam_size, scores.shape[1]), dim=-1)  # (sentences, width)
        return replace(candidates.gather(order), scores=scores)

    def collect_ended(self, beams: _Beams, candidates: Continuations) -> None:
        """Store the hypotheses that end in this step, with eos among the beam_size best continuations."""
        ended = (candidates.tokens == self.constraints.eos) & (candidates.scores > -math.inf)
        ended[:, self.settings.beam_size :] = False
        for index, candidate in zip(*ended.nonzero(), strict=True):
            sentence = beams.sentences[index]
            tokens, values = self.history.hypothesis(sentence, candidates.origins[index, candidate])
            values.append(float(candidates.log_probabilities[index, candidate]))
            hypothesis = finished_hypothesis(tokens, values, self.settings.length_penalty)
            self.ended[sentence].hypotheses.append(hypothesis)

    def unfinished(self, beams: _Beams, live: Continuations) -> list[int]:
        """Indices of the sentences whose search continues, in the order that they will have."""
        length = beams.tokens.shape[2]
        continued = [
            index
            for index, (sentence, score) in enumerate(zip(beams.sentences, live.scores[:, 0].tolist(), strict=True))
            if length + 1 < self.constraints.limits[sentence] and not self._is_settled(sentence, score)
        ]
        return fill_gaps(continued)

    def _is_settled(self, sentence: int, score: float) -> bool:
        """Whether no live hypothesis, the best of which has this score, can still be among the best."""
        ended, n_best = self.ended[sentence], self.settings.n_best
        if len(ended.hypotheses) >= self.settings.beam_size:
            return True
        # log-probabilities are never positive, so the longest continuation has the best penalty
        bound = score / length_penalty(self.constraints.limits[sentence], self.settings.length_penalty)
        return len(ended.hypotheses) >= n_best and ended.best(n_best)[-1].score >= bound

    def advance(
        self, beams: _Beams, live: Continuations, unfinished: list[int]
    ) -> tuple[_Beams, Tensor, Tensor | None]:
        """The beams after this step, the cache rows that they continue, and the sentences to keep (None: all)."""
        device, kept = beams.scores.device, None
        first = torch.arange(len(beams.sentences), device=device)[:, None] * beams.scores.shape[1]
        if len(unfinished) < len(beams.sentences):
            kept = to_device(torch.tensor(unfinished, dtype=torch.int64), device)  # (kept sentences,)
            first, live = first[kept], live.select(kept)
        rows = first + live.origins  # (kept, width)
        advanced = _Beams(
            sentences=[beams.sentences[index] for index in unfinished],
            scores=live.scores,
            tokens=torch.cat((beams.tokens.flatten(0, 1)[rows], live.tokens[:, :, None]), dim=2),
        )
        return advanced, rows.flatten(), kept


def _record(trace: BeamTrace, before: _Beams, candidates: Continuations, after: _Beams, ended: list[_Ended]) -> None:
    """Record the candidates of a step, and whether each was kept, ended or dropped."""
    kept: dict[int, list[list[int]]] = {
        sentence: tokens[scores > -math.inf].tolist()
        for sentence, tokens, scores in zip(after.sentences, after.tokens, after.scores, strict=True)
    }
    for index, sentence in enumerate(before.sentences):
        prefixes = before.tokens[index, candidates.origins[index]]  # (candidates, length)
        tokens = torch.cat((prefixes, candidates.tokens[index][:, None]), dim=1).tolist()
        values, scores = candidates.log_probabilities[index].tolist(), candidates.scores[index].tolist()
        possible = [each for each in zip(tokens, values, scores, strict=True) if each[2] > -math.inf]
        trace.add(sentence, possible, kept.get(sentence, []), ended[sentence].hypotheses)


def fill_gaps(kept: Sequence[int]) -> list[int]:
    """The indices of the rows to keep, which ascend, in an order in which few rows move.

    The last rows take the places of the removed ones: rows 0, 2, 3 and 5 of 6 become 0, 5, 2, 3.
    """
    size, found = len(kept), set(kept)
    last = iter([row for row in kept if row >= size])
    return [row if row in found else next(last) for row in range(size)]


@dataclass
class Continuations:
    """Continuations of the hypotheses of each sentence by one token, best first: tensors, or arrays on the CPU."""

    scores: Any  # (sentences, continuations), summed log-probabilities
    origins: Any  # (sentences, continuations), index of the hypothesis that each continues
    tokens: Any  # (sentences, continuations)
    log_probabilities: Any  # (sentences, continuations), of the last token

    @property
    def fields(self) -> tuple[Any, Any, Any, Any]:
        """The tensors or arrays in order."""
        return self.scores, self.origins, self.tokens, self.log_probabilities

    def gather(self, order: Tensor) -> Continuations:
        """Some continuations of each sentence, given their indices, (sentences, chosen)."""
        return Continuations(*(each.gather(1, order) for each in self.fields))

    def select(self, sentences: Tensor) -> Continuations:
        """The continuations of some sentences, given their indices, (chosen,)."""
        return Continuations(*(each[sentences] for each in self.fields))


def read_together(*continuations: Continuations) -> list[Continuations]:
    """Copies on the CPU, by a single transfer, because a GPU finishes all its work before each.

    Everything is transferred in the data type of the scores. Ids below 2**24 are exact in float32.
    """
    tensors = [each for one in continuations for each in one.fields]
    together = torch.cat([each.to(continuations[0].scores.dtype) for each in tensors], dim=1)
    joined: NDArray[np.float64] = together.cpu().double().numpy()
    arrays = iter(np.split(joined, np.cumsum([each.shape[1] for each in tensors])[:-1], axis=1))
    read = []
    for _ in continuations:
        scores, origins, tokens, log_probabilities = (next(arrays) for _ in range(4))
        read.append(Continuations(scores, origins.astype(np.int64), tokens.astype(np.int64), log_probabilities))
    return read


class History:
    """The live hypotheses of every step so far, as links to those of the step before."""

    def __init__(self) -> None:
        self._steps: list[tuple[dict[int, int], Continuations]] = []  # row of each sentence, and what was kept

    def add(self, sentences: Sequence[int], kept: Continuations) -> None:
        """Add a step: the sentence of each row, and the continuations that were kept, on the CPU."""
        self._steps.append(({sentence: row for row, sentence in enumerate(sentences)}, kept))

    def hypothesis(self, sentence: int, index: int) -> tuple[list[int], list[float]]:
        """Tokens and log-probabilities of a hypothesis of the last step, given its index among those of a sentence."""
        tokens, log_probabilities = [], []
        for rows, kept in reversed(self._steps):
            row = rows[sentence]
            tokens.append(int(kept.tokens[row, index]))
            log_probabilities.append(float(kept.log_probabilities[row, index]))
            index = int(kept.origins[row, index])
        return tokens[::-1], log_probabilities[::-1]
