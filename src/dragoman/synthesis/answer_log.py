"""The answers of a teacher on disk: each is synced before it is used, so that none is lost or paid for twice."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from dragoman.errors import UserError
from dragoman.synthesis.teachers import MOST_TOKENS, Answer, TokenUsage

_NUMBERS = ("requests", "input_tokens", "output_tokens", "characters")
"""Of the usage."""


class AnswerLog:
    """Answers by the name of the request, in a file with one JSON object per line.

    The process that writes it holds a lock (`only_writer`). A line that a killed process has not completed is removed.
    What is behind a name stays on disk until it is read. Failures are no answers: of them, only the usage is stored,
    because it may have been paid for, so that another process sends these requests again.

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
        self._failures: dict[str, str] = {}
        try:
            self._file = path.open("a+b")
            self._read_places()
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from error

    def _read_places(self) -> None:
        self._file.seek(0)
        complete = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            if entry := _parse(line):  # others were damaged by a disk
                name, answer = entry
                self._count(name, answer, complete)
            complete += len(line)
        self._file.truncate(complete)

    def _count(self, request: str, answer: Answer, place: int) -> None:
        self.usage = self.usage.plus(answer.usage)
        if answer.failure:
            self._places.pop(request, None)
        else:
            self._places[request] = place

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, request: str) -> bool:
        return request in self._places or request in self._failures

    def get(self, request: str) -> Answer | None:
        """The answer to a request, or its failure, if there is one."""
        if (place := self._places.get(request)) is None:
            failure = self._failures.get(request)
            return None if failure is None else Answer("", failure=failure)
        self._file.seek(place)
        entry = _parse(self._file.readline())
        assert entry, "it was read before"
        return entry[1]

    def fail(self, request: str, failure: str) -> None:
        """Remember that this process does not send a request again, and why."""
        self._failures[request] = failure

    def forget(self, request: str, failure: str) -> None:
        """Take an answer for a failure, so that another process sends the request again.

        Raises:
            UserError: The disk is full.
        """
        self.append(request, Answer("", failure=failure))

    def append(self, request: str, answer: Answer) -> None:
        """Store an answer, or the usage of one with a failure; it is on the disk when this returns.

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
        self._count(request, answer, place)

    def close(self) -> None:
        """Close the file, and delete it without answers. What a full disk has refused was reported by `append`."""
        with suppress(OSError):
            self._file.close()
            if not self._places:
                self.path.unlink()


def _parse(line: bytes) -> tuple[str, Answer] | None:
    """The name and the answer in a line, or None if it is damaged."""
    try:
        entry = json.loads(line)
        name, stored = entry["request"], entry["answer"]
        answer = Answer(**{**stored, "usage": TokenUsage(**stored["usage"])})
        texts = answer.content if isinstance(answer.content, list) else [answer.content]
        numbers = [getattr(answer.usage, each) for each in _NUMBERS]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    is_whole = all(isinstance(text, str) for text in (name, answer.failure, *texts)) and all(
        isinstance(number, int) and 0 <= number <= MOST_TOKENS for number in numbers
    )
    return (name, answer) if is_whole else None
