"""Beam search over a whole batch (Sutskever et al. 2014, section 3.2; Wu et al. 2016, section 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import torch
from torch import Tensor

from dragoman.search.constraints import Forcing, force
from dragoman.search.hypothesis import CacheType, Hypothesis, Step, finish
from dragoman.search.hypothesis import length_penalty as penalty_of
from dragoman.search.log_probabilities import log_probabilities
from dragoman.search.logits_processors import Filter, apply_filters
from dragoman.search.trace import BeamTrace


@dataclass
class _Beams:
    """The live hypotheses of the sentences still in the batch."""

    sentences: list[int]  # which input each is
    scores: Tensor  # (sentences, width), summed log-probabilities, float32; -inf where there is none
    tokens: Tensor  # (sentences, width, length), int64
    log_probabilities: Tensor  # (sentences, width, length), float32


@dataclass
class _Candidates:
    """The best continuations of each sentence's hypotheses, best first."""

    scores: Tensor  # (sentences, candidates), summed log-probabilities
    origins: Tensor  # (sentences, candidates), which hypothesis each continues
    tokens: Tensor  # (sentences, candidates)
    log_probabilities: Tensor  # (sentences, candidates), of the last token


@dataclass
class _Finished:
    """Ended hypotheses of one sentence."""

    hypotheses: list[Hypothesis] = field(default_factory=list)

    def best(self, n: int) -> list[Hypothesis]:
        return sorted(self.hypotheses, key=lambda hypothesis: -hypothesis.score)[:n]


