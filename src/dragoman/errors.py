"""Errors that the command line shows as a message, without a traceback, with exit code 2; and parts of messages."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from os import PathLike

SHOWN_CHARACTERS = 60
"""Maximum length of texts and values in messages."""
LINE_CHARACTERS = 2000
"""Maximum length of a line of a message; messages of libraries repeat values at full length."""

_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that control a terminal or the direction of text, except tabs and line breaks, and lone surrogates."""


class UserError(Exception):
    """A mistake that the user can fix; the message names the file and line, or the key and value.

    Control characters are escaped and long lines are shortened, because messages repeat what damaged or malicious files
    contain.
    """

    def __init__(self, message: str) -> None:
        super().__init__("\n".join(map(shortened_in_the_middle, escape_controls(message).split("\n"))))


class OtherLanguagesError(UserError):
    """A corpus has no text in one of the languages that are wanted; it may have text in others."""


def escape_controls(text: str) -> str:
    """The text with control characters as escape sequences, such as ``\\u202e``, so that a terminal shows them."""
    return _CONTROLS.sub(lambda match: ascii(match[0])[1:-1], text)


def shown_name(name: str | PathLike[str]) -> str:
    """The name of a file on one line: as `escape_controls`, with line breaks and tabs as escape sequences, too."""
    return escape_controls(str(name)).replace("\n", "\\n").replace("\t", "\\t")


def shortened(text: str) -> str:
    """At most the first `SHOWN_CHARACTERS` characters of a text or value; with an ellipsis if it is longer."""
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def shortened_in_the_middle(text: str, length: int = LINE_CHARACTERS) -> str:
    """At most so many characters of a text, with an ellipsis in the middle if it is longer."""
    half = length // 2 - 3
    return text if len(text) <= length else f"{text[:half]} … {text[-half:]}"


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 line``, ``2,000 lines``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def nearest(word: str, allowed: Iterable[str]) -> str:
    """A hint such as ``; did you mean 'heads'?`` for a mistyped word, or the empty string if no word is similar."""
    matches = difflib.get_close_matches(word, list(allowed), n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""
