"""The comparison of a finished student with its teachers, at the end of its run or later."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dragoman.bundle import find_bundle
from dragoman.corpus.pair import Pair
from dragoman.dataset.pairs import read_pairs
from dragoman.errors import UserError
from dragoman.settings import Recipe
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.system.files import atomic_file, write_json, write_text
from dragoman.system.progress import ProgressLine
from dragoman.system.run_paths import NoBundleError
from dragoman.system.time_limit import TimeLimit
from dragoman.training.directory import REPORT_FILE
from dragoman.training.metrics_file import read_metrics
from dragoman.training.report.report import render_report
from dragoman.training.results import NOT_COMPARED_FILE, read_uncompared
from dragoman.training.run_data import read_tests
from dragoman.training.stage_text import TEXT_DIRECTORY, StageText
from dragoman.training.start import changed_teachers
from dragoman.training.stop import StopFlag, StopRequested, stop_on_signals
from dragoman.training.student_card import COMPARISON, HEADING, StudentCard, compare_with_teachers

NOT_COMPARED = "not compared with the teacher"
NOT_FINISHED = f"{NOT_COMPARED}: the comparison is not finished"
"""Lines of the log and the report."""

END_OF_SECTION = "<!-- end of the comparison -->"
"""Marks the end of the section of the card; invisible in Markdown."""

VALIDATION_NAME = "the validation text"
MAX_PAIRS = 1000

COMPARED_SENTENCES = 6 * MAX_PAIRS
"""Sentences that a comparison translates: teacher, teacher with greedy search, and student, twice each."""


def keep_uncompared(run: Path, facts: Sequence[tuple[str, str]], about_text: Sequence[str]) -> None:
    """Record that a finished student is not compared yet, in its card and in a file for `compare_student`.

    Args:
        run: The run directory, with the bundle.
        facts: Lines of the report, of which the one called `COMPARISON` will be replaced.
        about_text: Problems of the training text, for the report.
    """
    _replace_in_card(run, _card_without_comparison(NOT_FINISHED))
    write_json(run / NOT_COMPARED_FILE, {"facts": facts, "about_text": about_text})


def compare_student(
    recipe: Recipe, run: Path, data_directory: Path | None, line: ProgressLine, limit: TimeLimit | None = None
) -> bool:
    """Compare a student with its teachers after `keep_uncompared`, and change its card and its report.

    If it is interrupted, or the teachers cannot be used, both say so, and this can be called again later.

    Args:
        recipe: The recipe of the run, which names the teachers.
        run: The run directory.
        data_directory: Mirror of the dataset catalog.
        line: Receives progress and the lines of the report, or why the student cannot be compared.
        limit: If it leaves too little time, a sample of the text is compared.

    Returns:
        False if the comparison was interrupted.
    """
    stop, path, interrupted = StopFlag(), run / NOT_COMPARED_FILE, False
    with stop_on_signals(stop, line.log, "the comparison"):
        (old_facts, about_text), metrics = read_uncompared(run), read_metrics(run / "metrics.jsonl")
        try:
            with stop.interruptible():
                card = _compare(recipe, run, data_directory, line, limit)
            section, new, is_compared = card.markdown(), list(card.facts()), True
            for label, value in new:
                line.log(f"{label}: {value}")
        except (UserError, StopRequested) as error:
            reason, interrupted, is_compared = _explain(error), isinstance(error, StopRequested), False
            section, new = _card_without_comparison(reason), [(COMPARISON, f"{reason}.")]
            line.log(reason)
        facts = [each for old in old_facts for each in (new if old[0] == COMPARISON else [old])]
        _replace_in_card(run, section)
        write_text(run / REPORT_FILE, render_report(recipe, facts, metrics, run, about_text))
        if is_compared:
            path.unlink()
        else:
            write_json(path, {"facts": facts, "about_text": about_text})
    return not interrupted


def _compare(
    recipe: Recipe, run: Path, data_directory: Path | None, line: ProgressLine, limit: TimeLimit | None
) -> StudentCard:
    """Compare; raises UserError if a teacher is missing, damaged or not the one that the run was started with."""
    name, pairs = _compared_text(recipe, run, data_directory)
    line.log(f"comparing with the teacher on {name} …")
    if changed := changed_teachers(recipe, run):
        raise UserError(f"{', '.join(changed)}: changed since the run was started")
    teachers = BundleEnsemble.load(recipe.distillation.teachers, recipe.data.languages)
    student = BundleEnsemble.load([str(run)], recipe.data.languages)
    return compare_with_teachers(student, teachers, name, pairs[:MAX_PAIRS], line.update, limit)


def _compared_text(recipe: Recipe, run: Path, data_directory: Path | None) -> tuple[str, list[Pair]]:
    """The first test text, or the copy of the validation text in the run directory."""
    if first := recipe.data.test[:1]:
        tests = read_tests(recipe.data.model_copy(update={"test": first}), data_directory)
        return next(iter(tests.items()))
    if (text := StageText.find(run / TEXT_DIRECTORY)) is None:
        raise UserError(f"{run / TEXT_DIRECTORY}: missing or incomplete; resume the run, which makes it again")
    data = text.data(recipe)
    return VALIDATION_NAME, read_pairs(data.validation, data, data_directory)


def _explain(error: UserError | StopRequested) -> str:
    """Why a student was not compared."""
    if isinstance(error, StopRequested):
        return NOT_FINISHED
    return f"{NOT_COMPARED}: {f'{error.path} is missing' if isinstance(error, NoBundleError) else error}"


def _card_without_comparison(reason: str) -> str:
    return f"{HEADING}\n\nThis translator was {reason}.\n"


def _replace_in_card(run: Path, section: str) -> None:
    """Write this section of the card of the bundle, in place of an earlier one; users may edit the rest."""
    card = find_bundle(run) / "README.md"
    content, end, after = (card.read_bytes() if card.is_file() else b"").partition(END_OF_SECTION.encode())
    headings = list(re.finditer(rb"^%s\r?$" % re.escape(HEADING.encode()), content, re.MULTILINE))
    if headings:
        content, old = content[: headings[-1].start()], content[headings[-1].start() :]
        after = after if end else b"".join(old.partition(b"\n#")[1:])  # of an older version, or edited
    with atomic_file(card, "wb") as file:
        file.write(b"\n\n".join(filter(None, [content.rstrip(), f"{section}\n{END_OF_SECTION}".encode()])))
        file.write(after or b"\n")
