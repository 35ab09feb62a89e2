"""The directory of a run: checks before training, files of its start, what remains to be done, and restored files."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from dragoman.bundle import Bundle
from dragoman.dataset.prepare import Dataset
from dragoman.errors import UserError
from dragoman.recipe import load_recipe, parse_recipe, save_recipe
from dragoman.settings import Data, Recipe
from dragoman.system.files import (
    atomic_file,
    follow_links,
    is_leftover,
    read_json,
    read_json_with,
    remove_leftovers,
    sha256,
    write_json,
)
from dragoman.system.progress import Log, no_log
from dragoman.system.run_paths import has_bundle
from dragoman.system.time_limit import LEAST_TRAINING
from dragoman.text.registry import SOURCE_FILE, TARGET_FILE, load_tokenizers, save_tokenizers, tokenizers_digest
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.run.checkpoint import (
    checkpoint_path,
    checkpoint_steps,
    find_intact,
    read_copy,
    read_progress,
    refuse_other_tokenizers,
)
from dragoman.training.run.log import METRICS_FILE, read_restored
from dragoman.training.stages.recipes import has_stages

Made = TypeVar("Made")

LOCK_FILE = ".lock"
RECIPE_FILE = "recipe.toml"
PAIRS_FILE = "pairs.json"
"""The numbers of pairs when the run was started, and a digest of their text."""
WITHOUT_DIGESTS = (
    "if you delete it, the run can be resumed, but does not notice if its text or its bundles have changed until then"
)
DIGESTED_VALUES = 2**20  # at once
RUN_FILE = "run.json"
"""What a run was started with, and its recipe does not contain: the minutes for everything."""
START_FILE = "start.json"
"""The digest of the bundle that the run was started from."""
SOURCES_FILE = "sources.json"
"""The digests of the teachers that a recipe names, and of the monolingual text."""
REPORT_FILE = "report.html"
LEFT_OUT_FILE = "left-out.tsv"
"""Training pairs that `data.clean` left out, with the reasons."""

CHANGEABLE = (
    *("decoding.", "data.test", "training.checkpoint_minutes", "training.log_every"),
    *("training.teacher_forced_bleu", "training.threads"),
)
"""Settings that may change when a run is resumed: they do not affect the steps, except that `training.threads` changes
rounding.

