"""Pairs with a side of which about the second half is missing.

What such a pair looks like differs between corpora: whether sentences end with punctuation, and how well the length and
the words of a side are known from the other side. Therefore texts of the corpus itself are cut, and a logistic
regression learns from them and from the complete texts how much weight each kind of evidence has.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.corpus_statistics import CorpusStatistics, SideStatistics
from dragoman.doctor.data.length_model import Floats, LengthModel
from dragoman.doctor.data.line_statistics import Flags, end_of
from dragoman.doctor.data.pair_scores import PairScores
from dragoman.doctor.data.words import HASHES, find_words

MIN_LINES = 2_000  # of a corpus; fewer do not show what a cut text looks like
LEARNED_LINES, CUT_LINES = 20_000, 2_000  # complete texts, and texts that are cut
MIN_WORDS = 4  # of texts that are cut
USUAL_SHARE = 0.01  # of texts that are cut off, in the corpora that this is for
WIDE_SHARE, WIDER = 0.1, 2.5  # of the pairs, whose lengths deviate that many times as much
HALF_DEVIATION = 0.15  # of the log-length of a text of which about one half is missing
MIN_END_SHARE = 0.003  # of an end that hardly any text has
END_PRIOR = 20.0  # texts with the average ends, for each end of the other side
LAST_PRIOR = 20.0  # occurrences of the average word at the end of texts
LIMITS = np.array([6.0, 6.0, 5.0, 4.0, 6.0])  # nats of each kind of evidence
ROUNDS, STEPS, PENALTY = 4, 15, 0.1  # of the regression
DOUBTFUL = -1.0  # log-odds of complete texts from which the next round does not learn
MIN_LOG_ODDS = 1.5


def flag_cut_off(statistics: CorpusStatistics, lengths: LengthModel, scores: PairScores, excluded: Flags) -> Flags:
    """The pairs with a side that was cut off.

    Args:
        statistics: Statistics of the corpus.
        lengths: The lengths of its lines.
        scores: What the words of its pairs show.
        excluded: Pairs that are explained, from which nothing is learned.
    """
    flags = np.zeros(len(statistics), np.bool_)
    if len(statistics) >= MIN_LINES and (~excluded).sum() >= MIN_LINES:
        for side in (0, 1):
            flags |= _Detector(statistics, lengths, scores, side).find(~excluded)
    return flags & ~excluded


class _Detector:
    """Finds texts of one side that were cut off; 0 for the source."""

    def __init__(self, statistics: CorpusStatistics, lengths: LengthModel, scores: PairScores, side: int) -> None:
        sides = statistics.source, statistics.target
        self._own, self._other = sides[side], sides[1 - side]
        self._side, self._lengths, self._links = side, lengths, scores.links
        self._total = scores.translation
        self._tail = scores.source_tail if side else scores.target_tail
        self._last = _evidence_of_last_words(self._own)

    def find(self, learned: Flags) -> Flags:
        """The texts that were cut off, given the lines from which to learn."""
        chosen, halves = self._cut_texts(learned)
        if not len(chosen):
            return np.zeros(len(learned), np.bool_)
        self._ends = _ends_by_other(self._own, self._other, np.array([end_of(text) for text in halves], np.uint32))
        every = np.arange(len(learned))
        features = self._features(
            every, self._own.lengths, self._own.ends, self._own.last_words, self._tail, self._total
        )
        lines = learned.nonzero()[0]
        complete = features[lines[:: -(-len(lines) // LEARNED_LINES)]]
        cut = self._features_of_cut(chosen, halves)
        weights = np.zeros(features.shape[1])
        for _ in range(ROUNDS):  # complete texts that look cut are cut
            kept = complete[complete @ weights <= DOUBTFUL] if weights.any() else complete
            weights = _fit(kept, cut)
        flags: Flags = features @ weights >= MIN_LOG_ODDS
        return flags

    def _cut_texts(self, learned: Flags) -> tuple[list[int], list[str]]:
        """Some lines, and the first halves of their texts."""
        texts = self._own.mixture, self._other.mixture  # the first lines of the corpus
        lines = [
            index
            for index in learned[: len(texts[0])].nonzero()[0].tolist()
            if min(len(texts[0][index].split()), len(texts[1][index].split())) >= MIN_WORDS
        ]
        lines = lines[:: -(-len(lines) // CUT_LINES) or 1]
        return lines, [_first_half(texts[0][index]) for index in lines]

    def _features_of_cut(self, lines: list[int], halves: list[str]) -> Floats:
        """The features of texts that are cut here."""
        words, others = find_words(halves), find_words([self._other.mixture[index] for index in lines])
        parts = np.zeros((3, len(lines)))
        if self._links:
            parts = self._links.evidence_of_parts(*((others, words) if self._side else (words, others)))
        ends = np.array([end_of(text) for text in halves], np.uint32)
        sizes = np.array([len(text) for text in halves], np.uint32)
        return self._features(
            np.array(lines, np.int64), sizes, ends, words.last, parts[1 if self._side else 2], parts[0]
        )

    def _features(
        self,
        lines: NDArray[np.int64],
        sizes: NDArray[np.uint32],
        ends: NDArray[np.uint32],
        last: NDArray[np.int32],
        tail: NDArray[np.floating],
        total: NDArray[np.floating],
    ) -> Floats:
        """The kinds of evidence that texts were cut off, and 1, (lines, features)."""
        other_ends = self._other.ends[lines]
        by_end = np.array([self._ends.get(pair, 0.0) for pair in zip(other_ends.tolist(), ends.tolist(), strict=True)])
        kinds = np.stack(
            [
                _evidence_of_length(self._lengths, self._side, lines, sizes),
                by_end,
                -tail,
                np.where(last >= 0, self._last[last], 0.0),
                -total / 2,
            ],
            axis=1,
        )
        features: Floats = np.concatenate([np.clip(kinds, -LIMITS, LIMITS), np.ones((len(lines), 1))], axis=1)
        return features


def _fit(complete: Floats, cut: Floats) -> Floats:
    """The weights of a logistic regression whose values are log-odds of being cut."""
    features = np.concatenate([complete, cut])
    wanted = np.concatenate([np.zeros(len(complete)), np.ones(len(cut))])
    importance = np.concatenate([np.ones(len(complete)), np.full(len(cut), USUAL_SHARE * len(complete) / len(cut))])
    weights: Floats = np.zeros(features.shape[1])
    penalty = PENALTY * np.eye(len(weights))
    for _ in range(STEPS):
        expected = 1 / (1 + np.exp(-np.clip(features @ weights, -30, 30)))
        curvature = importance * np.maximum(expected * (1 - expected), 1e-6)
        gradient = features.T @ (importance * (wanted - expected)) - PENALTY * weights
        weights = weights + np.linalg.solve(features.T @ (features * curvature[:, None]) + penalty, gradient)
    return weights


def _ends_by_other(own: SideStatistics, other: SideStatistics, cut: NDArray[np.uint32]) -> dict[tuple[int, int], float]:
    """Evidence of each end of a text, such as a comma, given the end of the other side, in nats; `cut` are those of cut
    texts.
    """
    kinds = np.unique(np.concatenate([own.ends, cut]))
    shares = [(ends[:, None] == kinds).mean(axis=0) for ends in (cut, own.ends)]
    evidence = {}
    for given in np.unique(other.ends).tolist():
        members = own.ends[other.ends == given]
        counts = np.array([(members == kind).sum() for kind in kinds])
        complete = (counts + END_PRIOR * shares[1]) / (len(members) + END_PRIOR)
        ratios = np.log(np.maximum(shares[0], MIN_END_SHARE) / np.maximum(complete, MIN_END_SHARE))
        evidence.update({(given, kind): ratio for kind, ratio in zip(kinds.tolist(), ratios.tolist(), strict=True)})
    return evidence


def _evidence_of_last_words(side: SideStatistics) -> NDArray[np.float64]:
    """By how much each word is rarer at the end of texts than elsewhere, by its hash, in nats, (hashes,)."""
    rates = (side.word_counts + 0.5) / max(1, int(side.word_counts.sum()))
    last = np.bincount(side.last_words[side.last_words >= 0], minlength=HASHES)
    at_end = (np.maximum(last - 1, 0) + LAST_PRIOR * rates) / (last.sum() + LAST_PRIOR)
    evidence: NDArray[np.float64] = np.log(rates / at_end)
    return evidence


def _evidence_of_length(lengths: LengthModel, side: int, lines: NDArray[np.int64], sizes: NDArray[np.uint32]) -> Floats:
    """Evidence of the lengths of texts that only half of them is there, in nats."""
    usual, deviation = lengths.expected(side, lines)
    half = np.log(np.maximum(np.exp(usual) - 3.0, 0.0) / 2 + 3.0)
    actual = np.log(sizes + 3.0)
    complete = np.logaddexp(
        math.log(1 - WIDE_SHARE) + _log_density(actual - usual, deviation),
        math.log(WIDE_SHARE) + _log_density(actual - usual, WIDER * deviation),
    )
    return _log_density(actual - half, np.hypot(deviation, HALF_DEVIATION)) - complete


def _log_density(difference: Floats, deviation: Floats) -> Floats:
    density: Floats = -0.5 * (difference / deviation) ** 2 - np.log(deviation)
    return density


def _first_half(text: str) -> str:
    words = text.split()
    return " ".join(words[: len(words) // 2])
