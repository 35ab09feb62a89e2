"""Writing translations, one line for each."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dragoman.cli.standard_streams import DASH
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


def print_json(data: Any) -> None:
    """Print readable JSON."""
    print(json.dumps(data, ensure_ascii=False, indent=2))


def to_line(translation: Translation) -> str:
    """The translation on one line, and its alternatives, separated by tabs.

    A translation without alternatives keeps its spaces and tabs, such as the indentation of a list.
    """
    if not translation.alternatives:
        return " ".join(translation.text.splitlines())
    texts = [translation.text, *(other.text for other in translation.alternatives)]
    return "\t".join(" ".join(text.split()) for text in texts)


def to_json(translation: Translation) -> str:
    """Everything about a translation as JSON on one line."""
    return json.dumps(asdict(translation), ensure_ascii=False)