Scores of later validations, which choose the best checkpoint, follow the changed search.
"""


def check_place(recipe: Recipe, output: Path, resume: bool) -> bool:
    """Check that the run directory contains this run, or is empty; returns whether it had to be created.

    Raises:
        UserError: It contains something else, or this run with other settings, or cannot be created.
    """
    path, existed = output / RECIPE_FILE, output.exists()
    check_directory(output, resume)
    if resume:
        if changed := unchangeable_differences(load_recipe(path), recipe):
            reason = f"{path}: these settings cannot change when a run is resumed; use this file as it is to keep them"
            raise UserError("\n  ".join([reason, *changed]))
        return False
    try:
        follow_links(output).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{output}: cannot be created: {error.strerror}") from error
    return not existed


def check_directory(output: Path, resume: bool) -> None:
    """Check that a directory contains a run, if one is resumed, or else that it does not exist or is empty.

    Raises:
        UserError: It contains something else, or another process is training in it.
    """
    try:
        str(output).encode()
    except UnicodeEncodeError:  # safetensors could not write there, after the whole training
        raise UserError(f"{str(output)!r}: not valid UTF-8; choose another --output") from None
    _refuse_locked(output)
    if (output / RECIPE_FILE).is_file():
        if not resume:
            raise UserError(f"{output}: already contains a run; continue it with --resume, or choose another --output")
    elif resume:
        raise UserError(
            f"{output}: there is no run to resume; leave out --resume to start one, or name the run's directory with "
            "--output"
        )
    elif output.exists() and not output.is_dir():
        raise UserError(f"{output}: is a file, not a directory; choose another --output")
    elif output.exists() and not all(map(_is_leftover, output.iterdir())):
        raise UserError(f"{output}: not empty; choose another --output")
    else:
        _refuse_unwritable(output)


def _refuse_locked(output: Path) -> None:
    """Check that no process is training in a directory, which may contain the lock of a killed process."""
    lock = output / LOCK_FILE
    if lock.is_file() and os.access(lock, os.W_OK):  # a finished run may be on a disk for reading only
        with lock_directory(output):
            pass


def _refuse_unwritable(output: Path) -> None:
    """Check that a directory can be created or written to, because training starts minutes later."""
    place = follow_links(output).absolute()
    existing = next(filter(os.path.exists, (place, *place.parents)))  # Path.exists raises for long names
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        what = "is not writable" if existing.is_dir() else "is not a directory"
        raise UserError(f"{output}: cannot be created: {existing} {what}; choose another --output")


@contextmanager
def lock_directory(run: Path, timeout: float = 0.0) -> Iterator[None]:
    """Let no other process train in a run directory. A killed process releases the lock.

    Args:
        run: The directory.
        timeout: Seconds to wait for another process.

    Raises:
        UserError: Another process trains in it, or it cannot be written to.
    """
    lock = FileLock(run / LOCK_FILE)
    try:
        lock.acquire(timeout=timeout)
    except Timeout:
        raise UserError(f"{run}: another process is training in this directory") from None
    except OSError as error:
        raise UserError(f"{lock.lock_file}: cannot be created: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()  # the file stays: another process that has just opened it would hold a lock on a deleted file


def record_minutes(run: Path, minutes: float) -> None:
    """Store the limit of the command that starts a run, of which the recipe contains only the time of training."""
    write_json(run / RUN_FILE, {"minutes": minutes})


def read_minutes(run: Path) -> float | None:
    """What `record_minutes` has stored, or None."""
    minutes = read_digests(run / RUN_FILE).get("minutes")
    return float(minutes) if isinstance(minutes, int | float) else None


def has_minutes(run: Path, recipe: Recipe, minutes: float) -> bool:
    """Whether a run was started with so many minutes for everything.

    Args:
        run: The run directory.
        recipe: Its recipe.
        minutes: Those that are given when it is resumed.
    """
    if (stored := read_minutes(run)) is not None:
        return stored == minutes
    of_training = recipe.training.minutes  # all that runs of earlier versions have
    return of_training is not None and LEAST_TRAINING * minutes <= of_training <= minutes


def start_directory(recipe: Recipe, output: Path, data: Dataset) -> None:
    """Delete incomplete files of a killed run, and save the recipe and the tokenizers.

    Raises:
        UserError: The directory has checkpoints that were made with other tokenizers, or with another text.
    """
    for directory in (output, output / "checkpoints"):
        remove_leftovers(directory)
    save_recipe(recipe, output / RECIPE_FILE)  # a few settings may change when a run is resumed
    refuse_other_tokenizers(output, tokenizers_digest(data.source, data.target))
    _refuse_other_pairs(output / PAIRS_FILE, data)
    save_tokenizers(output, data.source, data.target)


def update_text_paths(run: Path, data: Data) -> None:
    """Store the new paths of the text in the recipe of a teacher that was started before its run was moved.

    `start_directory` still refuses a text with another content.
    """
    path = run / RECIPE_FILE
    if path.is_file() and (old := load_recipe(path)).data != data:
        save_recipe(old.model_copy(update={"data": data}), path)


def _refuse_other_pairs(path: Path, data: Dataset) -> None:
    """Check that the text is that with which the run was started; stores a digest of it if there is none."""
    pairs = {"training": len(data.train), "validation": len(data.validation), "sha256": _digest_of_text(data)}
    if before := read_digests(path):
        if not all(type(before.get(name, value)) is type(value) for name, value in pairs.items()):
            raise UserError(f"{path}: damaged; {WITHOUT_DIGESTS}")
        changed = [name for name, value in pairs.items() if name in before and before[name] != value]
        if changed:
            numbers = [
                f"{before[name]:,} {name} pairs then, {pairs[name]:,} now"
                for name in changed
                if isinstance(pairs[name], int)
            ]
            what = f": {'; '.join(numbers)}" if numbers else ", though not the number of pairs"
            raise UserError(
                f"{path.parent}: the text, or how this version of dragoman prepares it, has changed since the run was "
                f"started{what}; restore the text and the version, or start another run"
            )
    write_json(path, pairs)


def read_made(path: Path, kind: type[Made], **known: Any) -> Made:
    """What is described in a JSON file that a run makes again if it is deleted.

    Args:
        path: The file.
        kind: A dataclass.
        known: Its fields that are not in the file.

    Raises:
        UserError: The file is damaged, or another version of dragoman has written it.
    """
    names = {each.name for each in fields(kind)} - known.keys()  # type: ignore[arg-type]
    try:
        return TypeAdapter(kind).validate_python({**read_json_with(path, names), **known})
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise UserError(f"{path}: damaged ({place}); delete it, and resume the run, which makes it again") from None
    except UserError as error:
        raise UserError(f"{error}; if it is damaged, delete it, and resume the run, which makes it again") from None


def write_checksums(path: Path, files: Iterable[Path]) -> None:
    """Store the SHA-256 of files that a run has made, next to them."""
    write_json(path, {file.name: sha256(file) for file in files})


def are_intact(path: Path) -> bool:
    """Whether all files are as `write_checksums` found them; runs of earlier versions did not store that."""
    if not path.is_file():
        return True
    try:
        stored = read_json(path)
    except UserError:
        return False
    return all((path.parent / name).is_file() and sha256(path.parent / name) == value for name, value in stored.items())


def read_digests(path: Path) -> dict[str, Any]:
    """What a run has stored to notice changes of its text and its bundles; {} if the file is missing.

    Raises:
        UserError: The file is damaged.
    """
    if not path.is_file():
        return {}
    try:
        return read_json(path)
    except UserError as error:
        raise UserError(f"{error}; {WITHOUT_DIGESTS}") from None


def _digest_of_text(data: Dataset) -> str:
    """A digest of the training pairs as ids, and of the validation pairs."""
    digest = hashlib.sha256()
    for store in (data.train.source, data.train.target):
        for array in (store.ids, store.offsets):
            for start in range(0, len(array), DIGESTED_VALUES):
                digest.update(array[start : start + DIGESTED_VALUES].astype(np.int64).tobytes())
                data.train.release_pages()
    for pair in data.validation:
        digest.update(f"{pair.source}\n{pair.target}\n".encode())
    return digest.hexdigest()


def _is_leftover(path: Path) -> bool:
    return path.name in (LOCK_FILE, RUN_FILE) or is_leftover(path)


def unchangeable_differences(old: Recipe, new: Recipe) -> list[str]:
    """The settings that differ although they cannot change when a run is resumed, with both values."""
    before, after = _flatten(old.to_dict()), _flatten(new.to_dict())
    filtered = new.data.clean or has_stages(new)  # by the test text
    return [
        f"{key}: {before.get(key, 'unset')} -> {after.get(key, 'unset')}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key) and (not key.startswith(CHANGEABLE) or (filtered and key == "data.test"))
    ]


def _flatten(data: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in data.items():
        flat |= _flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def saved_tokenizers(run: Path) -> tuple[Tokenizer, Tokenizer] | None:
    """The source and target tokenizers saved in a run directory, or None unless both are there."""
    saved = all((run / name).exists() for name in (SOURCE_FILE, TARGET_FILE))
    return load_tokenizers(run) if saved else None


@contextmanager
def removed_after_error(directory: Path | None) -> Iterator[None]:
    """Remove a directory if the block fails before anything was translated or trained in it or in a part of it.

    Then the same command can be run again.
    """
    try:
        yield
    except BaseException:
        if directory is not None and not [*directory.glob("**/checkpoints"), *directory.glob("synthetic/**/*.json")]:
            with suppress(OSError):  # on network disks, the open lock cannot be removed; the error matters more
                shutil.rmtree(follow_links(directory))
        raise


NOT_COMPARED_FILE = "not-compared.json"
"""In the run of a finished student that was not compared with its teachers: what its report contains."""


class RunResults:
    """The results of a run: its bundle, its report, and the comparison of a student with its teachers.

    The bundle is loaded at most once, and only if it matters whether it is damaged.

    Args:
        run: The run directory; it need not exist.
    """

    def __init__(self, run: Path) -> None:
        self.run = run

    @property
    def are_complete(self) -> bool:
        """Whether all results are there, so that a signal comes too late to stop anything."""
        return has_bundle(self.run) and self.have_report and not (self.run / NOT_COMPARED_FILE).exists()

    @property
    def have_report(self) -> bool:
        """Whether there is a complete report."""
        report = self.run / REPORT_FILE
        return report.is_file() and report.read_bytes().rstrip().endswith(b"</html>")

    @property
    def lack_comparison(self) -> bool:
        """Whether a student is not compared with its teachers yet."""
        return (self.run / NOT_COMPARED_FILE).is_file()

    @cached_property
    def _bundle_error(self) -> UserError | None:
        """Why the bundle cannot be loaded."""
        try:
            _ = Bundle.load(self.run).model  # which is read when it is first needed
        except UserError as error:
            return error
        return None

    @cached_property
    def need_training(self) -> bool:
        """Whether training must continue; otherwise, the run is finished, except perhaps for a comparison.

        A run whose bundle is damaged continues with its newest intact checkpoint. One that was stopped between its
        bundle and its report finishes once more, unless the comparison writes the report, or the bundle would not be
        the same because the last or the best checkpoint is damaged.
        """
        if not has_bundle(self.run):
            return True
        if self._bundle_error is None and (self.have_report or self._can_be_compared()):
            return False
        newest, usable = find_intact(self.run, no_log)
        if newest is None:
            return False
        if self._bundle_error is not None:
            return True
        return newest == checkpoint_steps(self.run)[-1] and read_progress(self.run, newest).best_step in usable

    def _can_be_compared(self) -> bool:
        try:
            read_uncompared(self.run)
        except UserError:
            return False
        return True

    def require_bundle(self) -> None:
        """Check that the bundle of a finished run can be used; it cannot be made again, see `need_training`."""
        if error := self._bundle_error:
            raise UserError(
                f"{error}; no checkpoint is intact, from which it could be made again; start again in another --output"
            ) from error

    def remove_damaged_bundle(self, log: Log) -> None:
        """Delete the bundle if it cannot be loaded, before it is made again."""
        if has_bundle(self.run) and self._bundle_error is not None:
            log(f"{self.run / 'bundle'}: damaged; made again from the checkpoints")
            shutil.rmtree(self.run / "bundle")


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
