"""Checks that training runs: of its data and model before the first step, and of each validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dragoman.corpus.corpus import find_corpora
from dragoman.corpus.pair import Pair
from dragoman.doctor.data.check import check_corpora
from dragoman.doctor.data.corpora import corpora_of_recipe
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.model.influence import check_future_leak, check_source_ignored
from dragoman.doctor.model.outputs import check_bad_initial_loss
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, TOLERANCES, ExaminedModel, Probe
from dragoman.doctor.output.check import check_translations
from dragoman.evaluation.evaluate import Report
from dragoman.evaluation.metrics import UNTRAINED
from dragoman.model.transformer import Transformer
from dragoman.settings import Data, Decoding, Recipe
from dragoman.text.vocabulary import Vocabulary

MIN_VOCABULARY = 8  # ids; smaller vocabularies have too few words for random sentences
MAX_PAIRS = 1_000_000  # larger corpora are not read again before training
SETTLED = 0.5  # of the budget; before that, every model repeats words


def check_start(
    recipe: Recipe,
    data_directory: Path | None,
    pairs: int,
    model: Transformer,
    source: Vocabulary,
    target: Vocabulary,
) -> list[Finding]:
    """Find what is wrong before the first step: corpora, future leaks, an ignored source, the initial loss.

    Args:
        recipe: The recipe of the run.
        data_directory: Mirror of the dataset catalog.
        pairs: Number of training pairs; the corpora are not checked if there are more than `MAX_PAIRS`, if they are
            cleaned, or if dragoman generates them.
        model: The model, as initialized; it is left in evaluation mode.
        source: Vocabulary of the source.
        target: Vocabulary of the target.
    """
    readable = pairs <= MAX_PAIRS and not recipe.data.clean and _are_in_files(recipe.data, data_directory)
    corpora = corpora_of_recipe(recipe.data, data_directory) if readable else []
    findings = [finding for each in corpora for finding in check_corpora(each)]
    model.eval()
    long_enough = recipe.model.max_length >= max(SOURCE_LENGTH, TARGET_LENGTH)
    if long_enough and min(len(source), len(target)) > MIN_VOCABULARY:
        findings += _check_model(model, recipe, source, target)
    return findings


def _are_in_files(data: Data, data_directory: Path | None) -> bool:
    """Whether corpora are stored in files, and none comes from a pipe, which cannot be read again."""
    corpora = find_corpora(
        [*(each.corpus for each in data.weighted), *data.validation, *data.test],
        source_language=data.source_language,
        target_language=data.target_language,
        data_directory=data_directory,
    )
    files = [path for corpus in corpora for path in corpus.files]
    return bool(files) and all(path.is_file() for path in files)


def _check_model(model: Transformer, recipe: Recipe, source: Vocabulary, target: Vocabulary) -> list[Finding]:
    examined = ExaminedModel(
        forward=model,
        vocabulary_size=len(target),
        source_vocabulary_size=len(source),
        pad_id=target.pad,
        bos_id=target.bos,
        eos_id=target.eos,
        parameters=tuple(model.named_parameters()),
        max_length=recipe.model.max_length,
    )
    probe = Probe(examined)
    return [
        *check_future_leak(probe),
        *check_source_ignored(probe, TOLERANCES[model.output.weight.dtype]),
        *([] if recipe.training.start_from else check_bad_initial_loss(probe)),  # trained models refuse random text
    ]


def check_validation(
    pairs: Sequence[Pair], translations: Sequence[str], report: Report, spent: float, decoding: Decoding
) -> list[Finding]:
    """Find what is wrong with the translations of a validation.

    Args:
        pairs: The validation pairs, of which the first were translated.
        translations: The translations.
        report: The scores of the validation.
        spent: Fraction of the training budget used so far. In the first half only ``exposure-gap`` is reported.
        decoding: The search of the finished translator, which advice is about; that of validations may be another.
    """
    translated = pairs[: len(translations)]
    sources, references = [pair.source for pair in translated], [pair.target for pair in translated]
    findings = check_translations(sources, references, translations, report, decoding)
    if report.perplexity > UNTRAINED:
        fix = (  # of what a model does that has hardly learned, each other cause is a guess
            f"train longer, because the perplexity is still {report.perplexity:,.0f}; if it no longer falls, look for "
            "the cause with dragoman doctor data and dragoman doctor model"
        )
        findings = [replace(finding, fix=fix) for finding in findings]
    return [finding for finding in findings if spent >= SETTLED or finding.code == "exposure-gap"]
