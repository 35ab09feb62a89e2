"""What a path means that should be a run or a bundle, but is neither."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from dragoman.errors import UserError

RUNS = Path("runs")
"""Where runs are by default."""
LISTED = 5  # runs in a message
_BUNDLE = "bundle"
_MISSING = "no such bundle or run directory"


class NoBundleError(UserError):
    """There is no bundle at a path.

    Attributes:
        path: The path.
        meant: The run or bundle that is probably meant, if there is one.
        similar: Whether the path resembles it, or contains it, or is a part of it; otherwise it is the only one.
    """

    def __init__(self, path: Path, problem: str, meant: Path | None = None, *, similar: bool = True) -> None:
        hint = "did you mean" if similar else "the only finished run is"
        super().__init__(f"{path}: {problem}" + (f"; {hint} {meant}{'?' * similar}" if meant else ""))
        self.path, self.meant, self.similar = path, meant, similar


def run_directory(path: Path) -> Path:
    """The absolute path of a run, given its path or that of its bundle."""
    whole = Path(os.path.abspath(path))
    return whole.parent if whole.name == _BUNDLE else whole


def has_bundle(path: Path) -> bool:
    """Whether a path is a bundle or a run that has one."""
    # The method of Path raises OSError for names that are too long.
    return os.path.isfile(path / "bundle.json") or os.path.isfile(path / _BUNDLE / "bundle.json")


def explain_no_bundle(path: Path) -> NoBundleError:
    """Why there is no bundle at a path, and what to use instead."""
    for run in (path, *path.parents):
        if has_bundle(run):
            return NoBundleError(path, "not a bundle, but a part of one" if os.path.exists(path) else _MISSING, run)
        if os.path.isfile(run / "recipe.toml") and (run == path or _is_run_directory(run)):
            return NoBundleError(path, f"this run has no bundle yet; finish it with: {resume_command(run)}")
    if os.path.isdir(path):
        return _explain_directory(path)
    if os.path.exists(path):
        return _explain_file(path)
    places = (RUNS, path.parent.parent, path.parent)  # of equal names, the last one is used
    if meant := _nearest(path, [run for place in places for run in _finished_runs(place)]):
        return NoBundleError(path, _MISSING, meant)
    return _explain_with_runs(path, _MISSING)


def _explain_directory(path: Path) -> NoBundleError:
    finished = list(_finished_runs(path))
    if len(finished) == 1:
        return NoBundleError(path, "contains runs, but is not one", finished[0])
    if finished:
        return NoBundleError(path, f"contains several runs; choose one: {_list(finished)}")
    if unfinished := [run for run in _directories(path) if os.path.isfile(run / "recipe.toml")]:
        return NoBundleError(path, f"contains runs, but none of them is finished: {_list(unfinished)}")
    return _explain_with_runs(path, "not a dragoman bundle (it contains no bundle.json)")


def _explain_file(path: Path) -> NoBundleError:
    if path.suffix != ".toml":
        problem = "not a dragoman bundle, which is a directory with a bundle.json; this is a file"
        return _explain_with_runs(path, problem)
    command = shlex.join(["dragoman", "train", str(path)])
    problem = f"not a dragoman bundle, but a recipe; train a translator with: {command}"
    meant = RUNS / path.stem
    return NoBundleError(path, problem, meant if has_bundle(meant) else None)


def _explain_with_runs(path: Path, problem: str) -> NoBundleError:
    """An error that names the runs in the default directory."""
    finished = list(_finished_runs(RUNS))
    if len(finished) > 1:
        return NoBundleError(path, f"{problem}; finished runs: {_list(finished)}")
    return NoBundleError(path, problem, finished[0] if finished else None, similar=False)


def _nearest(path: Path, runs: Sequence[Path]) -> Path | None:
    """The run with the most similar name; the last part of a path may be ``bundle``."""
    by_name = {run.name: run for run in runs}
    for name in (path.name, path.parent.name) if path.name == _BUNDLE else (path.name,):
        if matches := get_close_matches(name, by_name, n=1):
            return by_name[matches[0]]
    return None


def _is_run_directory(path: Path) -> bool:
    """Whether a directory above a path is a run; a recipe.toml alone may be in any directory."""
    return os.path.isfile(path / "recipe.toml") and os.path.isdir(path / "checkpoints")


def _finished_runs(directory: Path) -> Iterator[Path]:
    return (path for path in _directories(directory) if has_bundle(path))


def _directories(directory: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(path for path in directory.iterdir() if path.is_dir() and not path.name.startswith("."))
    return []


def _list(runs: list[Path]) -> str:
    return ", ".join(map(str, runs[:LISTED])) + (", …" if len(runs) > LISTED else "")


def resume_command(run: Path, data_directory: Path | None = None) -> str:
    """The command that continues a run, with the mirror of the dataset catalog that it uses."""
    mirror = ["--data-dir", str(data_directory)] if data_directory else []
    return shlex.join(["dragoman", "train", str(run / "recipe.toml"), "--output", str(run), *mirror, "--resume"])
