"""The answers of a teacher on disk: each is synced before it is used, so that none is lost or paid for twice."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.errors import UserError
from dragoman.synthesis.teachers import Answer, TokenUsage


class AnswerLog:
    """Answers by the name of the request, in a file with one JSON object per line.

    The process that writes it holds a lock (`only_writer`). A line that a killed process has not completed is removed.
    What is behind a name stays on disk until it is read.

    Args:
        path: The file, which need not exist.

    Attributes:
        usage: What all answers together have used.

    Raises:
        UserError: The file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.usage = path, TokenUsage()
        self._places: dict[str, int] = {}
        try:
            self._file = path.open("a+b")
            self._read_places()
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from error

    def _read_places(self) -> None:
        self._file.seek(0)
        complete = 0
        for line in self._file:
            try:
                entry = json.loads(line) if line.endswith(b"\n") else {}
                name, usage = entry["request"], TokenUsage(**entry["answer"]["usage"])
            except (ValueError, KeyError, TypeError):
                if line.endswith(b"\n"):  # damaged by a disk; the lines after it may be whole
                    complete += len(line)
                continue
            self._places[name] = complete
            self.usage = self.usage.plus(usage)
            complete += len(line)
        self._file.truncate(complete)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, request: str) -> bool:
        return request in self._places

    def get(self, request: str) -> Answer | None:
        """The answer to a request, if there is one."""
        if (place := self._places.get(request)) is None:
            return None
        self._file.seek(place)
        return _answer_of(json.loads(self._file.readline())["answer"])

    def append(self, request: str, answer: Answer) -> None:
        """Store an answer; it is on the disk when this returns.

        Raises:
            UserError: The disk is full.
        """
        line = json.dumps({"request": request, "answer": asdict(answer)}, ensure_ascii=True).encode() + b"\n"
        try:
            place = self._file.seek(0, os.SEEK_END)
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise UserError(f"{self.path}: {error.strerror}; make room, and continue with --resume") from error
        self._places[request] = place
        self.usage = self.usage.plus(answer.usage)

    def close(self) -> None:
        """Close the file, and delete it if it is empty. What a full disk has refused was reported by `append`."""
        with suppress(OSError):
            self._file.close()
            if not self._places:
                self.path.unlink()


def _answer_of(stored: dict[str, Any]) -> Answer:
    return Answer(**{**stored, "usage": TokenUsage(**stored["usage"])})
