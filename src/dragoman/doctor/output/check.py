"""All checks of translations."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.doctor.findings.finding import Finding, errors_first
from dragoman.doctor.output.text_checks import (
    check_collapsed,
    check_copying,
    check_empty_output,
    check_output_length,
    check_repetition,
)
from dragoman.doctor.output.translator_checks import (
    check_exposure_gap,
    check_translations_ignore_source,
    check_unknown_tokens,
)
from dragoman.evaluation.evaluate import Report, evaluate
from dragoman.translator import Translator


def check_translations(
    sources: Sequence[str], references: Sequence[str], translations: Sequence[str], report: Report | None = None
) -> list[Finding]:
    """Find what is wrong with translations.

    Args:
        sources: The translated texts.
        references: The correct translation of each source.
        translations: The translation of each source.
        report: Scores of these translations, to compare decoding with teacher forcing.
    """
    return [
        *check_collapsed(sources, references, translations),
        *check_empty_output(sources, translations),
        *check_repetition(sources, references, translations),
        *check_copying(sources, references, translations),
        *check_output_length(references, translations),
        *(check_exposure_gap(report) if report else ()),
    ]


def check_translator(translator: Translator, sources: Sequence[str], references: Sequence[str]) -> list[Finding]:
    """Translate texts and find what is wrong with the translations and the translator, errors first."""
    report, translations = evaluate(translator, sources, references)
    return errors_first(
        [
            *check_translations(sources, references, translations, report),
            *check_unknown_tokens(translator, sources, references),
            *check_translations_ignore_source(translator, sources, references),
        ]
    )
