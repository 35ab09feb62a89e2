"""Which of its results a run has: its bundle, its report, and the comparison of a student with its teachers."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.system.files import read_json_with
from dragoman.system.progress import Log, no_log
from dragoman.system.run_paths import has_bundle
from dragoman.training.run.checkpoint import checkpoint_steps, find_intact, read_progress
from dragoman.training.run.directory import REPORT_FILE

NOT_COMPARED_FILE = "not-compared.json"
"""In the run of a finished student that was not compared with its teachers: what its report contains."""


def check_bundle(run: Path) -> None:
    """Check that the bundle of a finished run can be used; it cannot be made again, see `needs_no_training`."""
    try:
        _ = Bundle.load(run).model
    except UserError as error:
        raise UserError(
            f"{error}; no checkpoint is intact, from which it could be made again; start again in another --output"
        ) from error


def has_report(run: Path) -> bool:
    """Whether a run has a complete report."""
    return (run / REPORT_FILE).is_file() and (run / REPORT_FILE).read_bytes().rstrip().endswith(b"</html>")


def has_all_results(run: Path) -> bool:
    """Whether a run has all of its results, so that a signal comes too late to stop anything."""
    return has_bundle(run) and has_report(run) and not (run / NOT_COMPARED_FILE).exists()


def needs_no_training(run: Path) -> bool:
    """Whether a run is finished, except perhaps for a comparison.

    A run whose bundle is damaged continues with its newest intact checkpoint. One that was stopped between its bundle
    and its report finishes once more, unless the comparison writes the report, or the bundle would not be the same
    because the last or the best checkpoint is damaged.
    """
    if not has_bundle(run):
        return False
    loads = _loads(run)
    if loads and (has_report(run) or _is_uncompared(run)):
        return True
    intact, steps = find_intact(run, no_log), checkpoint_steps(run)
    if not loads or intact.newest is None:
        return intact.newest is None
    return intact.newest != steps[-1] or read_progress(run, intact.newest).best_step not in intact.usable


def _loads(run: Path) -> bool:
    with suppress(UserError):
        return Bundle.load(run).model is not None
    return False


def _is_uncompared(run: Path) -> bool:
    with suppress(UserError):
        return bool(read_uncompared(run))
    return False


def read_uncompared(run: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """The lines of the report of a student that is not compared yet, and problems of its training text.

    Raises:
        UserError: The file is missing or damaged.
    """
    path = run / NOT_COMPARED_FILE
    kept = read_json_with(path, {"facts", "about_text"})
    try:
        return [(str(label), str(value)) for label, value in kept["facts"]], list(map(str, kept["about_text"]))
    except (TypeError, ValueError):
        raise UserError(f"{path}: damaged; restore it, or start again with another --output") from None


def remove_damaged_bundle(run: Path, log: Log) -> None:
    """Delete the bundle of a run if it cannot be loaded, before it is made again."""
    if has_bundle(run) and not _loads(run):
        log(f"{run / 'bundle'}: damaged; made again from the checkpoints")
        shutil.rmtree(run / "bundle")
