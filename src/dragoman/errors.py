"""Errors that the command line shows as one message, without a traceback, and with exit code 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A mistake that the user can fix; the message names the file and line, or the key and value."""


def nearest(word: str, allowed: Iterable[str]) -> str:
    """A hint such as ``; did you mean 'heads'?`` for a mistyped word, or the empty string if no word is similar."""
    matches = difflib.get_close_matches(word, list(allowed), n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""
