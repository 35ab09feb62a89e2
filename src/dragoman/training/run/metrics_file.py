"""metrics.jsonl of a training run: one JSON object per line for each logged step, validation, test and event."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from dragoman.errors import UserError
from dragoman.system.files import atomic_file, read_bytes

RecordKind = Literal["train", "validation", "test", "comparison", "event", "slow"]
METRICS_FILE = "metrics.jsonl"
_AT_THE_END = ("test", "comparison")
Metrics = Sequence[dict[str, Any]]
"""Lines of metrics.jsonl."""
MAX_METRICS_BYTES = 1_000_000_000
"""Maximum size of metrics.jsonl, which grows by about 300 bytes for each logged step."""


class MetricsFile:
    """metrics.jsonl, open for appending. Each line is flushed when it is written.

    Attributes:
        content: What the file should contain, even if it is damaged meanwhile.
    """

    def __init__(self, path: Path, after_step: int, copied: bytes = b"") -> None:
        """Open the file and remove the lines that are written again: of steps after `after_step`, and of the end.

        The means of the first `train` line after a resume are those of the steps since then.

        Args:
            path: The file, which may be missing.
            after_step: The step from which training continues.
            copied: The beginning of the file, as the checkpoint of this step has it.
        """
        lines = _parse_lines(read_restored(path, copied), path)
        kept = (text for text, line in lines if _step(line) <= after_step and line.get("kind") not in _AT_THE_END)
        self.content = bytearray(b"".join(text + b"\n" for text in kept))
        with atomic_file(path, "wb") as file:
            file.write(self.content)
        self._path = path
        self._file = path.open("a", encoding="utf-8")

    def write(self, kind: RecordKind, values: Mapping[str, Any]) -> None:
        """Append one line.

        Raises:
            UserError: The line cannot be written, because the disk is full or the run directory was deleted.
        """
        self.require_directory()
        text = _encode({"kind": kind, **values})
        try:
            self._file.write(text)
            self._file.flush()
        except OSError as error:
            raise UserError(f"{self._path}: cannot write the file: {error.strerror or error}") from error
        self.content += text.encode()

    def require_directory(self) -> None:
        """Check that the file that was opened is still in the run directory.

        Raises:
            UserError: The directory was deleted or moved; nothing should be written at its place.
        """
        try:
            if os.path.samestat(os.fstat(self._file.fileno()), self._path.stat()):
                return
        except FileNotFoundError:
            if not self._path.parent.exists():
                raise UserError(f"{self._path.parent}: the run directory was deleted or moved") from None
        raise UserError(f"{self._path}: was deleted or replaced while the run was writing it")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _encode(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False) + "\n"


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a metrics.jsonl.

    An incomplete last line is skipped: the run was interrupted while writing it. A damaged line elsewhere is skipped
    with a warning.

    Raises:
        UserError: The file is missing, unreadable or larger than `MAX_METRICS_BYTES`.
    """
    return [line for _, line in _parse_lines(read_bytes(path, MAX_METRICS_BYTES), path)]


def read_restored(path: Path, copied: bytes) -> bytes:
    """The content of a metrics.jsonl, whose beginning is taken from a copy if it is missing or damaged."""
    content = read_bytes(path, MAX_METRICS_BYTES) if path.exists() else b""
    return content if content.startswith(copied) else copied + content[len(copied) :]


def _parse_lines(content: bytes, path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """The lines that are JSON objects, as text and as data."""
    texts = content.splitlines()
    for number, text in enumerate(texts, start=1):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):  # invalid JSON or UTF-8, or thousands of nested brackets
            line = None
        if isinstance(line, dict):
            yield text, line
        elif number < len(texts):
            warnings.warn(f"{path} line {number}: skipped, because it is not a JSON object", stacklevel=3)


def _step(line: dict[str, Any]) -> float:
    """The step of a line, or 0 if it has none."""
    step = line.get("step")
    return step if isinstance(step, int | float) else 0


def current_lines(metrics: Metrics, kind: RecordKind) -> list[dict[str, Any]]:
    """The lines of one kind, all with a step, in order; a step repeated after a resume replaces its first attempt."""
    current: list[dict[str, Any]] = []
    for line in metrics:
        if line["kind"] == kind:
            while current and current[-1]["step"] >= line["step"]:
                current.pop()
            current.append(line)
    return current
