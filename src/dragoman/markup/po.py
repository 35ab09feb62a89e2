"""Message catalogs (PO, GNU gettext): their messages one after the other, and lines with new translations.

Our own reader instead of a library: those load the whole file, skip the rest of a damaged one without an error, and do
not write the lines that they do not change as they were.
"""

from __future__ import annotations

import codecs
import gettext
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from dragoman.errors import UserError, shortened
from dragoman.markup.units import State, UnitSegment
from dragoman.text.placeholders import find_spans

MAX_CHARACTERS = 100_000
"""Longer texts are refused: their quotation marks are probably damaged."""

# The header: the translation of the empty message at the start

_HEADER = re.compile(
    rb'(?:\xef\xbb\xbf)?(?:[ \t\r]*+(?:#[^\n]*+)?\n)*msgid[ \t]*+""[ \t\r]*+\nmsgstr[ \t]*+"[^\n]*+'
    rb'(?:\n[ \t]*+"[^\n]*+)*'
)
_CHARSET = re.compile(rb"charset=[ \t]*+([\w.:-]++)")
_KNOWN = re.compile(
    r"ascii|utf-8|iso8859-\d+|koi8-[rtu]|cp\d+|mac-[a-z]+|gb2312|gbk|gb18030|big5(?:hkscs)?|hz|"
    r"euc_(?:jp|kr)|shift_jis|iso2022_(?:jp|kr)|johab|tis-620|ptcp154"
)
"""Encodings of text, as Python names them; others, such as punycode, are none that gettext knows, and may be slow."""
_NO_CHARSET = "CHARSET"
"""What templates declare."""


def header_end(content: bytes) -> int:
    """Where the header of a file ends; 0 if it has none."""
    match = _HEADER.match(content)
    return match.end() if match else 0


def find_charset(content: bytes) -> str:
    """The encoding that the header of a file declares, or "utf-8". The start of a file is enough."""
    declared = _CHARSET.search(content, 0, header_end(content))
    name = declared[1].decode() if declared else _NO_CHARSET
    return "utf-8" if name == _NO_CHARSET else name


def find_codec(charset: str) -> str:
    """What Python calls an encoding.

    Raises:
        LookupError: It is not known.
    """
    codec = codecs.lookup(charset).name
    if not _KNOWN.fullmatch(codec):
        raise LookupError(charset)
    return codec


def declare_charset(content: bytes, charset: str) -> bytes:
    """A file whose header declares another encoding."""
    declared = _CHARSET.search(content, 0, header_end(content))
    return content[: declared.start(1)] + charset.encode() + content[declared.end(1) :] if declared else content


def declares_utf8(content: bytes) -> bool:
    """Whether a header declares UTF-8: not ASCII, nor the CHARSET of a new template."""
    declared = _CHARSET.search(content, 0, header_end(content))
    try:
        return declared is not None and codecs.lookup(declared[1].decode()).name == "utf-8"
    except LookupError:
        return False


def parse_header(text: str) -> dict[str, str]:
    """The values in a header by lowercase name, such as "language"."""
    fields = (line.partition(":") for line in text.split("\n"))
    return {key.strip().lower(): value.strip() for key, colon, value in fields if colon}


_NUMBERS = 1002  # expressions look at the last two or three digits


@dataclass(frozen=True, slots=True)
class PluralForms:
    """How many plural forms the language of the translations has, and which of them is for the number one.

    Attributes:
        count: None if the header does not say.
        singular: The number of the form for one.
        only_one: Whether that form is for no other number; in Russian, it is that of 21, too.
    """

    count: int | None = None
    singular: int = 0
    only_one: bool = True

    @classmethod
    def parse(cls, stated: str) -> PluralForms:
        """What ``Plural-Forms`` in a header states; the default for a part that is not valid."""
        count = re.search(r"nplurals=\s*([1-6])\b", stated)
        expression = re.search(r"plural=([^;]*)", stated.replace("nplurals=", ""))
        singular, only_one = 0, True
        if expression:
            with suppress(ValueError, ArithmeticError):
                form_of = gettext.c2py(expression[1])
                singular = form_of(1)
                only_one = all(form_of(number) != singular for number in range(_NUMBERS) if number != 1)
        return cls(int(count[1]) if count else None, singular, only_one)


# Messages

_STRING = r'"([^"\\]*(?:\\.[^"\\]*)*)"'
_ENTRY = re.compile(
    rf"\s*(?P<keyword>msgctxt|msgid_plural|msgid|msgstr(?:\[\d{{1,3}}\])?)?(?P<strings>(?:\s*{_STRING})*)\s*"
)
_STRINGS = re.compile(_STRING)
_BYTE = r"\\(?:[0-7]{1,3}|x[0-9a-fA-F]{1,2})"
_ESCAPE = re.compile(rf"(?:{_BYTE})+|\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_WRITTEN = str.maketrans({"\\": r"\\", '"': r"\""} | {value: rf"\{key}" for key, value in _ESCAPES.items()})


@dataclass(slots=True)
class Message:
    """A message with its translation.

    Attributes:
        line: Where it starts, after its comments.
        fuzzy: Whether the translation is only a guess.
        texts: The texts by keyword: ``msgid``, ``msgstr``, ``msgstr[0]`` and others.
        lines: The numbers of the lines of each text.
        flags: The line of the comment with its flags, such as ``#, c-format``; None if it has none.
        previous: The first line of the comment with the text before a change, ``#| msgid "a"``; None if it has none.
    """

    line: int
    fuzzy: bool = False
    texts: dict[str, str] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)
    flags: int | None = None
    previous: int | None = None

    @property
    def source(self) -> str:
        """The untranslated text; the singular if there are plural forms."""
        return self.texts.get("msgid", "")

    @property
    def target(self) -> str:
        """The translation, if there are no plural forms."""
        return self.texts.get("msgstr", "")

    @property
    def is_header(self) -> bool:
        """Whether the translation is the header of the file."""
        return not self.source and not self.texts.get("msgctxt")

    def segments(self, forms: PluralForms) -> list[UnitSegment[str]]:
        """The message with its translation, or its plural forms.

        The form for one translates the singular, and all others the plural, as does the only form of a language, and
        one for several numbers if the singular does not contain the number ("one file", "%d files").
        """
        plural = self.texts.get("msgid_plural")
        if plural is None:
            return [self._segment(self.source, "msgstr")]
        count = forms.count or sum(keyword.startswith("msgstr[") for keyword in self.texts)
        is_used = count > 1 and (forms.only_one or _has_number(self.source) or not _has_number(plural))
        return [
            self._segment(self.source if is_used and number == forms.singular else plural, f"msgstr[{number}]")
            for number in range(count)
        ]

    def _segment(self, source: str, keyword: str) -> UnitSegment[str]:
        target = self.texts.get(keyword)
        state = State.DRAFT if self.fuzzy and target else State.FINISHED if target else State.MISSING
        return UnitSegment(source, target, state, self.line, keyword)


