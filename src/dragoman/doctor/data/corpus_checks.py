"""Checks that compare each pair with the whole corpus, and a check of the languages of the corpus."""

from __future__ import annotations

import math
from collections import Counter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.corpus_statistics import CorpusStatistics
from dragoman.doctor.data.languages import stopword_share, usual_script
from dragoman.doctor.data.line_statistics import Digests, Flags
from dragoman.doctor.data.scripts import SCRIPTS

MIN_LOG_RATIO = math.log(3)  # a length ratio this far from the usual one is suspicious …
MIN_DEVIATIONS = 5.0  # … if it is also this many standard deviations away
MIN_CHARACTERS = 20  # pairs of shorter texts may have any length ratio
STOPWORD_FACTOR = 3.0  # swapped sides have this many times as many stopwords of the other language
MIN_STOPWORD_SHARE = 0.03  # of the words in the other language
COPY_TASK_SHARE = 0.9  # of pairs with equal sides; above it, copying is the task


def flag_duplicates(statistics: CorpusStatistics, earlier: Digests) -> Flags:
    """Pairs that repeat an earlier pair of this corpus or of earlier corpora; pairs with an empty side do not count."""
    digests = statistics.pair_digests
    _, first_indices = np.unique(digests, return_index=True)
    repeated = np.ones(len(digests), np.bool_)
    repeated[first_indices] = False
    flags: Flags = (repeated | np.isin(digests, earlier)) & ~statistics.flags["empty-side"]
    return flags


def flag_overlap(statistics: CorpusStatistics, others: Digests) -> Flags:
    """Pairs that are also in other corpora; pairs with an empty side do not count."""
    flags: Flags = np.isin(statistics.pair_digests, others) & ~statistics.flags["empty-side"]
    return flags


def flag_length_ratios(statistics: CorpusStatistics) -> Flags:
    """Pairs whose ratio of lengths is far from the median of the corpus."""
    source, target = statistics.source.lengths.astype(float), statistics.target.lengths.astype(float)
    log_ratio = np.log(target + 5) - np.log(source + 5)
    distance = np.abs(log_ratio - (np.median(log_ratio) if len(log_ratio) else 0.0))
    # 1.4826 times the median absolute deviation is the standard deviation of a normal distribution.
    deviation = 1.4826 * np.median(distance) if len(distance) else 0.0
    unusual = distance > max(MIN_LOG_RATIO, MIN_DEVIATIONS * deviation)
    flags: Flags = unusual & (np.maximum(source, target) >= MIN_CHARACTERS) & ~statistics.flags["empty-side"]
    return flags


def flag_scripts(statistics: CorpusStatistics) -> Flags:
    """Pairs with a side in a different script from most of that side."""
    flags = np.zeros(len(statistics), np.bool_)
    for side in (statistics.source, statistics.target):
        flags |= (side.scripts > 0) & (side.scripts != _most_common_script(side.scripts))
    return flags


def _most_common_script(scripts: NDArray[np.uint8]) -> int:
    """The index of the most common script; 0 if no line has a predominant script."""
    counts = np.bincount(scripts[scripts > 0], minlength=1)
    return int(counts.argmax())


def is_copy_task(statistics: CorpusStatistics) -> bool:
    """Whether nearly all targets are copies of their sources."""
    copied = statistics.source.digests == statistics.target.digests
    return len(copied) > 0 and bool(copied.mean() > COPY_TASK_SHARE)


def check_languages(
    statistics: CorpusStatistics, source_language: str, target_language: str
) -> Literal["swapped-sides", "wrong-script"] | None:
    """The code of the problem that the languages of the whole corpus have, if any."""
    expected = [usual_script(language) for language in (source_language, target_language)]
    actual = [SCRIPTS[_most_common_script(side.scripts)] for side in (statistics.source, statistics.target)]
    if None in expected or "none" in actual:
        return None
    if actual != expected:
        return "swapped-sides" if actual == expected[::-1] else "wrong-script"
    if expected[0] != expected[1]:
        return None
    swapped = _has_stopwords_of(statistics.source.word_counts, target_language, source_language) and (
        _has_stopwords_of(statistics.target.word_counts, source_language, target_language)
    )
    return "swapped-sides" if swapped else None


def _has_stopwords_of(word_counts: Counter[str], other: str, language: str) -> bool:
    """Whether words have far more stopwords of another language than of the expected one."""
    own_share, other_share = stopword_share(word_counts, language), stopword_share(word_counts, other)
    if own_share is None or other_share is None:
        return False
    return other_share > max(STOPWORD_FACTOR * own_share, MIN_STOPWORD_SHARE)
