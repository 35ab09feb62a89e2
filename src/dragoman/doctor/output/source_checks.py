"""Checks whether sources, and the lengths of references, resemble the training text of the translator.

A model is not to blame if they do not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from dragoman.bundle import Bundle
from dragoman.doctor.data.line_statistics import LETTER_END, LineStatistics, compute_line_statistics, normalize
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.input import TextChecker, TrainingText, log_length_ratio

UNUSUAL_SHARE = 0.05  # of the sources; fewer unusual ones of a kind change no average
LENGTH_SHARE = 0.5  # of the pairs, which are all too long or all too short; shuffled references are both
MIN_LENGTH_DIFFERENCE = 0.4
"""From the usual `log_length_ratio`. Of 11 corpora with other ones as training text, at most 7% of the pairs are too
long, or too short, by that; if one side is cut to half, nearly all are."""
ERROR_SHARE = 0.5  # of the sources that are unusual
SHOWN_LINES = 5

FORMS = {
    "target-language": "in the target language",
    "language": "in another language",
    "script": "in another script",
    "encoding": "decoded with the wrong encoding",
    "capitals": "in capital letters",
    "single-word": "a single word",
    "several-sentences": "several sentences",
    "long": "much longer than the training lines",
    "length": "much shorter or longer than their references suggest",
}
"""How messages name each kind of unusual sources."""

REFERENCE_FORMS = {"reference-length": "much shorter or longer than their sources suggest"}
"""The same for references."""


def find_unusual_texts(bundle: Bundle, sources: Sequence[str], references: Sequence[str]) -> dict[str, list[int]]:
    """The indices of sources and references that do not resemble the training text, by kind, if there are many."""
    source_lines, reference_lines = (
        compute_line_statistics(texts, [normalize(text) for text in texts]) for texts in (sources, references)
    )
    found: dict[str, list[int]] = defaultdict(list)
    checker = TextChecker.of(bundle)
    for index, source in enumerate(sources):
        for warning in checker.check(index + 1, source):
            found[warning.kind].append(index)
    found["encoding"] = source_lines.encoding_damage.nonzero()[0].tolist()
    unusual = {kind: found[kind] for kind in FORMS if found[kind] and len(found[kind]) >= UNUSUAL_SHARE * len(sources)}
    trained = bundle.table("training_text", TrainingText)
    is_repeated = max(Counter(references).values(), default=0) >= LENGTH_SHARE * len(sources)  # which explains lengths
    if trained and trained.length_ratio is not None and not is_repeated:
        explained = {index for indices in unusual.values() for index in indices}
        lengths = _find_unusual_lengths(trained.length_ratio, sources, references, explained)
        if lengths:
            is_source = _are_sources_damaged(source_lines, reference_lines, lengths)
            unusual["length" if is_source else "reference-length"] = lengths
    return unusual


def _find_unusual_lengths(
    usual: float, sources: Sequence[str], references: Sequence[str], explained: set[int]
) -> list[int]:
    """The indices of pairs whose references are too long for their sources, or too short, if there are many.

    Args:
        usual: The usual `log_length_ratio`.
        sources: The sources.
        references: The reference of each.
        explained: The indices of sources that are unusual in another way.
    """
    differences = np.zeros(len(sources))
    for index, (source, reference) in enumerate(zip(sources, references, strict=True)):
        if source.strip() and reference.strip() and index not in explained:
            differences[index] = log_length_ratio(source, reference) - usual
    sides = differences > MIN_LENGTH_DIFFERENCE, differences < -MIN_LENGTH_DIFFERENCE
    return next((side.nonzero()[0].tolist() for side in sides if side.sum() >= LENGTH_SHARE * len(sources)), [])


def _are_sources_damaged(sources: LineStatistics, references: LineStatistics, pairs: list[int]) -> bool:
    """Whether more sources than references end within a sentence or are written twice."""
    cut = [side.ends[pairs] == LETTER_END for side in (sources, references)]
    doubled = [side.doubled[pairs] for side in (sources, references)]
    own, other = ((cut[side] & ~cut[1 - side]) | (doubled[side] & ~doubled[1 - side]) for side in (0, 1))
    return int(own.sum()) > int(other.sum())


def report_unusual_texts(unusual: dict[str, list[int]], size: int) -> Iterator[Finding]:
    """Report unusual sources and references.

    Args:
        unusual: What `find_unusual_texts` found.
        size: The number of sources.
    """
    for side, forms, what in (
        ("sources", FORMS, "resemble the training text"),
        ("references", REFERENCE_FORMS, "fit their sources"),
    ):
        lines = sorted({index + 1 for kind in forms for index in unusual.get(kind, [])})
        if not lines:
            continue
        counts = Counter({kind: len(unusual[kind]) for kind in forms if kind in unusual})
        named = ", ".join(f"{count:,} {forms[kind]}" for kind, count in counts.most_common())
        shown = ", ".join(f"{line:,}" for line in lines[:SHOWN_LINES]) + (", …" if len(lines) > SHOWN_LINES else "")
        yield make_finding(
            f"unusual-{side}",
            f"{len(lines):,} of {size:,} {side} ({len(lines) / size:.0%}) do not {what}: {named}; lines {shown}",
            {"count": len(lines), "of": size, "kinds": dict(counts), "lines": lines},
            severity="error" if len(lines) >= ERROR_SHARE * size else None,
        )
