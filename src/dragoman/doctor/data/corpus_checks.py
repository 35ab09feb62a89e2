"""Marks that need the whole corpus: duplicates, unusual lengths, wrong scripts, exchanged sides."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.corpus_statistics import Digests, Marks, Survey
from dragoman.doctor.data.scripts import SCRIPTS, expected_script, share_of_little_words

RATIO = math.log(3)  # times as long or short as usual, at least
DEVIATIONS = 5.0  # from the usual ratio, at least
SHORT = 20  # characters; shorter texts may have any ratio
SEEN = 5  # times a word must have been seen to tell a language
CERTAIN = 4.0  # nats by which each side must look like the other
MARGIN = 3.0  # times as many little words of the other language as of its own


def duplicates(survey: Survey, earlier: Digests) -> Marks:
    """Pairs that were there before, in this corpus or an earlier one; blank ones do not count."""
    digests = survey.pair_digests
    _, firsts = np.unique(digests, return_index=True)
    again = np.ones(len(digests), np.bool_)
    again[firsts] = False
    marks: Marks = (again | np.isin(digests, earlier)) & ~survey.marks["empty-side"]
    return marks


def unusual_ratios(survey: Survey) -> Marks:
    """Pairs one side of which is far longer or shorter than others of the corpus would make it."""
    source, target = survey.source_lengths.astype(float), survey.target_lengths.astype(float)
    ratio = np.log(target + 5) - np.log(source + 5)
    usual = np.median(ratio) if len(ratio) else 0.0
    deviation = 1.4826 * np.median(np.abs(ratio - usual)) if len(ratio) else 0.0
    far = np.abs(ratio - usual) > max(RATIO, DEVIATIONS * deviation)
    marks: Marks = far & (np.maximum(source, target) >= SHORT) & ~survey.marks["empty-side"]
    return marks


def usual_script(scripts: NDArray[np.uint8]) -> int:
    """The number of the script that most texts are in; 0 if none tells."""
    counts = np.bincount(scripts[scripts > 0], minlength=1)
    return int(counts.argmax())


def wrong_scripts(survey: Survey) -> Marks:
    """Pairs with a side in another script than the rest of that side."""
    marks = np.zeros(len(survey), np.bool_)
    for scripts in (survey.source_scripts, survey.target_scripts):
        marks |= (scripts > 0) & (scripts != usual_script(scripts))
    return marks


class Tongues:
    """Tells the corpus' two sides apart by their words."""

    def __init__(self, source: Counter[str], target: Counter[str]) -> None:
        source_total, target_total = max(1, source.total()), max(1, target.total())
        words = [word for word in source | target if source[word] + target[word] >= SEEN]
        self.weights = {
            word: max(
                -3.0, min(3.0, math.log((source[word] + 0.5) / source_total * target_total / (target[word] + 0.5)))
            )
            for word in words
        }

    def exchanged(self, sources: Sequence[str], targets: Sequence[str]) -> Marks:
        """Which pairs have a source that looks like a target and a target that looks like a source."""
        return np.fromiter(
            (
                self._leaning(source) < -CERTAIN and self._leaning(target) > CERTAIN
                for source, target in zip(sources, targets, strict=True)
            ),
            np.bool_,
            len(sources),
        )

    def _leaning(self, text: str) -> float:
        """Positive for the source's language, negative for the target's, in nats."""
        get = self.weights.get
        return sum([get(word, 0.0) for word in text.lower().split()])


def wrong_languages(survey: Survey, source_language: str, target_language: str) -> str | None:
    """What is wrong with the languages of the whole corpus: 'exchanged', 'script', or None."""
    sides = ((source_language, survey.source_scripts), (target_language, survey.target_scripts))
    wanted = [expected_script(language) for language, _ in sides]
    found = [SCRIPTS[usual_script(scripts)] for _, scripts in sides]
    known = None not in wanted and "none" not in found
    if known and wanted != found:
        return "exchanged" if wanted == found[::-1] else "script"
    if not known or wanted[0] != wanted[1]:
        return None
    own, other = (
        [share_of_little_words(counts, language) for counts, language in zip(words, languages, strict=True)]
        for words, languages in (
            ((survey.source_words, survey.target_words), (source_language, target_language)),
            ((survey.source_words, survey.target_words), (target_language, source_language)),
        )
    )
    if any(share is None for share in (*own, *other)):
        return None
    exchanged = all(theirs > max(MARGIN * ours, 0.03) for ours, theirs in zip(own, other, strict=True))  # type: ignore[operator]
    return "exchanged" if exchanged else None
