"""The messages of a PO file, one after the other."""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dragoman.corpus.lines import MAX_LINE_CHARACTERS
from dragoman.errors import UserError, shortened

_ENTRY = re.compile(
    r'\s*(?:(?P<keyword>msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*)?"(?P<text>(?:[^"\\]|\\.)*)"\s*'
)
_BYTE = r"\\(?:[0-7]{1,3}|x[0-9a-fA-F]{1,2})"
_ESCAPE = re.compile(rf"(?:{_BYTE})+|\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass(slots=True)
class Message:
    """A message with its translation.

    Attributes:
        line: Where it starts.
        fuzzy: Whether the translation is only a guess.
        texts: The texts by keyword: ``msgid``, ``msgstr``, ``msgstr[0]`` and others.
    """

    line: int
    fuzzy: bool = False
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The untranslated text; the singular if there are plural forms."""
        return self.texts.get("msgid", "")

    @property
    def target(self) -> str:
        """The translation, if there are no plural forms."""
        return self.texts.get("msgstr", "")

    def target_for_one(self, singular: int) -> str:
        """The translation; if there are plural forms, the one with this number, see `singular_form`."""
        return self.texts.get(f"msgstr[{singular}]", self.texts.get("msgstr[0]", self.target))

    @property
    def context(self) -> str:
        """What distinguishes equal messages."""
        return self.texts.get("msgctxt", "")


def singular_form(plural_forms: str) -> int:
    """The number of the plural form for one, given the value of ``Plural-Forms`` in a header; 0 if it is not valid."""
    _, found, expression = plural_forms.partition("plural=")
    try:
        return gettext.c2py(expression.partition(";")[0])(1) if found else 0
    except (ValueError, ArithmeticError):
        return 0


def read_messages(lines: Iterable[str], name: str) -> Iterator[Message]:
    """The messages in the lines of a PO file, without obsolete ones.

    Raises:
        UserError: With the line, for one that is not part of a message, and for messages without ``msgstr``.
    """
    message, keyword, fuzzy = Message(1), "", False
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            fuzzy = (fuzzy and bool(line.strip())) or _is_fuzzy(line)
            continue
        match = _ENTRY.fullmatch(line)
        if not match or not (match["keyword"] or keyword):
            raise UserError(f"{name} line {number}: not a line of a PO file: {shortened(line.strip())!r}")
        starts = match["keyword"] == "msgctxt" or (match["keyword"] == "msgid" and "msgid" in message.texts)
        if starts and message.texts:
            yield _require_complete(message, name)
        if starts or not message.texts:
            message, fuzzy = Message(number, fuzzy), False
        keyword = match["keyword"] or keyword
        _add_text(message, keyword, _unescape(match["text"]), bool(match["keyword"]), f"{name} line {number}")
    if message.texts:
        yield _require_complete(message, name)


def _is_fuzzy(line: str) -> bool:
    return line.lstrip().startswith("#,") and "fuzzy" in re.split(r"[\s,]+", line)


def _require_complete(message: Message, name: str) -> Message:
    if "msgid" not in message.texts or not any(keyword.startswith("msgstr") for keyword in message.texts):
        raise UserError(f"{name} line {message.line}: a message without msgid or msgstr; the file was probably cut off")
    return message


def _add_text(message: Message, keyword: str, text: str, begins: bool, place: str) -> None:
    if begins and keyword in message.texts:
        raise UserError(f"{place}: a second {keyword} in one message")
    whole = message.texts.get(keyword, "") + text
    if len(whole) > MAX_LINE_CHARACTERS:
        raise UserError(f"{place}: a message of more than {MAX_LINE_CHARACTERS:,} characters")
    message.texts[keyword] = whole


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_replace_escape, text) if "\\" in text else text


def _replace_escape(match: re.Match[str]) -> str:
    if code := match[1]:
        return _ESCAPES.get(code, code)
    written = (int(code[1:], 16) if code[0] == "x" else int(code, 8) for code in match[0].split("\\")[1:])
    return bytes(byte & 0xFF for byte in written).decode("utf-8", "replace")


def find_byte_escape(text: str) -> str | None:
    """The first escape in a file that stands for a byte, such as ``\\303``, outside of comments."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return next((match[0] for line in lines for match in _ESCAPE.finditer(line) if match[1] is None), None)
