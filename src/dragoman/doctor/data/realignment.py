"""Decide whether lines that may be misaligned are, by comparing each source with the targets around its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.length_model import MAX_SHIFT, Floats
from dragoman.doctor.data.stretches import MIN_EVIDENCE, MIN_LINES, Stretch, best_part, best_prefix, find_peaks
from dragoman.doctor.data.word_links import WordLinks
from dragoman.doctor.data.words import find_words

MIN_END_EVIDENCE = 0.3  # nats below zero of lines next to a shifted stretch that belong to it
SHIFT_PENALTY = 2.0  # nats of additional evidence for each line of a shift
MAX_GAIN = 3.0  # nats that one line may contribute to the evidence of a shift
TRIED_SHIFTS = 4  # the most likely shifts are tried on all lines
SAMPLED_LINES, SAMPLE_DISTANCE = 50, 100  # lines that show which shifts are likely
CONTROL_SHIFTS = (-29, -23, -13, 11, 19, 28)  # at which unrelated lines are compared
MIN_CONTROL_EVIDENCE = 1.0  # mean evidence there, positive or negative, of lines whose words are known
MAX_CONTROL_ERRORS = 4.0  # by which the own targets of unrelated lines may fit better than others, in standard errors
MAX_DOUBT = 1.3  # nats; pairs with less evidence, or less than a sixth of the usual, may be unrelated
MIN_UNRELATED_EVIDENCE = 12.0  # nats below zero of unrelated lines …
MIN_SIMILAR_LINES = 40  # … or the number of such lines, which may all begin with the same words
MAX_LINE_EVIDENCE = 2.0  # nats that one line may contribute


class Block:
    """Consecutive lines that may be misaligned, with some of the lines around them."""

    def __init__(self, links: WordLinks, usual: float, sources: list[str], targets: list[str]) -> None:
        """Prepare the comparison.

        Args:
            links: Which words translate each other.
            usual: Median evidence of a pair, in nats.
            sources: The lines.
            targets: The lines.
        """
        self._links, self._usual = links, usual
        self._source, self._target = find_words(sources), find_words(targets)
        self._size = len(sources)
        self._lines = np.arange(self._size)
        self._own = self._score(self._lines, 0)
        self._free = np.ones(self._size, np.bool_)  # lines that belong to no stretch yet

    def find_misaligned(self) -> Iterator[Stretch]:
        """The misaligned stretches among the lines; the lines are counted from 0."""
        yield from self._find_shifted()
        yield from self._find_unrelated()

    def advantage(self, shift: int) -> Floats:
        """Nats by which each source fits the target `shift` lines further down better than its own."""
        difference: Floats = np.clip(self._score(self._lines, shift) - self._own, -MAX_GAIN, MAX_GAIN)
        return difference

    def _find_shifted(self) -> Iterator[Stretch]:
        gains = {shift: self._gain(self._lines, shift) for shift in self._likely_shifts()}
        while True:
            free = {shift: np.where(self._free, gain, -MAX_GAIN) for shift, gain in gains.items()}
            shift = max(free, key=lambda each: _best_sum(free[each]))
            first, last = best_part(free[shift])
            # Lists may repeat further down with other words, but hardly ever are that many lines missing.
            if _best_sum(free[shift]) < MIN_EVIDENCE + SHIFT_PENALTY * abs(shift) or last - first + 1 < MIN_LINES:
                return
            self._free[first : last + 1] = False
            # The lines at the ends of a shifted stretch may have no translation.
            evidence = self._evidence(-MIN_END_EVIDENCE)
            first -= best_prefix(evidence[:first][::-1][:MIN_LINES])
            last += best_prefix(evidence[last + 1 :][:MIN_LINES])
            self._free[first : last + 1] = False
            yield Stretch(first, last, shift)

    def _find_unrelated(self) -> Iterator[Stretch]:
        for first, last in find_peaks(self._evidence(min(self._usual / 6, MAX_DOUBT))):
            part = slice(first, last + 1)
            certain = self._evidence(0.0)[part].sum() >= MIN_UNRELATED_EVIDENCE or last - first + 1 >= MIN_SIMILAR_LINES
            if certain and last - first + 1 >= MIN_LINES and self._is_unrelated(part):
                yield Stretch(first, last, None)

    def _evidence(self, usual: float) -> Floats:
        """Evidence that each line is misaligned, if it is not in a stretch yet."""
        evidence = np.clip(usual - self._own, -MAX_LINE_EVIDENCE, MAX_LINE_EVIDENCE)
        return np.where(self._free, evidence, -MIN_EVIDENCE)

    def _likely_shifts(self) -> list[int]:
        """The shifts that help most in a part of a sample of the lines."""
        starts = range(0, self._size, SAMPLE_DISTANCE)
        samples = [self._lines[start : start + SAMPLED_LINES] for start in starts]
        shifts = [shift for shift in range(-MAX_SHIFT, MAX_SHIFT + 1) if shift]
        best = {shift: max(_best_sum(self._gain(sample, shift)) for sample in samples) for shift in shifts}
        return sorted(shifts, key=lambda each: -best[each])[:TRIED_SHIFTS]

    def _is_unrelated(self, part: slice) -> bool:
        """Whether the targets of lines fit no better than those further up or down."""
        lines = self._lines[part]
        control = np.array([self._score(lines, shift) for shift in CONTROL_SHIFTS])  # (shifts, lines)
        advantage = self._own[part] - control.mean(axis=0)
        error = float(advantage.std()) / len(lines) ** 0.5
        # Without words that are known, there is no evidence for or against any target.
        known = np.abs(control).mean() >= MIN_CONTROL_EVIDENCE
        return bool(known and advantage.mean() < MAX_CONTROL_ERRORS * error)

    def _gain(self, lines: NDArray[np.int64], shift: int) -> Floats:
        """Evidence for a shift of each line."""
        score = self._score(lines, shift)
        # Of two unrelated targets, one always fits better, but a translation must also fit well.
        gain: Floats = np.clip(np.minimum(score - self._own[lines], score), -MAX_GAIN, MAX_GAIN)
        return gain

    def _score(self, lines: NDArray[np.int64], shift: int) -> Floats:
        """Evidence that each source is translated by the target `shift` lines further down."""
        targets = lines + shift
        inside = (targets >= 0) & (targets < self._size)
        scores = self._links.evidence(
            self._source.select(lines), self._target.select(np.clip(targets, 0, self._size - 1))
        )
        return np.where(inside, scores, -MAX_GAIN)


def _best_sum(gain: Floats) -> float:
    first, last = best_part(gain)
    return float(gain[first : last + 1].sum())
