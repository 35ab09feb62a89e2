"""The comparison of a student with its teachers, at the end of its run or later."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.bundle import find_bundle
from dragoman.corpus.pair import Pair
from dragoman.dataset.pairs import read_pairs
from dragoman.errors import UserError
from dragoman.settings import Recipe
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.system.files import write_json, write_text
from dragoman.system.progress import ProgressLine
from dragoman.system.run_paths import NoBundleError
from dragoman.training.directory import REPORT_FILE
from dragoman.training.metrics_file import read_metrics
from dragoman.training.report.report import render_report
from dragoman.training.results import NOT_COMPARED_FILE
from dragoman.training.run_data import RunData, read_tests
from dragoman.training.stage_text import TEXT_DIRECTORY, StageText, read_facts
from dragoman.training.start import changed_teachers
from dragoman.training.stop import StopFlag, StopRequested, stop_on_signals
from dragoman.training.student_card import COMPARISON, HEADING, StudentCard, compare_with_teachers
from dragoman.training.trainer import Trainer

VALIDATION_NAME = "the validation text"
MAX_PAIRS = 1000


def write_student_card(recipe: Recipe, trainer: Trainer, data: RunData) -> list[tuple[str, str]]:
    """Add the comparison with the teachers to the card of the bundle of a run; returns lines of the report.

    If the run is stopped meanwhile, or the teachers cannot be used, the card and the lines say so.

    Args:
        recipe: The recipe of the run, which names the teachers.
        trainer: The trainer of the student, which is saved.
        data: The first test corpus is used, or the validation text if there is none.
    """
    run, line = trainer.run, trainer.log.line
    name, pairs = next(iter(data.tests.items()), (VALIDATION_NAME, trainer.data.validation))
    try:
        with trainer.stop.interruptible():
            card = _compare(recipe, run, name, pairs, line)
    except (UserError, StopRequested) as error:
        reason = _not_compared(error)
        line.log(reason)
        _add_to_card(run, f"{HEADING}\n\nThis translator was {reason}.\n")
        write_json(run / NOT_COMPARED_FILE, {})
        return [(COMPARISON, f"{reason}.")]
    (run / NOT_COMPARED_FILE).unlink(missing_ok=True)
    return _save(card, run, line)


def keep_report_facts(run: Path, facts: Sequence[tuple[str, str]], about_text: Sequence[str]) -> None:
    """Keep the facts of the report of a student that was not compared, so that it can be written again."""
    if (run / NOT_COMPARED_FILE).is_file():
        write_json(run / NOT_COMPARED_FILE, {"facts": facts, "about_text": about_text})


def compare_finished(recipe: Recipe, run: Path, data_directory: Path | None, line: ProgressLine) -> bool:
    """Compare a finished student that was not compared with its teachers; changes its card and its report.

    Args:
        recipe: The recipe of the run.
        run: The run directory.
        data_directory: Mirror of the dataset catalog.
        line: Receives progress and the lines of the report, or why it can still not be compared.

    Returns:
        False if the comparison was interrupted.
    """
    stop = StopFlag()
    with stop_on_signals(stop, line.log, "the comparison"):
        try:
            with stop.interruptible():
                kept = read_facts(run / NOT_COMPARED_FILE, {"facts", "about_text"})
                metrics = read_metrics(run / "metrics.jsonl")
                name, pairs = _compared_text(recipe, run, data_directory)
                card = _compare(recipe, run, name, pairs, line)
        except (UserError, StopRequested) as error:
            line.log(_not_compared(error))
            return not isinstance(error, StopRequested)
        new = _save(card, run, line)
        facts = [each for old in kept["facts"] for each in (new if old[0] == COMPARISON else [tuple(old)])]
        report = render_report(recipe, facts, metrics, run, kept["about_text"])
        write_text(run / REPORT_FILE, report)
        (run / NOT_COMPARED_FILE).unlink()
        line.log(f"report: {run / REPORT_FILE}")
    return True


def _compared_text(recipe: Recipe, run: Path, data_directory: Path | None) -> tuple[str, list[Pair]]:
    """The first test text, or the copy of the validation text in the run directory."""
    if tests := read_tests(recipe, data_directory):
        return next(iter(tests.items()))
    data = StageText.read(run / TEXT_DIRECTORY).data(recipe)
    return VALIDATION_NAME, read_pairs(data.validation, data, data_directory)


def _compare(recipe: Recipe, run: Path, name: str, pairs: Sequence[Pair], line: ProgressLine) -> StudentCard:
    """Compare; raises UserError if a teacher is missing, damaged or not the one that the run was started with."""
    line.log(f"comparing with the teacher on {name} …")
    if changed := changed_teachers(recipe, run):
        raise UserError(f"{', '.join(changed)}: changed since the run was started")
    teachers = BundleEnsemble.load(recipe.distillation.teachers, recipe.data.languages)
    student = BundleEnsemble.load([str(run)], recipe.data.languages)
    return compare_with_teachers(student, teachers, name, pairs[:MAX_PAIRS], line.update)


def _not_compared(error: UserError | StopRequested) -> str:
    if isinstance(error, StopRequested):
        reason = "the comparison was interrupted"
    else:
        reason = f"{error.path} is missing" if isinstance(error, NoBundleError) else str(error)
    return f"not compared with the teacher: {reason}"


def _save(card: StudentCard, run: Path, line: ProgressLine) -> list[tuple[str, str]]:
    """Add a comparison to the card of the bundle; returns lines of the report, which are logged, too."""
    facts = list(card.facts())
    _add_to_card(run, card.markdown())
    for label, value in facts:
        line.log(f"{label}: {value}")
    return facts


def _add_to_card(run: Path, section: str) -> None:
    """Write the last section of the card of the bundle, in place of an earlier one."""
    card = find_bundle(run) / "README.md"
    text = card.read_text("utf-8", errors="replace") if card.is_file() else ""
    write_text(card, f"{text.partition(HEADING)[0].rstrip()}\n\n{section}".lstrip())