def beam_search(
    step: Step[CacheType],
    cache: CacheType,
    *,
    bos: int,
    eos: int,
    beam_size: int,
    n_best: int,
    max_lengths: Tensor,
    length_penalty: float,
    filters: Sequence[Filter],
    prefixes: Tensor | None = None,
    trace: BeamTrace | None = None,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each sentence, best first; finished sentences leave the batch.

    A hypothesis ends when eos is among the beam_size best continuations, or at its maximum length,
    where eos is forced. A sentence is finished when beam_size hypotheses have ended, or when none of
    the live ones could still beat its n_best.

    Args:
        step: The model.
        cache: Prepared for one row a sentence.
        bos: Id every hypothesis starts from.
        eos: Id that ends a hypothesis.
        beam_size: Hypotheses kept at each step.
        n_best: Hypotheses to return.
        max_lengths: Most tokens of each sentence's hypotheses, eos included, (sentences,), int64.
        length_penalty: Exponent of the length penalty.
        filters: Applied to the logits of each step.
        prefixes: What each sentence's hypotheses begin with, see `Forcing`.
        trace: Is told what each step considered.
    """
    device = max_lengths.device
    count, limits = len(max_lengths), max_lengths.tolist()
    finished = [_Finished() for _ in range(count)]
    forcing = Forcing(prefixes, max_lengths, eos)
    beams = _Beams(
        sentences=list(range(count)),
        scores=torch.zeros(count, 1, device=device),
        tokens=torch.empty(count, 1, 0, dtype=torch.int64, device=device),
        log_probabilities=torch.empty(count, 1, 0, device=device),
    )
    tokens = torch.full((count,), bos, device=device)
    while beams.sentences:
        logits = step(tokens, cache)  # (sentences * width, vocabulary)
        width, length = beams.tokens.shape[1:]
        forced = forcing.at(length, beams.sentences)
        seen = logits if forced is None else logits.clone()
        logits = apply_filters(filters, logits, beams.tokens.flatten(0, 1))
        # no hypothesis can contribute more than beam_size live continuations and eos
        best = logits.topk(min(beam_size + 1, logits.shape[1]), dim=-1).indices  # (rows, best)
        values = log_probabilities(logits, best)
        if forced is not None:
            best, values = force(best, values, forced.repeat_interleave(width), logits, seen)
        candidates = _continue(beams, best, values, beam_size)
        _collect(beams, candidates, finished, beam_size, eos, length_penalty)
        settled = _settled(beams, candidates, finished, beam_size, n_best, limits, length_penalty)
        going = [
            index
            for index, (sentence, done) in enumerate(zip(beams.sentences, settled, strict=True))
            if not done and length + 1 < limits[sentence]
        ]
        before = beams
        beams, rows, kept = _advance(beams, candidates, beam_size, eos, going)
        if trace is not None:
            _record(trace, before, candidates, beams, finished)
        cache.select(rows, kept)
        tokens = beams.tokens[:, :, -1].flatten()
    return [each.best(n_best) for each in finished]


def _continue(beams: _Beams, best: Tensor, values: Tensor, beam_size: int) -> _Candidates:
    """The 2 * beam_size best continuations of each sentence: enough for beam_size live ones beside eos.

    Args:
        beams: The live hypotheses.
        best: Continuations of each, best first, (sentences * width, best).
        values: Their log-probabilities, of the same shape.
        beam_size: Hypotheses kept.
    """
    sentences, width = beams.scores.shape
    most = best.shape[1]
    values = values.view(sentences, width * most)
    scores = (beams.scores[:, :, None] + values.view(sentences, width, most)).flatten(1)
    scores, order = scores.topk(min(2 * beam_size, width * most), dim=-1)  # (sentences, candidates)
    return _Candidates(
        scores=scores,
        origins=order // most,
        tokens=best.view(sentences, -1).gather(1, order),
        log_probabilities=values.gather(1, order),
    )


def _collect(
    beams: _Beams, candidates: _Candidates, finished: list[_Finished], beam_size: int, eos: int, alpha: float
) -> None:
    """Move continuations that end within the beam to the finished ones."""
    ended = (candidates.tokens == eos) & (candidates.scores > -math.inf)
    ended[:, beam_size:] = False
    places = ended.nonzero()  # (ended, 2)
    if not len(places):
        return
    index, candidate = places.unbind(1)
    origins = candidates.origins[index, candidate]
    last = candidates.log_probabilities[index, candidate]
    found = beams.tokens[index, origins].tolist(), beams.log_probabilities[index, origins].tolist(), last.tolist()
    for sentence, tokens, values, value in zip(index.tolist(), *found, strict=True):
        hypothesis = finish(tokens, [*values, value], alpha)
        finished[beams.sentences[sentence]].hypotheses.append(hypothesis)


def _settled(
    beams: _Beams,
    candidates: _Candidates,
    finished: list[_Finished],
    beam_size: int,
    n_best: int,
    limits: list[int],
    alpha: float,
) -> list[bool]:
    """Which sentences need no further search."""
    done = []
    for sentence, score in zip(beams.sentences, candidates.scores[:, 0].tolist(), strict=True):
        ended = finished[sentence].hypotheses
        # log-probabilities are never positive, so the longest continuation has the best penalty
        bound = score / penalty_of(limits[sentence], alpha)
        beaten = len(ended) >= n_best and finished[sentence].best(n_best)[-1].score >= bound
        done.append(beaten or len(ended) >= beam_size)
    return done


def _advance(
    beams: _Beams, candidates: _Candidates, beam_size: int, eos: int, going: list[int]
) -> tuple[_Beams, Tensor, Tensor | None]:
    """The beams after this step, the cache rows they continue, and the sentences kept if some are not."""
    kept = None
    if len(going) < len(beams.sentences):
        kept = torch.tensor(going, dtype=torch.int64, device=beams.scores.device)  # (kept sentences,)
        candidates = _Candidates(*(getattr(candidates, each.name)[kept] for each in fields(candidates)))
    scores = candidates.scores.masked_fill(candidates.tokens == eos, -math.inf)
    scores, order = scores.topk(min(beam_size, scores.shape[1]), dim=-1)  # (kept, width)
    first = torch.arange(len(beams.sentences), device=scores.device)[:, None] * beams.scores.shape[1]
    rows = (first if kept is None else first[kept]) + candidates.origins.gather(1, order)  # (kept, width)
    values = candidates.log_probabilities.gather(1, order)[:, :, None]
    tokens = candidates.tokens.gather(1, order)[:, :, None]
    advanced = _Beams(
        sentences=[beams.sentences[index] for index in going],
        scores=scores,
        tokens=torch.cat((beams.tokens.flatten(0, 1)[rows], tokens), dim=2),
        log_probabilities=torch.cat((beams.log_probabilities.flatten(0, 1)[rows], values), dim=2),
    )
    return advanced, rows.flatten(), kept


def _record(
    trace: BeamTrace, before: _Beams, candidates: _Candidates, after: _Beams, finished: list[_Finished]
) -> None:
    """Tell the trace what a step considered, and what became of it."""
    kept: dict[int, list[list[int]]] = {
        sentence: tokens[scores > -math.inf].tolist()
        for sentence, tokens, scores in zip(after.sentences, after.tokens, after.scores, strict=True)
    }
    for index, sentence in enumerate(before.sentences):
        prefixes = before.tokens[index, candidates.origins[index]]  # (candidates, length)
        tokens = torch.cat((prefixes, candidates.tokens[index][:, None]), dim=1).tolist()
        values, scores = candidates.log_probabilities[index].tolist(), candidates.scores[index].tolist()
        possible = [each for each in zip(tokens, values, scores, strict=True) if each[2] > -math.inf]
        trace.add(sentence, possible, kept.get(sentence, []), finished[sentence].hypotheses)
