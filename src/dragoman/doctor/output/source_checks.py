"""A check whether the sources resemble the training text of the translator. A model is not to blame if they do not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from dragoman.bundle import Bundle
from dragoman.doctor.data.line_statistics import compute_line_statistics, normalize
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.input import TextChecker, TrainingText, log_length_ratio
from dragoman.doctor.output.text_checks import MAX_DEVIATIONS

UNUSUAL_SHARE = 0.05  # of the sources; fewer unusual ones of a kind change no average
LENGTH_SHARE = 0.5  # of the sources; shuffled references have unusual lengths, too
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


def find_unusual_sources(bundle: Bundle, sources: Sequence[str], references: Sequence[str]) -> dict[str, list[int]]:
    """The indices of sources that do not resemble the training text, by kind, if there are many of this kind."""
    found: dict[str, list[int]] = defaultdict(list)
    for index, kind in _kinds(bundle, sources, references):
        found[kind].append(index)
    return {
        kind: found[kind]
        for kind in FORMS
        if found[kind] and len(found[kind]) >= (LENGTH_SHARE if kind == "length" else UNUSUAL_SHARE) * len(sources)
    }


def _kinds(bundle: Bundle, sources: Sequence[str], references: Sequence[str]) -> Iterator[tuple[int, str]]:
    """What is unusual about each source: its index and the kind."""
    checker, trained = TextChecker.of(bundle), bundle.table("training_text", TrainingText)
    damaged = compute_line_statistics(sources, [normalize(text) for text in sources]).encoding_damage
    for index, (source, reference) in enumerate(zip(sources, references, strict=True)):
        for warning in checker.check(index + 1, source):
            yield index, warning.kind
        if damaged[index]:
            yield index, "encoding"
        if trained and trained.length_ratio is not None and trained.length_deviation:
            difference = log_length_ratio(source, reference) - trained.length_ratio
            if source.strip() and reference.strip() and abs(difference) > MAX_DEVIATIONS * trained.length_deviation:
                yield index, "length"


def report_unusual_sources(unusual: dict[str, list[int]], size: int) -> Iterator[Finding]:
    """Report unusual sources.

    Args:
        unusual: What `find_unusual_sources` found.
        size: The number of sources.
    """
    lines = sorted({index + 1 for indices in unusual.values() for index in indices})
    if not lines:
        return
    counts = Counter({kind: len(indices) for kind, indices in unusual.items()})
    forms = ", ".join(f"{count:,} {FORMS[kind]}" for kind, count in counts.most_common())
    shown = ", ".join(f"{line:,}" for line in lines[:SHOWN_LINES]) + (", …" if len(lines) > SHOWN_LINES else "")
    yield make_finding(
        "unusual-sources",
        f"{len(lines):,} of {size:,} sources ({len(lines) / size:.0%}) do not resemble the training text: {forms}; "
        f"lines {shown}",
        {"count": len(lines), "of": size, "kinds": dict(counts), "lines": lines},
        severity="error" if len(lines) >= ERROR_SHARE * size else None,
    )
