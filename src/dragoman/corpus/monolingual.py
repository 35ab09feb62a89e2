"""Monolingual text: files with one sentence per line."""

from __future__ import annotations

from dragoman.corpus.aligned import refuse_other_content
from dragoman.corpus.checks import existing_file
from dragoman.corpus.corpus import refuse_other_formats
from dragoman.corpus.lines import read_lines
from dragoman.errors import UserError


def count_texts(file: str) -> int:
    """The number of lines with text in a file that can be read several times.

    Raises:
        UserError: There is no such file, or it contains no text, or is in a format for pairs.
    """
    refuse_other_formats(file)
    if file == "-" or not (path := existing_file(file)).is_file():
        raise UserError(f"{file}: monolingual text must be a file, because it is read several times")
    refuse_other_content(path)
    if not (number := sum(1 for line in read_lines(path) if line.strip())):
        raise UserError(f"{path}: contains no text")
    return number
