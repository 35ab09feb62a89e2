"""metrics.jsonl: one JSON object a line for each logged step, validation and event of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dragoman.errors import UserError
from dragoman.system.files import write_text
from dragoman.training.report import read_metrics


class MetricsFile:
    """metrics.jsonl, open for appending; every line is flushed as written."""

    def __init__(self, path: Path, after_step: int) -> None:
        """Open the file; lines of steps later than `after_step`, which will be done again, are dropped."""
        kept = [line for line in read_metrics(path) if line.get("step", 0) <= after_step] if path.exists() else []
        write_text(path, "".join(map(_encode, kept)))
        self._path = path
        self._file = path.open("a", encoding="utf-8")

    def write(self, kind: str, **values: Any) -> None:
        """Append one line.

        Raises:
            UserError: The disk is full.
        """
        try:
            self._file.write(_encode({"kind": kind, **values}))
            self._file.flush()
        except OSError as error:
            raise UserError(f"{self._path}: could not be written: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _encode(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False) + "\n"
