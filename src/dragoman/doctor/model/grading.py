"""Examine models of users, each in a separate process: one that the command line names, or many files.

This does not load torch, which only these processes need.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, Literal

from dragoman.doctor.findings.finding import Finding
from dragoman.errors import UserError, shown_name
from dragoman.system.user_code import run_apart

FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
FILE = re.compile(r"(.+\.py)(?::([A-Za-z_]\w*))?", re.DOTALL)
DEFAULT_FUNCTION = "translator"
_EXAMINE = "dragoman.doctor.model.loading:examine_code"


def is_user_code(name: str) -> bool:
    """Whether a name on the command line is that of a file or function of the user, and not a bundle."""
    is_file = FILE.fullmatch(name) and not os.path.isdir(name)
    return bool(is_file or (not os.path.exists(name) and FACTORY.fullmatch(name)))


def examine_apart(name: str, *, overfit: bool, device: str) -> list[Finding]:
    """Examine the model of a user's file or function; what it prints is on standard error.

    Args:
        name: See `loading.examine_code`.
        overfit: Also train the model on a small batch.
        device: A device that must exist; the model stays where its function has put it.

    Raises:
        UserError: It cannot be examined.
    """
    found = run_apart(_EXAMINE, {"name": name, "overfit": overfit, "device": device}, "on standard error")
    return [Finding(**finding) for finding in found]


@dataclass(frozen=True)
class Grade:
    """The result of one file of a directory.

    Attributes:
        name: The path of the file in the directory.
        result: Whether it has no errors, has errors, or could not be examined.
        summary: The codes of the findings, or why it could not be examined, on one line.
        findings: The findings, as in JSON.
    """

    name: str
    result: Literal["right", "wrong", "failed"]
    summary: str
    findings: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def is_directory_of_models(name: str) -> bool:
    """Whether a directory contains Python files, and is no run or bundle."""
    path = Path(name)
    return bool(name) and os.path.isdir(name) and not any(path.rglob("*.safetensors")) and bool(_files(path))


def _files(directory: Path) -> list[Path]:
    """The Python files of a directory, without those that only help others; their names start with _ or test."""
    found = (path for path in directory.rglob("*.py") if not path.name.startswith(("_", "test", ".")))
    left_out = {"__pycache__", ".venv", ".ipynb_checkpoints", "site-packages"}
    return sorted(path for path in found if not left_out & set(path.parts) and not path.is_dir())


def grade_directory(directory: Path, seconds: float, *, overfit: bool, device: str) -> Generator[Grade, None, None]:
    """Examine each Python file of a directory in a process, as many at once as there are processors.

    Args:
        directory: The directory, in whose files a function `DEFAULT_FUNCTION` returns the arguments of `examine`.
        seconds: The longest time for a file.
        overfit: Also train each model on a small batch.
        device: As for `examine_apart`.
    """
    files = _files(directory)
    options, stopped = {"overfit": overfit, "device": device}, Event()
    with ThreadPoolExecutor(max_workers=min(len(files), os.cpu_count() or 1)) as pool:
        try:
            yield from pool.map(lambda path: _grade(directory, path, seconds, options, stopped), files)
        finally:
            stopped.set()  # at Ctrl-C, so that the pool does not wait for running files


def _grade(directory: Path, path: Path, seconds: float, options: dict[str, Any], stopped: Event) -> Grade:
    name = path.relative_to(directory).as_posix()
    try:
        findings = list(run_apart(_EXAMINE, {"name": str(path), **options}, "discarded", seconds, stopped))
    except (UserError, OSError) as error:
        reason = " ".join(str(error).removeprefix(f"{shown_name(path)}: ").split())
        return Grade(name, "failed", reason)
    codes = [
        each["code"] if each["severity"] == "error" else f"{each['code']} ({each['severity']})" for each in findings
    ]
    is_wrong = any(each["severity"] == "error" for each in findings)
    return Grade(name, "wrong" if is_wrong else "right", ", ".join(dict.fromkeys(codes)), findings)