def _has_number(text: str) -> bool:
    """Whether a text contains a placeholder, such as that of a number."""
    return any(kind == "placeholder" for _, _, kind in find_spans(text))


def read_messages(lines: Iterable[str], name: str) -> Iterator[Message]:
    """The messages in the lines of a PO file, without obsolete ones.

    Raises:
        UserError: With the line, for one that is not part of a message, and for messages without ``msgstr``.
    """
    message, comments, keyword = Message(1), Message(1), ""
    for number, line in enumerate(lines, start=1):
        if not (stripped := line.strip()):
            continue
        if stripped.startswith("#"):
            if stripped.startswith("#~"):  # an obsolete message, whose flags were before it
                comments = Message(number)
            elif stripped.startswith("#|"):
                comments.previous = comments.previous or number
            elif stripped.startswith("#,"):
                comments.flags = number
                comments.fuzzy = comments.fuzzy or "fuzzy" in re.split(r"[\s,]+", stripped)
            continue
        match = _ENTRY.fullmatch(line)
        if not match or not (match["keyword"] or keyword):
            raise UserError(f"{name} line {number}: not a line of a PO file: {shortened(stripped)!r}")
        starts = match["keyword"] == "msgctxt" or (match["keyword"] == "msgid" and "msgid" in message.texts)
        if starts and message.texts:
            yield _require_complete(message, name)
        if starts or not message.texts:
            message, comments = replace(comments, line=number), Message(number)
        if match["keyword"] in message.texts:
            raise UserError(f"{name} line {number}: a second {match['keyword']} in one message")
        keyword = match["keyword"] or keyword
        text = message.texts.get(keyword, "") + "".join(map(_unescape, _STRINGS.findall(match["strings"])))
        if len(text) > MAX_CHARACTERS:
            raise UserError(f"{name} line {number}: a message of more than {MAX_CHARACTERS:,} characters")
        message.texts[keyword] = text
        message.lines.setdefault(keyword, []).append(number)
    if message.texts:
        yield _require_complete(message, name)


def _require_complete(message: Message, name: str) -> Message:
    if "msgid" not in message.texts or not any(keyword.startswith("msgstr") for keyword in message.texts):
        raise UserError(f"{name} line {message.line}: a message without msgid or msgstr; the file was probably cut off")
    return message


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_replace_escape, text) if "\\" in text else text


def _replace_escape(match: re.Match[str]) -> str:
    """The character of an escape, or those of the bytes of several ones, such as ``\\303\\244``."""
    if code := match[1]:
        return _ESCAPES.get(code, code)
    written = (int(code[1:], 16) if code[0] == "x" else int(code, 8) for code in match[0].split("\\")[1:])
    return bytes(byte & 0xFF for byte in written).decode("utf-8", "replace")


# New translations


def fill_message(lines: list[list[str]], message: Message, translations: Mapping[str, str]) -> None:
    """Write new translations of a message into the lines of its file, and mark it as fuzzy.

    Args:
        lines: What becomes of each line of the file, which ends in "\\r" if it does so there.
        message: A message of the file.
        translations: By keyword. Blank plural forms without a translation are removed: the language lacks them.
    """
    written = {keyword: numbers for keyword, numbers in message.lines.items() if keyword.startswith("msgstr")}
    last = max(number for numbers in written.values() for number in numbers)
    for keyword, numbers in written.items():
        for number in numbers if not message.texts[keyword] else ():
            lines[number - 1] = []
    end = "\r" if lines[message.line - 1][0].endswith("\r") else ""
    for keyword, text in translations.items():
        place = message.lines.get(keyword, [last])[0]
        lines[place - 1] = [*lines[place - 1], *(f"{line}{end}" for line in _write_text(keyword, text))]
    if message.fuzzy:
        return
    if message.flags is None:
        lines[(message.previous or message.line) - 1].insert(0, f"#, fuzzy{end}")  # gettext wants this order
    else:
        lines[message.flags - 1] = [re.sub(r"#,\s*", "#, fuzzy, ", lines[message.flags - 1][0], count=1)]


def _write_text(keyword: str, text: str) -> Sequence[str]:
    """The lines of a text, one for each line in it."""
    parts = [part.translate(_WRITTEN) for part in re.findall(r"[^\n]*\n|[^\n]+", text)]
    return [f'{keyword} "{"".join(parts)}"'] if len(parts) < 2 else [f'{keyword} ""', *(f'"{part}"' for part in parts)]
