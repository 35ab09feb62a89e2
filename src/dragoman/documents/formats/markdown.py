"""Markdown files: code, URLs, HTML and the structure are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.token import Token
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin

from dragoman.documents.formats.characters import read_characters
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.formats.front_matter import split_front_matter
from dragoman.documents.formats.markdown_inline import InlineMismatchError, Line, inline_items
from dragoman.documents.formats.markdown_rules import add_rules
from dragoman.documents.passage import Part, Writing, to_parts
from dragoman.errors import UserError

_SPECIAL = re.compile(r"[\\`*\[\]|]|(?<!\d)\$(?!\d)|(?<![^\W_])_|_(?![^\W_])|~~|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_BLOCK_START = re.compile(r"(\d*)([#>+.)-])(?=\s|#|$)")
_TITLE = r"(?:[ \t]+(?:\"[^\"\r\n]*\"|'[^'\r\n]*'|\([^()\r\n]*\)))?"
_DEFINITION = re.compile(
    rf"^[ >]*\[([^\[\]^\r\n][^\[\]\r\n]*)\]:[ \t]*(?:<[^<>\r\n]*>|[^\s<]\S*){_TITLE}[ \t]*(?=\r?$)", re.MULTILINE
)
"""The definition of a link, on one line. The parser itself does not find those that follow a footnote."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|$)")


def open_markdown(file: DocumentFile) -> PassageDocument:
    """The paragraphs, headings, list items, tables and image descriptions of a Markdown file.

    Raises:
        UserError: It is not text.
    """
    characters = read_characters(file)
    front, body = split_front_matter(characters.text, file)
    try:
        parts = list(_find_parts(body, file.writing(_escape, _escape_start)))
    except RecursionError:
        raise UserError(f"{file.name}: nested too deeply; simplify it") from None
    return PassageDocument([*front, *parts], characters.encode)


def _find_parts(text: str, writing: Writing) -> Iterator[Part]:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    parser.use(add_rules).use(deflist_plugin).use(amsmath_plugin)
    parser.use(footnote_plugin, inline=False, move_to_end=False, always_match_refs=True)
    starts = [match.start() for match in _LINE.finditer(text)]
    position = 0
    known = {normalizeReference(label): {"title": "", "href": "#"} for label in _DEFINITION.findall(text)}
    source = _DEFINITION.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    for token in parser.parse(source, {"references": known}):
        if token.type != "inline" or token.map is None:
            continue
        lines = _locate(text, token, max(position, starts[token.map[0]] + token.meta.get("column", 0)))
        if not lines:
            continue
        try:
            parts = to_parts(inline_items(text, lines, token.children or []), writing)
        except InlineMismatchError:  # written in a way that the parser changes, such as with tabs: kept
            continue
        yield text[position : lines[0].start]
        yield from parts
        position = lines[-1].end
    yield text[position:]


def _locate(text: str, token: Token, position: int) -> list[Line]:
    """Where each line of an inline token is; nothing if one is not found."""
    lines: list[Line] = []
    for content in token.content.split("\n"):
        content = content.strip()
        found = text.find(content, position)
        in_table = text.find(content.replace("|", "\\|"), position) if "|" in content else -1
        if in_table >= 0 and (found < 0 or in_table <= found):
            found, content = in_table, content.replace("|", "\\|")
        if found < 0 or len(re.findall(r"\r\n|\n|\r", text[position:found])) > (1 if lines else 0):
            return []
        lines.append(Line(found, found + len(content)))
        position = found + len(content)
    return lines


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", text)


def _escape_start(new: str, old: str) -> str:
    """A translation that does not start a list or a heading."""
    match = _BLOCK_START.match(new)
    return f"{match[1]}\\{new[match.end(1) :]}" if match and not _BLOCK_START.match(old) else new
