"""Stretches of references that belong to other sources, as in a file of which a part was sorted or shifted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dragoman.doctor.data.length_model import Floats
from dragoman.doctor.data.stretches import MIN_LINES, find_peaks
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.output.translator_checks import sources_of_others
from dragoman.evaluation.teacher_forcing import score_references
from dragoman.translator import Translator

MIN_USUAL_GAIN = 40.0  # nats that many references gain from the right source; less if the text is of another kind
MIN_OWN_GAIN = 10.0  # nats that a translation gains from its source if it depends on it
USUAL_QUANTILE = 0.75  # of the gains, because many references may be wrong
DOUBT = 5.0  # nats; references that gain less from their sources may belong to others
MAX_LINE_EVIDENCE = 5.0  # nats
SHOWN_STRETCHES = 3


def check_reference_stretches(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    translations: Sequence[str],
    lines: Sequence[int],
) -> Iterator[Finding]:
    """Find stretches whose references are as probable with the sources of other sentences as with their own.

    Args:
        translator: The translator.
        sources: The sources.
        references: The reference of each.
        translations: The translation of each. Those in a stretch must depend on their sources.
        lines: The line number of each in the file.
    """
    if len(sources) < 2 * MIN_LINES:
        return
    gains = _gains(translator, sources, references)
    if np.quantile(gains, USUAL_QUANTILE) < MIN_USUAL_GAIN:
        return
    evidence = np.clip(DOUBT - gains, -MAX_LINE_EVIDENCE, MAX_LINE_EVIDENCE)
    empty = [not (source.strip() and reference.strip()) for source, reference in zip(sources, references, strict=True)]
    peaks = find_peaks(np.where(empty, 0.0, evidence))
    long = [(first, last) for first, last in peaks if last - first + 1 >= MIN_LINES]
    own = _gains(translator, sources, translations) if long else gains
    found = [(first, last) for first, last in long if np.median(own[first : last + 1]) >= MIN_OWN_GAIN]
    if found:
        stretches = [{"first": lines[first], "last": lines[last]} for first, last in found]
        shown = ", ".join(f"{each['first']:,} to {each['last']:,}" for each in stretches[:SHOWN_STRETCHES])
        inside = np.zeros(len(gains), np.bool_)
        for first, last in found:
            inside[first : last + 1] = True
        yield make_finding(
            "shuffled-references",
            f"the references of about lines {shown}{', …' if len(found) > SHOWN_STRETCHES else ''} belong to other "
            f"sources: their own sources make them more probable by {np.median(gains[inside]):.1f} nats than the "
            f"sources of other sentences, elsewhere by {np.median(gains[~inside]):.1f}",
            {"stretches": stretches, "count": int(inside.sum()), "of": len(gains)},
        )


def _gains(translator: Translator, sources: Sequence[str], texts: Sequence[str]) -> Floats:
    """How much more probable each text is with its own source than with that of another sentence, in nats."""
    compared = sources, sources_of_others(sources)
    own, other = (np.array(score_references(translator, each, texts), float) for each in compared)
    gains: Floats = own - other
    return gains
