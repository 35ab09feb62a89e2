"""Standard input and output in place of files, which ``-`` names, and texts typed at a prompt."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from dragoman.errors import UserError

DASH = Path("-")
"""What names standard input or output."""


def read_standard_input(prompt: str) -> Iterator[str]:
    """The lines of standard input, with spaces in place of control characters; on a terminal, typed at a prompt."""
    from dragoman.corpus.lines import decode_lines

    if sys.stdin.isatty():
        return _prompted_lines(prompt)
    return decode_lines(sys.stdin.buffer, "standard input", replace_controls=True)


def _prompted_lines(prompt: str) -> Iterator[str]:
    """The lines that a user types, without empty ones, until Ctrl-D; Ctrl-C is raised as KeyboardInterrupt."""
    from dragoman.corpus.lines import LineError, check_text

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # for a message about invalid bytes
    while True:
        try:
            line = _read_line(prompt)
            line.encode()
            if line.strip():
                yield check_text(line)
        except UnicodeEncodeError:
            print("dragoman: not valid UTF-8; check the encoding of the terminal", file=sys.stderr)
        except LineError as error:
            print(f"dragoman: {error}", file=sys.stderr)
        except EOFError:
            print(file=sys.stderr)
            return
        except KeyboardInterrupt:
            print(file=sys.stderr)
            raise


def _read_line(prompt: str) -> str:
    """One line from the terminal. The prompt is not written to standard output if that is a file or a pipe."""
    if sys.stdout.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401 - gives `input` a history
        return input(prompt)
    print(prompt, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.removesuffix("\n")


@contextmanager
def file_for_standard_input(name: str) -> Iterator[Path]:
    """A temporary file with the content of standard input, for formats that are not read line by line."""
    from dragoman.corpus.references import UndeclaredError

    with TemporaryDirectory(prefix="dragoman-") as directory:
        path = Path(directory) / name
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield path
        except UndeclaredError as error:
            undeclared = UndeclaredError(error.problem.replace(str(path), "standard input"), **error.settings)
            undeclared.file = str(DASH)
            raise undeclared from None
        except UserError as error:
            raise UserError(str(error).replace(str(path), "standard input")) from None


@contextmanager
def file_for_standard_output(name: str) -> Iterator[Path]:
    """The path of a temporary file, which is copied to standard output after the block, unless the block fails."""
    with TemporaryDirectory(prefix="dragoman-") as directory:
        path = Path(directory) / name
        yield path
        with path.open(encoding="utf-8", newline="") as file:
            shutil.copyfileobj(file, sys.stdout)
        sys.stdout.flush()
