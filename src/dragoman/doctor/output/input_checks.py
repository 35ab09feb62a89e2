"""Checks of the texts that are translated and of their references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.errors import counted
from dragoman.languages.identify import (
    LanguageProfile,
    common_language,
    other_language,
    share_in_other_languages,
)
from dragoman.languages.scripts import script_shares, usual_script
from dragoman.settings import Data

MIN_SENTENCES = 20  # fewer sentences have unreliable averages
MIN_WORDS = 100  # fewer words are no evidence of a script
SHOWN_LINES = 5
SAMPLE = 500  # lines whose language is recognized among those of a model
MOST = 0.5
"""Texts in another language of a model have nearly all lines in it; of related languages, at most 2% are confused."""


def check_few_sentences(sources: Sequence[str]) -> Iterator[Finding]:
    """Find files that are too short for checks of averages."""
    if len(sources) < MIN_SENTENCES:
        yield make_finding(
            "few-sentences",
            f"only {counted(len(sources), 'sentence')}: average lengths, losses and BLEU were not checked",
            {"count": len(sources), "minimum": MIN_SENTENCES},
        )


def check_empty_lines(sources: Sequence[str], references: Sequence[str]) -> Iterator[Finding]:
    """Find empty sources and references."""
    for side, texts in (("sources", sources), ("references", references)):
        lines = [number for number, text in enumerate(texts, start=1) if not text.strip()]
        if lines:
            shown = ", ".join(f"{line:,}" for line in lines[:SHOWN_LINES]) + (", …" if len(lines) > SHOWN_LINES else "")
            yield make_finding(
                "empty-lines",
                f"{len(lines):,} of {len(texts):,} {side} are empty: line{'s' if len(lines) > 1 else ''} {shown}",
                {"side": side, "count": len(lines), "of": len(texts), "lines": lines},
            )


def check_languages_of_files(
    data: Data, sources: Sequence[str], references: Sequence[str], profile: LanguageProfile | None = None
) -> Iterator[Finding]:
    """Find sources and references that are in other languages than those of the training corpora.

    Args:
        data: The recipe's settings of them.
        sources: The sources.
        references: The references.
        profile: What distinguishes the languages of a model with several.
    """
    expected, find = data.languages, partial(_other_language, profile)
    actual = find(sources, expected[0]), find(references, expected[1])
    if all(actual) and not find(sources, expected[1]) and not find(references, expected[0]):
        yield make_finding(
            "exchanged-sides",
            f"the sources are in the target language ({expected[1]}) and the references in the source language "
            f"({expected[0]})",
            {"source_language": expected[0], "target_language": expected[1]},
        )
        return
    for side, wanted, found in zip(("sources", "references"), expected, actual, strict=True):
        if found:
            way = "from" if side == "sources" else "into"
            yield make_finding(
                "unexpected-language",
                f"the {side} look like {found}, but the translation is {way} {wanted}",
                {"side": side, "expected": wanted, "found": found},
            )


def _other_language(profile: LanguageProfile | None, texts: Sequence[str], expected: str) -> str | None:
    """The language, or else the script, of texts that are not in the expected language; None if they may be."""
    sample = texts[:SAMPLE]
    if profile and share_in_other_languages(sample, expected, profile) > MOST:
        likeliest = common_language(sample, profile)
        if likeliest not in ("", expected):
            return likeliest
    if found := other_language(texts, expected):
        return found
    scripts, usual = script_shares(texts), usual_script(expected)
    script = next(iter(scripts), usual)
    is_other = usual and script != usual and sum(len(text.split()) for text in texts) >= MIN_WORDS
    return f"{script} script" if is_other else None
