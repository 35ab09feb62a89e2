"""The tables and patterns of `dragoman.text` in JavaScript, so that the page has no second copy of them.

`write_tables` makes the module `tables.js`. `to_javascript` writes a pattern of the `regex` library in the syntax of
`RegExp` with the flag v; it supports what the patterns of the page use, and fails for anything else.
"""

from __future__ import annotations

import json
import re
from typing import Any

import regex

from dragoman.languages import sentence_marks
from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.text import known_characters, masking, normalization, number_forms, placeholders, tag_spaces, usual_case
from dragoman.text.term_marks import TERM_MARKS

_QUANTIFIER = re.compile(r"([*+?]|\{\d+(?:,\d*)?\})([+?]?)")
_GROUP = re.compile(r"\((\?P<\w+>|\?:|\?=|\?!|\?<=|\?<!|\?i:|)")
_CODE = re.compile(r"u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})")
_PROPERTY = re.compile(r"[pP]\{\w+(?:=\w+)?\}")
_SCRIPTS = ("Latin",)  # that patterns name without Script=
_CLASSES = {
    "d": r"\p{Nd}",
    "s": r"\p{White_Space}",
    "S": r"\P{White_Space}",
    "w": r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]",
}
_SYNTAX = r"^$\.*+?()[]{}|/"
_SYNTAX_OF_SETS = r"()[]{}|/\-^&"


def to_javascript(pattern: re.Pattern[str] | regex.Pattern[str]) -> str:
    """The source of a `RegExp` with the flag v that matches the same."""
    reader = _PatternReader(pattern)
    written = reader.alternatives()
    assert reader.is_at_end, f"unexpected {reader.rest!r}"
    return written


class _PatternReader:
    """Reads a pattern from left to right, and writes it in JavaScript."""

    def __init__(self, pattern: re.Pattern[str] | regex.Pattern[str]) -> None:
        self._text, self._place = pattern.pattern, 0
        self._is_verbose = bool(pattern.flags & regex.VERBOSE)
        self._is_dotall = bool(pattern.flags & regex.DOTALL)
        self._ignores_case = False
        self._is_behind = False  # inside of a lookbehind, which JavaScript reads from right to left
        self._possessive = 0

    @property
    def rest(self) -> str:
        """What is not read yet."""
        return self._text[self._place :]

    @property
    def is_at_end(self) -> bool:
        """Whether everything is read."""
        self._skip_comments()
        return not self.rest

    def alternatives(self) -> str:
        """What follows, up to the end of the group."""
        written = ""
        while not self.is_at_end and self.rest[0] != ")":
            written += self._take() if self.rest[0] == "|" else self._quantified()
        return written

    def _take(self, length: int = 1) -> str:
        self._place += length
        return self._text[self._place - length : self._place]

    def _skip_comments(self) -> None:
        if self._is_verbose:
            self._place += len(re.match(r"(?:\s|#[^\n]*)*", self.rest)[0])  # type: ignore[index]  # may be empty

    def _quantified(self) -> str:
        atom = self._atom()
        quantifier = _QUANTIFIER.match(self._text, self._place)
        if not quantifier:
            return atom
        self._take(len(quantifier[0]))
        amount, mode = quantifier.groups()
        if mode != "+" or self._is_behind:
            return atom + amount + mode.replace("+", "")
        self._possessive += 1
        name = f"possessive{self._possessive}"  # JavaScript has lookaheads instead, which are never read again
        return rf"(?=(?<{name}>{atom}{amount}))\k<{name}>"

    def _atom(self) -> str:
        if self.rest[0] == "(":
            return self._group()
        if self.rest[0] == "[":
            return self._set()
        if self.rest[0] == "\\":
            return self._escape(_SYNTAX)
        if self.rest[0] == ".":
            self._take()
            return "." if self._is_dotall else r"[^\n]"
        return self._take() if self.rest[0] in "^$" else self._literal(self._take(), _SYNTAX)

    def _group(self) -> str:
        start = _GROUP.match(self._text, self._place)
        assert start, f"unexpected {self.rest!r}"
        self._take(len(start[0]))
        before = self._ignores_case, self._is_behind
        self._ignores_case |= start[1] == "?i:"
        self._is_behind |= start[1].startswith("?<")
        content = self.alternatives()
        self._ignores_case, self._is_behind = before
        assert self._take() == ")", "a group is not closed"
        kind = start[1].replace("?P<", "?<").replace("?i:", "?:")
        return f"({kind}{content})"

    def _set(self) -> str:
        """A set, or the difference of two."""
        self._take()
        negation = self._take() if self.rest[0] == "^" else ""
        operands = [""]
        while self.rest[0] != "]":
            if self.rest.startswith("--"):
                self._take(2)
                operands.append("")
            elif re.match(r"-(?!\])", self.rest) and operands[-1]:
                operands[-1] += self._take()  # a range
            elif self.rest[0] == "[":
                operands[-1] += self._set()
            elif self.rest[0] == "\\":
                operands[-1] += self._escape(_SYNTAX_OF_SETS)
            else:
                operands[-1] += self._literal(self._take(), _SYNTAX_OF_SETS)
        self._take()
        if len(operands) == 1:
            return f"[{negation}{operands[0]}]"
        return f"[{negation}{'--'.join(f'[{each}]' for each in operands)}]"

    def _escape(self, syntax: str) -> str:
        self._take()
        if code := _CODE.match(self._text, self._place):
            self._take(len(code[0]))
            return rf"\u{{{int(code[1] or code[2] or code[3], 16):x}}}"
        if found := _PROPERTY.match(self._text, self._place):
            name = self._take(len(found[0]))
            return "\\" + (name.replace("{", "{Script=") if name[2:-1] in _SCRIPTS else name)
        character = self._take()
        if character in _CLASSES:
            return _CLASSES[character]
        if character == "Z":
            return "$"
        assert character in "ntrfv" or not character.isalnum(), f"\\{character} is not supported"
        return f"\\{character}" if character.isalnum() else self._literal(character, syntax)

    def _literal(self, character: str, syntax: str) -> str:
        if self._ignores_case and character.isalpha():
            both = character.lower() + character.upper()
            return both if syntax == _SYNTAX_OF_SETS else f"[{both}]"
        return f"\\{character}" if character in syntax else character


