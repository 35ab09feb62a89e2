"""Beam search over a whole batch (Sutskever et al. 2014, section 3.2; Wu et al. 2016, section 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from dragoman.search.filters import Filter, apply_filters
from dragoman.search.hypothesis import CacheType, Hypothesis, Step, finish
from dragoman.search.hypothesis import length_penalty as penalty_of
from dragoman.search.trace import BeamTrace


@dataclass
class _Beams:
    """The live hypotheses of the sentences still in the batch."""

    sentences: Tensor  # (sentences,), which input each is, int64
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
        trace: Is told what each step considered.
    """
    device = max_lengths.device
    count = len(max_lengths)
    finished = [_Finished() for _ in range(count)]
    beams = _Beams(
        sentences=torch.arange(count, device=device),
        scores=torch.zeros(count, 1, device=device),
        tokens=torch.empty(count, 1, 0, dtype=torch.int64, device=device),
        log_probabilities=torch.empty(count, 1, 0, device=device),
    )
    tokens = torch.full((count,), bos, device=device)
    while len(beams.sentences):
        logits = apply_filters(filters, step(tokens, cache))  # (sentences * width, vocabulary)
        last = max_lengths[beams.sentences] <= beams.tokens.shape[2] + 1  # (sentences,)
        candidates = _continue(beams, logits, beam_size, eos, last)
        _collect(beams, candidates, finished, beam_size, eos, length_penalty)
        done = last | _settled(beams, candidates, finished, beam_size, n_best, max_lengths, length_penalty)
        before = beams
        beams, rows, kept = _advance(beams, candidates, beam_size, eos, ~done)
        if trace is not None:
            _record(trace, before, candidates, beams, finished)
        cache.select(rows, kept if bool(done.any()) else None)
        tokens = beams.tokens[:, :, -1].flatten()
    return [each.best(n_best) for each in finished]


def _continue(beams: _Beams, logits: Tensor, beam_size: int, eos: int, last: Tensor) -> _Candidates:
    """The 2 * beam_size best continuations of each sentence: enough for beam_size live ones beside eos."""
    sentences, width = beams.scores.shape
    totals = logits.logsumexp(dim=-1, keepdim=True)  # (rows, 1)
    if bool(last.any()):
        only_eos = torch.full_like(logits, -math.inf)
        only_eos[:, eos] = logits[:, eos]
        logits = torch.where(last.repeat_interleave(width)[:, None], only_eos, logits)
    # no hypothesis can contribute more than beam_size live continuations and eos
    values, tokens = logits.topk(min(beam_size + 1, logits.shape[1]), dim=-1)  # (rows, best)
    values = (values - totals).view(sentences, width, -1)  # (sentences, width, best)
    best = values.shape[2]
    scores = (beams.scores[:, :, None] + values).flatten(1)
    scores, order = scores.topk(min(2 * beam_size, width * best), dim=-1)  # (sentences, candidates)
    return _Candidates(
        scores=scores,
        origins=order // best,
        tokens=tokens.view(sentences, -1).gather(1, order),
        log_probabilities=values.flatten(1).gather(1, order),
    )


def _collect(
    beams: _Beams, candidates: _Candidates, finished: list[_Finished], beam_size: int, eos: int, alpha: float
) -> None:
    """Move continuations that end within the beam to the finished ones."""
    ended = (candidates.tokens == eos) & (candidates.scores > -math.inf)
    ended[:, beam_size:] = False
    for index, candidate in ended.nonzero().tolist():
        origin = int(candidates.origins[index, candidate])
        log_probabilities = beams.log_probabilities[index, origin].tolist()
        log_probabilities.append(float(candidates.log_probabilities[index, candidate]))
        hypothesis = finish(beams.tokens[index, origin].tolist(), log_probabilities, alpha)
        finished[int(beams.sentences[index])].hypotheses.append(hypothesis)


def _settled(
    beams: _Beams,
    candidates: _Candidates,
    finished: list[_Finished],
    beam_size: int,
    n_best: int,
    max_lengths: Tensor,
    alpha: float,
) -> Tensor:
    """Which sentences need no further search, (sentences,)."""
    done = []
    best = candidates.scores[:, 0].tolist()
    for sentence, score in zip(beams.sentences.tolist(), best, strict=True):
        ended = finished[sentence].hypotheses
        # log-probabilities are never positive, so the longest continuation has the best penalty
        bound = score / penalty_of(int(max_lengths[sentence]), alpha)
        beaten = len(ended) >= n_best and finished[sentence].best(n_best)[-1].score >= bound
        done.append(beaten or len(ended) >= beam_size)
    return torch.tensor(done, device=beams.sentences.device)


def _advance(
    beams: _Beams, candidates: _Candidates, beam_size: int, eos: int, going: Tensor
) -> tuple[_Beams, Tensor, Tensor]:
    """The beams after this step, the cache rows they continue, and the sentences kept."""
    kept = going.nonzero()[:, 0]  # (kept sentences,)
    scores = candidates.scores[kept].masked_fill(candidates.tokens[kept] == eos, -math.inf)
    scores, order = scores.topk(min(beam_size, scores.shape[1]), dim=-1)  # (kept, width)
    origins = candidates.origins[kept].gather(1, order)
    rows = kept[:, None] * beams.scores.shape[1] + origins  # (kept, width)
    values = candidates.log_probabilities[kept].gather(1, order)[:, :, None]
    tokens = candidates.tokens[kept].gather(1, order)[:, :, None]
    advanced = _Beams(
        sentences=beams.sentences[kept],
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
        for sentence, tokens, scores in zip(after.sentences.tolist(), after.tokens, after.scores, strict=True)
    }
    for index, sentence in enumerate(before.sentences.tolist()):
        prefixes = before.tokens[index, candidates.origins[index]]  # (candidates, length)
        tokens = torch.cat((prefixes, candidates.tokens[index][:, None]), dim=1).tolist()
        values, scores = candidates.log_probabilities[index].tolist(), candidates.scores[index].tolist()
        possible = [each for each in zip(tokens, values, scores, strict=True) if each[2] > -math.inf]
        trace.add(sentence, possible, kept.get(sentence, []), finished[sentence].hypotheses)
