"""The settings at the start of Markdown files, between two lines of --- (YAML) or +++ (TOML)."""

from __future__ import annotations

import json
import re

from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.passage import Part, to_parts
from dragoman.markup.items import TextItem

_FRONT = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?![ \t]*\r?\n).*?^\1[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
"""There is none if a blank line follows the first line, which is then a horizontal rule."""
_VALUE = re.compile(
    r"""^(?:title|subtitle|description|summary|excerpt|abstract|lead|caption)\s*[:=][ \t]*
    (?:"(?P<double>(?:[^"\\\r\n]|\\["\\])+)"|'(?P<single>[^'\r\n]+)'|(?P<plain>[^\s"'>|&*!%@`\[{#](?:[^\r\n#]|(?<!\s)\#)*?))
    [ \t]*\r?$""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)


def split_front_matter(text: str, file: DocumentFile) -> tuple[list[Part], str]:
    """The front matter, in which titles and descriptions are translated, and the text after it."""
    front = _FRONT.match(text)
    if not front:
        return [], text
    writing = file.writing(lambda translation: translation, lambda new, old: json.dumps(new, ensure_ascii=False))
    parts: list[Part] = []
    position = 0
    for match in _VALUE.finditer(front[0]):
        start, end = match.span(match.lastgroup or 0)
        quotes = 0 if match["plain"] else 1
        raw = front[0][start - quotes : end + quotes]
        value = match[match.lastgroup or 0].replace('\\"', '"').replace("\\\\", "\\")
        parts += [front[0][position : start - quotes]]
        parts += to_parts([TextItem(raw, value)], writing)
        position = end + quotes
    return [*parts, front[0][position:]], text[front.end() :]