def write_tables() -> str:
    """The module `tables.js`: constants, and patterns as strings."""
    tables: dict[str, Any] = {
        "METASPACE": normalization.METASPACE,
        "SPACES": to_javascript(regex.compile(normalization.SPACES)),
        "WITHOUT_SPACES": WITHOUT_SPACES,
        "INVISIBLE": to_javascript(normalization.INVISIBLE),
        "TERM_MARKS": TERM_MARKS,
        "RESERVED": masking.RESERVED,
        "SIGNS": to_javascript(masking.SIGNS),
        "SPAN_HINT": to_javascript(placeholders.SPAN_HINT),
        "SPANS": to_javascript(placeholders.SPANS),
        "SPAN_KINDS": list(masking.SLOTS),
        "PUNCTUATION": placeholders.PUNCTUATION,
        "BRACKETS": placeholders.BRACKETS,
        "LONG_NUMBER": number_forms.LONG_NUMBER,
        "SPELLINGS": known_characters.SPELLINGS,
        "COMBINED": to_javascript(known_characters.COMBINED),
        "COPIED": to_javascript(known_characters.COPIED),
        "TAG": to_javascript(tag_spaces.TAG),
        "DOUBLE_QUOTES": tag_spaces.DOUBLE_QUOTES,
        "QUOTES": tag_spaces.QUOTES,
        "QUOTATION_MARK": to_javascript(tag_spaces.QUOTATION_MARK),
        "NO_SPACE_AFTER": to_javascript(tag_spaces.NO_SPACE_AFTER),
        "NO_SPACE_BEFORE": to_javascript(tag_spaces.NO_SPACE_BEFORE),
        "NEAR_TAGS": tag_spaces.NEAR_TAGS,
        "MIN_WORDS": usual_case.MIN_WORDS,
        "MIN_LOWERED": usual_case.MIN_LOWERED,
        "MIN_CHANGED": usual_case.MIN_CHANGED,
        "CASELESS": to_javascript(usual_case.CASELESS),
        "WORD": to_javascript(usual_case.WORD),
        "LOWER_START": to_javascript(usual_case.LOWER_START),
        "NEAR_SENTENCES": sentence_marks.NEAR,
        "LINE_START": to_javascript(sentence_marks.LINE_START),
        "SENTENCE_START": to_javascript(sentence_marks.SENTENCE_START),
        "ORDINAL_POINTS": sorted(sentence_marks.ORDINAL_POINTS),
    }
    lines = (f"export const {name} = {json.dumps(value, ensure_ascii=True)};\n" for name, value in tables.items())
    return "// Written by dragoman.export.web.patterns from the tables of dragoman.text.\n\n" + "".join(lines)
