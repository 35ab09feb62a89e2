"""All checks of translations."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.doctor.findings.finding import Finding, errors_first
from dragoman.doctor.output.input_checks import (
    MIN_SENTENCES,
    check_empty_lines,
    check_few_sentences,
    check_languages_of_files,
)
from dragoman.doctor.output.reference_shifts import check_shifted_references
from dragoman.doctor.output.reference_stretches import check_reference_stretches
from dragoman.doctor.output.source_checks import find_unusual_texts, report_unusual_texts
from dragoman.doctor.output.text_checks import (
    check_collapsed,
    check_copying,
    check_empty_output,
    check_output_length,
    check_repeated_references,
    check_repetition,
)
from dragoman.doctor.output.text_forms import check_text_forms
from dragoman.doctor.output.translator_checks import (
    check_exposure_gap,
    check_predictions,
    check_unknown_tokens,
    check_use_of_source,
    length_explains_score,
)
from dragoman.evaluation.evaluate import Report, evaluate
from dragoman.settings import Decoding
from dragoman.translator import Translator

NEED_MANY_SENTENCES = {
    "collapsed",
    "text-form",
    "reference-form",
    "output-length",
    "exposure-gap",
    "shuffled-references",
    "translations-ignore-source",
    "unpredicted-references",
    "unusual-references",
}
"""Findings about averages, which a few sentences can lead to by chance."""


def check_translations(
    sources: Sequence[str],
    references: Sequence[str],
    translations: Sequence[str],
    report: Report | None = None,
    decoding: Decoding | None = None,
) -> list[Finding]:
    """Find what is wrong with translations.

    Args:
        sources: The translated texts.
        references: The correct translation of each source.
        translations: The translation of each source.
        report: Scores of these translations, to compare decoding with teacher forcing.
        decoding: The settings of the search, for advice about them.
    """
    forms, references, translations = check_text_forms(references, translations)
    if forms:  # scores of texts in different forms show nothing about the search
        report = None
    return [
        *forms,
        *check_collapsed(sources, references, translations),
        *_check_without_references(sources, references, translations, decoding),
        *check_output_length(references, translations, decoding, report is not None and length_explains_score(report)),
        *(check_exposure_gap(report) if report else ()),
    ]


def check_translator(translator: Translator, sources: Sequence[str], references: Sequence[str]) -> list[Finding]:
    """Translate texts and find what is wrong with the translations and the translator, errors first.

    Texts in wrong languages make all translations wrong, so that nothing else is checked then. Sources that do not
    resemble the training text, and references of unusual lengths, are left out of the other checks.
    """
    data, profile = translator.bundle.recipe.data, translator.bundle.language_profile
    wrong_languages = list(check_languages_of_files(data, sources, references, profile))
    few_sentences = list(check_few_sentences(sources))
    findings = [*wrong_languages, *few_sentences, *check_empty_lines(sources, references)]
    if not wrong_languages:
        unusual = find_unusual_texts(translator.bundle, sources, references)
        findings += report_unusual_texts(unusual, len(sources))
        left_out = {index for indices in unusual.values() for index in indices}
        usual = [index for index in range(len(sources)) if index not in left_out]
        if not unusual or len(usual) >= MIN_SENTENCES:
            lines = [index + 1 for index in usual]
            found = _check_all(translator, [sources[i] for i in usual], [references[i] for i in usual], lines)
            findings += [one for one in found if not few_sentences or one.code not in NEED_MANY_SENTENCES]
    return errors_first(findings)


def _check_without_references(
    sources: Sequence[str], references: Sequence[str], translations: Sequence[str], decoding: Decoding | None
) -> list[Finding]:
    """Findings for which it does not matter which reference belongs to which translation."""
    return [
        *check_empty_output(sources, translations, decoding),
        *check_repetition(sources, references, translations),
        *check_copying(sources, references, translations),
    ]


def _check_all(
    translator: Translator, sources: Sequence[str], references: Sequence[str], lines: Sequence[int]
) -> list[Finding]:
    """All findings about the translations of sources, given their line numbers in the file."""
    report, translations = evaluate(translator, sources, references)
    wrong_references = list(check_repeated_references(sources, references, translations))
    if wrong_references := wrong_references or list(check_shifted_references(references, translations, lines)):
        return [*wrong_references, *_check_without_references(sources, references, translations, translator.decoding)]
    if unpredicted := list(check_predictions(translator, references, report)):  # explains what is wrong otherwise
        return [*unpredicted, *check_unknown_tokens(translator, sources, references)]
    whole_file = list(check_use_of_source(translator, sources, references, translations))
    stretches = () if whole_file else check_reference_stretches(translator, sources, references, translations, lines)
    return [
        *check_translations(sources, references, translations, report, translator.decoding),
        *check_unknown_tokens(translator, sources, references),
        *whole_file,
        *stretches,
    ]
