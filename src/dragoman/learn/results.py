"""The checks of a learner's file, in a separate process; this does not load torch, which only that process needs."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.errors import UserError
from dragoman.system.user_code import run_apart


@dataclass(frozen=True)
class Result:
    """Whether a check passed: the message is empty then.

    Attributes:
        chapter: The chapter of the check.
        check: The name of the check.
        message: What is wrong, and why.
        written: Whether the functions that it needs are written.
    """

    chapter: int
    check: str
    message: str = ""
    written: bool = True

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "chapter": self.chapter,
            "check": self.check,
            "passed": not self.message,
            "written": self.written,
            "message": self.message,
        }


def check_apart(path: Path, chapter: int | None) -> Generator[Result, None, None]:
    """The results of the checks of one chapter, or of all, as soon as they are known.

    What the learner's code prints is on standard error. If it ends the process, the check fails during which it does,
    and another process makes the checks after it.

    Raises:
        UserError: The file cannot be imported.
    """
    done = 0
    while True:
        running = None
        arguments = {"path": str(path), "chapter": chapter, "skipped": done}
        try:
            for is_done, values in run_apart("dragoman.learn.checks:check_file", arguments, "on standard error"):
                running = None if is_done else Result(*values)
                if is_done:
                    done += 1
                    yield Result(*values)
            return
        except UserError as error:
            if running is None:
                raise
            done += 1
            yield replace(running, message=str(error))
