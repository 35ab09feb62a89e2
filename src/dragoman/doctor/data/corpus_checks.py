"""Checks that compare each pair with the whole corpus, and a check of the languages of the corpus."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from dragoman.doctor.data.corpus_statistics import CorpusStatistics
from dragoman.doctor.data.line_statistics import Digests, Flags
from dragoman.doctor.data.pair_scores import MIN_LANGUAGE_EVIDENCE, PairScores
from dragoman.languages.codes import same_language
from dragoman.languages.identify import is_known, other_language
from dragoman.languages.scripts import SCRIPTS, most_common_script, usual_script

MIN_LOG_RATIO = math.log(3)  # a length ratio this far from the usual one is suspicious …
MIN_DEVIATIONS = 5.0  # … if it is also this many standard deviations away
ADDED_CHARACTERS = 5  # to both lengths, because the ratio of short lengths means little
MIN_CHARACTERS = 40  # of the longer side; pairs of shorter texts may have any length ratio
MIN_COPY_EVIDENCE = 3.0  # nats that show that the words of a copy are usually translated
COPIED_SHARE = 0.5  # of pairs with equal sides; above it, the corpus shows nothing about its languages


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
    log_ratio = np.log(target + ADDED_CHARACTERS) - np.log(source + ADDED_CHARACTERS)
    distance = np.abs(log_ratio - (np.median(log_ratio) if len(log_ratio) else 0.0))
    # 1.4826 times the median absolute deviation is the standard deviation of a normal distribution.
    deviation = 1.4826 * np.median(distance) if len(distance) else 0.0
    unusual = distance > max(MIN_LOG_RATIO, MIN_DEVIATIONS * deviation)
    flags: Flags = unusual & (np.maximum(source, target) >= MIN_CHARACTERS) & ~statistics.flags["empty-side"]
    return flags


def flag_repeated_sides(statistics: CorpusStatistics) -> Flags:
    """Pairs of which one side, but not the other, consists of the same text twice."""
    flags: Flags = statistics.source.doubled ^ statistics.target.doubled
    return flags & ~statistics.flags["empty-side"]


def flag_copies(statistics: CorpusStatistics, scores: PairScores) -> Flags:
    """Pairs whose sides are equal although they have words that are usually translated."""
    if not len(statistics) or statistics.equal.mean() > COPIED_SHARE:
        return statistics.equal
    scripts = statistics.source.scripts
    usual = most_common_script(scripts), most_common_script(statistics.target.scripts)
    # Names and commands may be Latin in all languages, but not in other scripts.
    by_script = (usual[0] != usual[1]) & (scripts > 0) & (scripts != SCRIPTS.index("Latin"))
    by_words = np.abs(scores.source_language) >= MIN_COPY_EVIDENCE
    flags: Flags = statistics.equal & ~statistics.recapitalized & statistics.translatable & (by_words | by_script)
    return flags


def flag_swapped(statistics: CorpusStatistics, scores: PairScores) -> Flags:
    """Pairs whose source is in the target language and whose target is in the source language."""
    evidence = -scores.source_language, scores.target_language
    by_words = np.minimum(*evidence) >= 0.5 * MIN_LANGUAGE_EVIDENCE
    by_words &= evidence[0] + evidence[1] >= 2 * MIN_LANGUAGE_EVIDENCE
    source, target = statistics.source.scripts, statistics.target.scripts
    usual = most_common_script(source), most_common_script(target)
    by_script = (source == usual[1]) & (target == usual[0]) & (usual[0] != usual[1])
    flags: Flags = by_words | by_script
    return flags


def flag_scripts(statistics: CorpusStatistics, scores: PairScores) -> Flags:
    """Pairs with a side in a different script from most of that side, except names and commands."""
    usual = [most_common_script(side.scripts) for side in (statistics.source, statistics.target)]
    name = scores.name & (np.abs(scores.source_language + scores.target_language) < 2 * MIN_LANGUAGE_EVIDENCE)
    flags = np.zeros(len(statistics), np.bool_)
    for side, own, other in zip((statistics.source, statistics.target), usual, usual[::-1], strict=True):
        different = (side.scripts > 0) & (side.scripts != own)
        flags |= different & ~(name & (side.scripts == other))
    return flags


def check_languages(
    statistics: CorpusStatistics, source_language: str, target_language: str
) -> Literal["swapped-sides", "wrong-script", "wrong-language"] | None:
    """The code of the problem that the languages of the whole corpus have, if any."""
    expected = [usual_script(language) for language in (source_language, target_language)]
    actual = [SCRIPTS[most_common_script(side.scripts)] for side in (statistics.source, statistics.target)]
    is_known = None not in expected and "none" not in actual  # of the text, or of a side of numbers or identifiers
    if is_known and actual != expected:
        return "swapped-sides" if actual == expected[::-1] else "wrong-script"
    others = foreign_sides(statistics, source_language, target_language)
    if others.keys() == {"source", "target"} and (
        _may_be(others["source"], target_language) and _may_be(others["target"], source_language)
    ):
        return "swapped-sides"
    return "wrong-language" if others else None


def foreign_sides(statistics: CorpusStatistics, source_language: str, target_language: str) -> dict[str, str]:
    """The sides, "source" or "target", that seem to be in another language as a whole, and that language."""
    found = {
        "source": other_language(statistics.source.texts, source_language, target_language),
        "target": other_language(statistics.target.texts, target_language, source_language),
    }
    return {side: language for side, language in found.items() if language}


def _may_be(found: str, language: str) -> bool:
    """Whether a language was found, or is taken for the one that was found, as `identify` does not know it."""
    return same_language(found, language) or not is_known(language)
