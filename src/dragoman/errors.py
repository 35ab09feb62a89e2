"""Errors that the command line shows as a message, without a traceback, with exit code 2; and parts of messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A mistake that the user can fix; the message names the file and line, or the key and value."""


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 line``, ``2,000 lines``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def nearest(word: str, allowed: Iterable[str]) -> str:
    """A hint such as ``; did you mean 'heads'?`` for a mistyped word, or the empty string if no word is similar."""
    matches = difflib.get_close_matches(word, list(allowed), n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""
