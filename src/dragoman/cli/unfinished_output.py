"""The lines that `dragoman translate --output` has finished; an interrupted command continues after them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dragoman.errors import UserError, counted
from dragoman.system.build_cache import digest
from dragoman.system.unfinished import only_writer


@dataclass(frozen=True)
class OutputLine:
    """A line of the output, and what is reported about its translation."""

    text: str
    problems: Sequence[str] = ()
    truncated: bool = False


def _is_complete(line: bytes) -> bool:
    """Whether a stored line is intact; the computer may have crashed before all of it was on the disk."""
    try:
        return line.endswith(b"\n") and isinstance(json.loads(line), dict)
    except ValueError:
        return False


class FinishedLines:
    """The finished lines of an output, in a file.

    Args:
        file: Where they are, as JSON; what a killed process has written to it is kept.
        group: The number of lines that are translated together. Incomplete and damaged groups, and those after them,
            are deleted, so that their lines are translated as without an interruption.
    """

    def __init__(self, file: Path, group: int) -> None:
        self._file, self._group = file, group
        self.number = self._count()

    def _count(self) -> int:
        """The number of finished lines, after deleting others."""
        number, end = 0, 0
        with self._file.open("a+b") as file:
            file.seek(0)
            for read, line in enumerate(file, start=1):
                if not _is_complete(line):
                    break
                if read % self._group == 0:
                    number, end = read, file.tell()
            file.truncate(end)
        return number

    def __iter__(self) -> Iterator[OutputLine]:
        """The lines that were finished before this object was made."""
        with self._file.open(encoding="utf-8") as file:
            for line in file:
                yield OutputLine(**json.loads(line))

    def extend(self, lines: Iterable[OutputLine]) -> Iterator[OutputLine]:
        """The same lines, of which each complete group is stored."""
        file = self._file.open("a", encoding="utf-8")
        try:
            for added, line in enumerate(lines, start=1):
                file.write(json.dumps(asdict(line), ensure_ascii=False) + "\n")
                if added % self._group == 0:
                    file.flush()
                    self.number += self._group
                yield line
        finally:
            with suppress(OSError):  # such as a full disk; an incomplete group is not needed
                file.close()


@contextmanager
def finished_lines(output: Path, identity: Any, group: int) -> Iterator[FinishedLines]:
    """The finished lines of an output, which are deleted after the block, unless it is interrupted.

    Args:
        output: The file that is written.
        identity: Everything that decides its lines, as plain data. Lines of another identity are not used.
        group: See `FinishedLines`.

    Raises:
        UserError: Another process is writing the output.
        OSError: There is no space, or no permission.
    """
    with only_writer(output) as directory:
        file = directory / f"{digest(identity)}.jsonl"
        finished = FinishedLines(file, group)
        if finished.number:
            print(f"dragoman: continues after {counted(finished.number, 'line')} in {directory}", file=sys.stderr)
        try:
            yield finished
        except (KeyboardInterrupt, SystemExit, OSError, UserError) as error:
            has_message = isinstance(error, OSError | UserError)
            input_is_wrong = isinstance(error, UserError) and not isinstance(error.__cause__, OSError)
            if finished.number and not input_is_wrong:
                shown = counted(finished.number, "translated line")
                print(f"dragoman: {directory} contains {shown}; to continue, run the same command", file=sys.stderr)
            else:
                if not has_message:
                    print(f"dragoman: interrupted before {counted(group, 'line')} were translated", file=sys.stderr)
                _discard(file)
            raise
        shutil.rmtree(directory)


def _discard(file: Path) -> None:
    """Delete finished lines, and their directory unless it has those of other settings, which may still be wanted."""
    file.unlink()
    if not any(file.parent.glob("*.jsonl")):
        shutil.rmtree(file.parent)
