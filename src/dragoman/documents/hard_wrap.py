"""Plain text whose lines were broken at a certain width, as in e-mails and README files: a paragraph has many lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import regex

from dragoman.documents.segment import Segment
from dragoman.documents.sentences import PlainText, WholeLines, begins_item, find_items, is_translatable
from dragoman.languages.scripts import begins_small, has_no_spaces
from dragoman.languages.sentence_marks import SENTENCE_ENDS
from dragoman.text.translation import Translation

LEAST_BREAKS = 3
"""Fewer line breaks inside of sentences are no evidence of a width."""

LEAST_WIDTH_WITHOUT_SPACES = 15  # characters of East Asian scripts, which are twice as wide
_WIDTHS = (38, 120)
"""Of wrapped text; verses and lists are narrower, and paragraphs on one line are wider."""
_NEAR = 0.8
"""The least share of the width that a line has together with the first word of the next line."""
_NEAR_LINES = 0.7
"""The least share of lines that are so long, of those before another line of their paragraph."""
_INSIDE, _CONTINUING = 0.5, 0.3
"""The least shares of breaks where no sentence ends, and after which a small letter follows."""
_USUAL = 0.9
"""The share of lines that are not longer than the width; an address on the Web may be."""

_PREFIX = regex.compile(r"\s*(?:>\s?)*")
_RULE = regex.compile("[|=_~#+-]{2}")
"""What begins a rule, or a row of a table."""
_COLUMNS = regex.compile(r"\S(?: {3,}|\t+)\S")
_END = regex.compile(rf"[{SENTENCE_ENDS}:;][\p{{Pe}}\p{{Pf}}\p{{Pi}}\"'*_]*$")


class WrappedText:
    """A text whose paragraphs consist of several lines; a `SegmentedDocument`.

    Lines that belong together are joined before the text is split into sentences. The translation of a paragraph is
    wrapped at the same width again. Other lines are texts by themselves, as in `PlainText`.

    Args:
        text: The text.
        language: Its language, such as "de".
        whole_lines: See `PlainText`.
    """

    def __init__(self, text: str, language: str, whole_lines: WholeLines = False) -> None:
        lines = text.splitlines(keepends=True)
        self.width = find_width(lines)
        self._paragraphs = list(_find_paragraphs(lines, self.width)) if self.width else [_Paragraph([text])]
        self._joined = "".join(each.joined for each in self._paragraphs)
        self._text = PlainText(self._joined, language, whole_lines)
        self.segments: Sequence[Segment] = self._text.segments
        self.breaks = sum(len(each.lines) - 1 for each in self._paragraphs)
        """How many line breaks were inside of paragraphs."""

    def assemble(self, translations: Sequence[Translation]) -> str:
        """The text with the translation of each segment."""
        if not self.breaks:
            return self._text.assemble(translations)
        new = [Translation(" ".join(each.text.splitlines())) for each in translations]
        written = self._text.assemble(new).splitlines(keepends=True)
        written += [""] * (len(self._paragraphs) - len(written))  # the last line may have become empty
        return "".join(
            each.original if line == each.joined else each.wrapped(line, self.width)
            for each, line in zip(self._paragraphs, written, strict=True)
        )


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """Lines that are one text."""

    lines: Sequence[str]

    @property
    def original(self) -> str:
        return "".join(self.lines)

    @property
    def joined(self) -> str:
        """The text on one line, with what begins the first line and ends the last one."""
        if len(self.lines) == 1:
            return self.lines[0]
        first, *others = self.lines
        space = "" if has_no_spaces(self.lines) else " "
        *texts, last = [first.rstrip(), *(line[_prefix_length(line) :].rstrip() for line in others)]
        return space.join([*texts, last]) + _line_end(self.lines[-1])

    def wrapped(self, line: str, width: int) -> str:
        """Another text on one line, broken as this paragraph is."""
        if len(self.lines) == 1:
            return line
        following = self.lines[1]
        prefix, end = following[: _prefix_length(following)], _line_end(line)
        start = _prefix_length(line)
        broken = textwrap.wrap(
            line[start:],
            width,
            initial_indent=line[:start],
            subsequent_indent=prefix,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return (_line_end(self.lines[0]) or "\n").join(broken) + end


def find_width(lines: Sequence[str]) -> int:
    """The number of characters at which the lines of a text were broken; 0 if they were not.

    Most lines that are followed by another line of their paragraph have hardly place for its first word, and most of
    these breaks are inside of a sentence. Verses, lists, and files with one sentence per line are different.
    """
    pairs = [
        (first, second)
        for (first, second), is_item in zip(pairwise(map(str.rstrip, lines)), _items(lines)[1:], strict=False)
        if _may_belong_together(first, second, is_item)
    ]
    lengths = sorted(len(first) for first, _ in pairs)
    if len(lengths) < LEAST_BREAKS:
        return 0
    width = lengths[min(len(lengths) - 1, int(_USUAL * len(lengths)))]
    least = LEAST_WIDTH_WITHOUT_SPACES if has_no_spaces(lines) else _WIDTHS[0]
    if not least <= width <= _WIDTHS[1]:
        return 0
    near = [(first, second) for first, second in pairs if _is_full(first, second, _NEAR * width)]
    inside = [second for first, second in near if not _END.search(first)]
    continuing = sum(_begins_small(second) for second in inside)
    is_wrapped = (
        len(near) >= _NEAR_LINES * len(pairs)
        and len(inside) >= max(LEAST_BREAKS, _INSIDE * len(near))
        and continuing >= _CONTINUING * len(near)
    )
    return width if is_wrapped else 0


def _items(lines: Sequence[str]) -> list[bool]:
    """Whether each line begins an item of a list, after its indentation and the > of a quotation."""
    return find_items([line[_prefix_length(line) :] for line in lines])


def _find_paragraphs(lines: Sequence[str], width: int) -> Iterator[_Paragraph]:
    paragraph: list[str] = []
    for line, is_item in zip(lines, _items(lines), strict=True):
        last = paragraph[-1].rstrip() if paragraph else ""
        if paragraph and not _belong_together(last, line.rstrip(), is_item, width):
            yield _Paragraph(paragraph)
            paragraph = []
        paragraph.append(line)
    if paragraph:
        yield _Paragraph(paragraph)


def _belong_together(first: str, second: str, is_item: bool, width: int) -> bool:
    """Whether a line continues the text of the line before it, in a text that was broken at a width."""
    if not _may_belong_together(first, second, is_item):
        return False
    if _END.search(first):
        return _is_full(first, second, width)
    return _is_full(first, second, _NEAR * width)


def _may_belong_together(first: str, second: str, is_item: bool) -> bool:
    """Whether a line may continue the text of the line before it; `is_item`: whether it begins an item of a list."""
    content = second[_prefix_length(second) :]
    if not (is_translatable(first) and is_translatable(content)) or is_item or _RULE.match(content):
        return False
    is_deeper = _prefix_length(second) > _prefix_length(first)
    start = first[_prefix_length(first) :]
    if is_deeper and not (begins_item(start) or _RULE.match(start)):  # code, or another paragraph
        return False
    return _quoted(first) == _quoted(second) and not (_COLUMNS.search(first.lstrip()) or _COLUMNS.search(content))


def _is_full(first: str, second: str, width: float) -> bool:
    """Whether a line has no place for the first word of the next one."""
    content = second[_prefix_length(second) :]
    word = 1 if has_no_spaces([first]) else 1 + len(content.split(maxsplit=1)[0])
    return len(first) + word > width


def _begins_small(line: str) -> bool:
    """Whether a line begins with a small letter, or with one of a script that has no capitals."""
    content = line[_prefix_length(line) :]
    return begins_small(content) or (content[:1].isalpha() and not (content[0].isupper() or content[0].islower()))


def _prefix_length(line: str) -> int:
    """How long the indentation of a line is, with the > of a quotation."""
    match = _PREFIX.match(line)
    return match.end() if match else 0


def _quoted(line: str) -> int:
    return line[: _prefix_length(line)].count(">")


def _line_end(line: str) -> str:
    return line[len(line.rstrip()) :]
