"""The quick checks that training makes by itself: of its data, its model before the first step, its validations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.corpus.pair import Pair
from dragoman.doctor.data.diagnose import corpora_of, diagnose
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.model.inputs import source_ignored
from dragoman.doctor.model.leaks import SOURCE, TARGET, future_leak
from dragoman.doctor.model.numbers import bad_initial_loss
from dragoman.doctor.model.probe import BY_PRECISION, Probe, Subject
from dragoman.doctor.output.checks import check_output
from dragoman.evaluation.evaluate import Report
from dragoman.model.transformer import Transformer
from dragoman.settings import Recipe
from dragoman.text.vocabulary import Vocabulary

FEWEST_IDS = 8  # in a vocabulary, to draw random sentences from
MOST_PAIRS = 1_000_000  # to read twice before training; more wait for dragoman doctor data
SETTLED = 0.5  # of the budget; before, every model repeats itself


def check_start(
    recipe: Recipe,
    data_directory: Path | None,
    pairs: int,
    model: Transformer,
    source: Vocabulary,
    target: Vocabulary,
) -> list[Finding]:
    """What is wrong before the first step: with the corpora, the initial loss, a view of the future or of no source.

    Args:
        recipe: Names the corpora.
        data_directory: Mirror of the dataset catalog.
        pairs: How many there are to train on; the corpora are not read again if there are very many.
        model: Freshly initialised; it is left in evaluation mode.
        source: Vocabulary of the source.
        target: Vocabulary of the target.
    """
    findings = diagnose(corpora_of(recipe.data, data_directory)) if pairs <= MOST_PAIRS else []
    subject = Subject(
        model.eval(),
        len(target),
        len(source),
        target.pad,
        target.bos,
        target.eos,
        tuple(model.named_parameters()),
        recipe.model.max_length,
    )
    if recipe.model.max_length >= max(SOURCE, TARGET) and min(len(source), len(target)) > FEWEST_IDS:
        probe = Probe(subject)
        findings += future_leak(probe)
        findings += source_ignored(probe, BY_PRECISION[model.output.weight.dtype])
        findings += bad_initial_loss(probe)
    return findings


def check_validation(pairs: Sequence[Pair], translations: Sequence[str], report: Report, spent: float) -> list[Finding]:
    """What is wrong with the translations of the first pairs.

    Args:
        pairs: What was translated, and more.
        translations: What came out.
        report: The scores of the validation.
        spent: Share of the budget. In the first half only the gap to teacher-forced scores is told.
    """
    translated = pairs[: len(translations)]
    sources, references = [pair.source for pair in translated], [pair.target for pair in translated]
    findings = check_output(sources, references, translations, report)
    return [finding for finding in findings if spent >= SETTLED or finding.code == "exposure-gap"]
