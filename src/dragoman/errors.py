"""Errors for people: shown as one message, without a traceback, with exit code 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user can mend; its message names the file and line, or the key and value."""


def nearest(word: str, allowed: Iterable[str]) -> str:
    """A hint like ``; did you mean 'heads'?`` for a mistyped word, or the empty string."""
    matches = difflib.get_close_matches(word, list(allowed), n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""
