"""Restores damaged files of a run from the copies in its checkpoints."""

from __future__ import annotations

from pathlib import Path

from dragoman.errors import UserError
from dragoman.recipe import load_recipe, parse_recipe
from dragoman.settings import Data
from dragoman.system.files import atomic_file
from dragoman.system.progress import Log, no_log
from dragoman.text.registry import SOURCE_FILE, TARGET_FILE
from dragoman.training.run.checkpoint import checkpoint_path, checkpoint_steps, find_intact, read_copy
from dragoman.training.run.directory import PAIRS_FILE, RECIPE_FILE, RUN_FILE, lock_directory, unchangeable_differences
from dragoman.training.run.metrics_file import METRICS_FILE, read_restored
from dragoman.training.run.start import SOURCES_FILE, START_FILE

CONSTANT = (RUN_FILE, SOURCE_FILE, TARGET_FILE, PAIRS_FILE, START_FILE, SOURCES_FILE)
"""Files that do not change after the start of a run."""

OTHER_SETTINGS = "its settings are not those of the checkpoints"

OTHER_RANKS = 30.0
"""Seconds to wait for other processes of the same run, which restore the same files."""


def read_files_to_copy(run: Path) -> dict[str, bytes]:
    """The files of a run that each checkpoint gets a copy of; metrics.jsonl, which grows, is not among them."""
    return {name: (run / name).read_bytes() for name in (RECIPE_FILE, *CONSTANT) if (run / name).is_file()}


def restore_files(run: Path, log: Log, moved: Data | None = None) -> None:
    """Restore missing and damaged files of a run from the newest copies in its checkpoints, if there are any.

    Args:
        run: The run directory; the path may also be that of anything else.
        log: Receives a message for each file.
        moved: The text of the run, if its files may have been moved; then the recipe may name others.

    Raises:
        UserError: A file is damaged, and another process is training in the directory, or it cannot be written to.
    """
    if not checkpoint_steps(run):
        return
    for name in (RECIPE_FILE, *CONSTANT):
        if found := read_copy(run, name):
            _restore(run / name, found[1], checkpoint_path(run, found[0]), log, moved)


def restore_metrics(run: Path, log: Log) -> None:
    """Restore the metrics of a finished run, as far as its last intact checkpoint has them.

    Args:
        run: The run directory.
        log: Receives a message if something is restored.

    Raises:
        UserError: The file is damaged and cannot be written to.
    """
    newest, path = find_intact(run, no_log).newest, run / METRICS_FILE
    if newest is not None and (found := read_copy(run, METRICS_FILE, newest)):
        _restore(path, read_restored(path, found[1]), checkpoint_path(run, found[0]), log)


def _restore(path: Path, content: bytes, checkpoint: Path, log: Log, moved: Data | None = None) -> None:
    if not _problem(path, content, moved):
        return
    with lock_directory(path.parent, OTHER_RANKS):
        if not (problem := _problem(path, content, moved)):
            return  # another process of this run was faster
        kept = ""
        if problem == OTHER_SETTINGS:  # perhaps somebody has changed them
            path.replace(path.with_name(f"{path.name}.old"))
            kept = f"; the file is now {path.name}.old"
        with atomic_file(path, "wb") as file:
            file.write(content)
    log(f"{path}: {problem}{kept}; restored from {checkpoint}")


def _problem(path: Path, content: bytes, moved: Data | None) -> str | None:
    """Why a file is not as it should be; a few settings of a recipe may have been changed since it was copied."""
    if not path.is_file():
        return "missing"
    if path.read_bytes() == content:
        return None
    if path.name != RECIPE_FILE:
        return "damaged"
    try:
        before, now = parse_recipe(content.decode(), (), path.name), load_recipe(path)
    except UserError:
        return "damaged"
    if moved:
        before, now = (recipe.model_copy(update={"data": moved}) for recipe in (before, now))
    changed = unchangeable_differences(before, now)
    return OTHER_SETTINGS if changed else None
