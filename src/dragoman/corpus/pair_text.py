"""Pairs of texts that may have several lines in their files, each as one line."""

from __future__ import annotations

import re

from dragoman.corpus.lines import LineError, check_text
from dragoman.corpus.pair import Pair
from dragoman.errors import UserError

_LINE_BREAKS = re.compile(r"[ \t\v\f]*[\r\n]\s*")


def make_pair(source: str, target: str, place: str) -> Pair:
    """A pair of texts on one line each.

    Raises:
        UserError: With the place, if a text is too long or contains control characters other than line breaks.
    """
    pair = Pair(join_lines(source), join_lines(target))
    try:
        check_text(pair.source)
        check_text(pair.target)
    except LineError as error:
        raise UserError(f"{place}: {error}") from None
    return pair


def join_lines(text: str) -> str:
    """The text with one space in place of each line break and the white space around it; none at the ends.

    A text without line breaks is returned as the same object, which may belong to a subclass of `str`.
    """
    if "\n" not in text and "\r" not in text:
        return text
    joined = _LINE_BREAKS.sub("\n", text)
    return joined.strip("\n").replace("\n", " ")
