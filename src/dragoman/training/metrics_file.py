"""metrics.jsonl of a training run: one JSON object per line for each logged step, validation, test and event."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from dragoman.errors import UserError
from dragoman.system.files import write_text

RecordKind = Literal["train", "validation", "test", "event"]
Metrics = Sequence[dict[str, Any]]
"""Lines of metrics.jsonl."""


class MetricsFile:
    """metrics.jsonl, open for appending. Each line is flushed when it is written."""

    def __init__(self, path: Path, after_step: int) -> None:
        """Open the file and remove the lines of steps after `after_step`, because those steps are repeated."""
        kept = [line for line in read_metrics(path) if line.get("step", 0) <= after_step] if path.exists() else []
        write_text(path, "".join(map(_encode, kept)))
        self._path = path
        self._file = path.open("a", encoding="utf-8")

    def write(self, kind: RecordKind, values: Mapping[str, Any]) -> None:
        """Append one line.

        Raises:
            UserError: The line cannot be written, for example because the disk is full.
        """
        try:
            self._file.write(_encode({"kind": kind, **values}))
            self._file.flush()
        except OSError as error:
            raise UserError(f"{self._path}: cannot write the file: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _encode(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False) + "\n"


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a metrics.jsonl.

    An incomplete last line is skipped: the run was interrupted while writing it. A damaged line elsewhere is skipped
    with a warning.
    """
    lines = path.read_bytes().splitlines()
    metrics: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        try:
            metric = json.loads(line)
        except ValueError:
            metric = None
        if isinstance(metric, dict):
            metrics.append(metric)
        elif number < len(lines):
            warnings.warn(f"{path} line {number}: skipped, because it is not a JSON object", stacklevel=2)
    return metrics


def current_lines(metrics: Metrics, kind: RecordKind) -> list[dict[str, Any]]:
    """The lines of one kind in order of their steps; a step repeated after a resume replaces its first attempt."""
    current: list[dict[str, Any]] = []
    for line in metrics:
        if line["kind"] == kind:
            while current and current[-1]["step"] >= line["step"]:
                current.pop()
            current.append(line)
    return current
