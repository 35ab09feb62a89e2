"""Which of its results a run has: its bundle, its report, and the comparison of a student with its teachers."""

from __future__ import annotations

from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.system.progress import no_log
from dragoman.system.run_paths import has_bundle, resume_command
from dragoman.training.checkpoint import checkpoint_steps, newest_intact
from dragoman.training.directory import REPORT_FILE

NOT_COMPARED_FILE = "not-compared.json"
"""In the run of a finished student that was not compared with its teachers: what its report contains."""


def check_bundle(run: Path) -> None:
    """Check that the bundle of a finished run can be used; raises UserError with a remedy if it is damaged."""
    try:
        Bundle.load(run)
    except UserError as error:
        again = f"delete the directory {run / 'bundle'}, and run: {resume_command(run)}"
        raise UserError(f"{error}; to make the bundle again from the last checkpoint, {again}") from error


def has_report(run: Path) -> bool:
    """Whether a run has a report; an empty file is none."""
    return (run / REPORT_FILE).is_file() and (run / REPORT_FILE).stat().st_size > 0


def has_all_results(run: Path) -> bool:
    """Whether a run has all of its results, so that a signal comes too late to stop anything."""
    return has_bundle(run) and has_report(run) and not (run / NOT_COMPARED_FILE).exists()


def needs_no_training(run: Path, average: int) -> bool:
    """Whether a run is finished, except perhaps for a comparison.

    A run that was stopped between its bundle and its report finishes once more, unless the comparison writes the
    report, or steps would have to be repeated because the last checkpoint is damaged.

    Args:
        run: The run directory.
        average: As for `newest_intact`.
    """
    if not has_bundle(run):
        return False
    if has_report(run) or (run / NOT_COMPARED_FILE).is_file():
        return True
    steps = checkpoint_steps(run)
    return not steps or newest_intact(run, average, no_log) != steps[-1]
