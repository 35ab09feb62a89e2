"""What commands read from standard input, and write to standard output, standard error and files."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.text.translation import Translation


@contextmanager
def open_output(path: Path | None) -> Iterator[IO[str]]:
    """Standard output for None and ``-``, or a file that appears only once it is complete; ``.gz`` is compressed."""
    if path in (None, DASH):
        yield sys.stdout
        sys.stdout.flush()
        return
    from dragoman.system.files import atomic_text_file

    with atomic_text_file(path) as file:
        yield file


def refuse_to_overwrite(output: Path | None, *read: tuple[str, str | Path | None]) -> None:
    """Refuse an output that is one of the files that are read; links are followed.

    Args:
        output: The file to write; None and ``-`` are standard output.
        read: Pairs of a name for the message and a file, or None if the file is not given.

    Raises:
        UserError: It is one of them.
    """
    for name, file in read:
        if output not in (None, DASH) and file and os.path.realpath(output) == os.path.realpath(file):
            raise UserError(f"{output}: is also {name}; choose another name")


def print_to_stderr(text: str) -> None:
    """Print a message that is not the result of a command."""
    print(text, file=sys.stderr)


def has_colors() -> bool:
    """Whether standard output is a terminal that shows colors, and the user wants them (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(data: Any) -> None:
    """Print readable JSON; bytes of file names that are not UTF-8 are escape sequences of JSON."""
    text = json.dumps(data, ensure_ascii=False, indent=2)
    print(text.encode(errors="backslashreplace").decode())


def to_line(translation: Translation) -> str:
    """The translation on one line, and its alternatives, separated by tabs.

    A translation without alternatives keeps its spaces and tabs, such as the indentation of a list.
    """
    if not translation.alternatives:
        return " ".join(translation.text.splitlines())
    texts = [translation.text, *(other.text for other in translation.alternatives)]
    return "\t".join(" ".join(text.split()) for text in texts)


def to_json(translation: Translation) -> str:
    """Everything about a translation as JSON on one line; only documents need its links."""

    def without_links(fields: list[tuple[str, Any]]) -> dict[str, Any]:
        return {name: value for name, value in fields if name != "links"}

    return json.dumps(asdict(translation, dict_factory=without_links), ensure_ascii=False)


def _accept_file_name(context: typer.Context, as_json: bool) -> bool:
    """Pass a file name after --json on to the command instead of reporting an unexpected argument."""
    context.allow_extra_args = as_json
    return as_json


JsonFlag = Annotated[
    bool, typer.Option("--json", callback=_accept_file_name, help="Print JSON to standard output instead of text.")
]


def refuse_file_name(context: typer.Context) -> None:
    """Explain what replaced the file name that --json used to take.

    Raises:
        UserError: There are arguments that the command does not expect.
    """
    if context.args:
        raise UserError(
            f"unexpected argument {context.args[0]!r}: --json prints to standard output and takes no file name; to "
            "write a file, use --json > scores.json"
        )


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
