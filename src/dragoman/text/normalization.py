"""What text may hold after encoding and decoding: no half characters, no line breaks, single spaces."""

from __future__ import annotations

import re

MARK = "▁"
"""U+2581, which stands for a space in subwords. In a user's text it counts as one."""

SPACES = rf"[\s\x00-\x1f\x7f-\x9f{MARK}]+"
"""A run of Unicode white space, control characters (NUL too) and marks: one space."""

_SPACES = re.compile(SPACES)
_SURROGATES = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    r"""The text with U+FFFD for halves of UTF-16 pairs, which JSON's ``\\ud800`` yields and UTF-8 cannot hold."""
    return _SURROGATES.sub("\ufffd", text)


def collapse_spaces(text: str) -> str:
    """The text on one line: runs of white space and control characters become one space, none at the ends."""
    return _SPACES.sub(" ", text).strip(" ")
