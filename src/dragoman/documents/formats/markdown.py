"""Markdown files: code, URLs, HTML and the structure are kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any, NamedTuple

import regex
from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_block_dollar
from mdit_py_plugins.footnote import footnote_plugin

from dragoman.documents.formats.characters import read_characters
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.formats.html import read_events
from dragoman.documents.passage import Part, to_parts
from dragoman.errors import UserError
from dragoman.markup.elements import BREAK, DIVIDER, FOOTNOTE, HTML, MARKDOWN, VOID, Elements
from dragoman.markup.items import Fixed, Group, Inner, Item, Piece, TextItem
from dragoman.markup.tags import Event, fold_tags, hide_templates, tag_event
from dragoman.text.placeholders import TEMPLATE

_SPECIAL = re.compile(r"[\\`*\[\]|]|(?<!\d)\$(?!\d)|(?<![^\W_])_|_(?![^\W_])|~~|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_BLOCK_START = re.compile(r"(\d*)([#>+.)-])(?=\s|#|$)")
_TITLE = r"(?:[ \t]+(?:\"[^\"\r\n]*\"|'[^'\r\n]*'|\([^()\r\n]*\)))?"
_DEFINITION = re.compile(
    rf"^[ >]*\[([^\[\]^\r\n][^\[\]\r\n]*)\]:[ \t]*(?:<[^<>\r\n]*>|[^\s<]\S*){_TITLE}[ \t]*(?=\r?$)", re.MULTILINE
)
"""The definition of a link, on one line. The parser itself does not find those that follow a footnote."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|$)")
_CONTAINS_MARKDOWN = re.compile(r"<\w[^<>]*\smarkdown(?=[\s=>])")


def open_markdown(file: DocumentFile) -> PassageDocument:
    """The paragraphs, headings, list items, tables, image descriptions and HTML of a Markdown file.

    Raises:
        UserError: It is not text.
    """
    characters = read_characters(file)
    front, body = split_front_matter(characters.text, file)
    try:
        parts = to_parts(_find_items(body, file.languages[0]), file.writing(partial(escape, quote=False)))
    except RecursionError:
        raise UserError(f"{file.name}: nested too deeply; simplify it") from None
    return PassageDocument([*front, *parts], characters.encode)


def _find_items(text: str, language: str) -> list[Item]:
    """The items of the text: blocks of HTML, and in one item each, the paragraphs and what is between them.

    An element of HTML may start in one block and end in another, with paragraphs between them.
    """
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    parser.use(add_rules).use(deflist_plugin).use(amsmath_plugin)
    parser.use(footnote_plugin, inline=True, move_to_end=False, always_match_refs=True)
    elements = replace(HTML, language=language)
    starts = [match.start() for match in _LINE.finditer(text)]
    known = {normalizeReference(label): {"title": "", "href": "#"} for label in _DEFINITION.findall(text)}
    environment = {"references": known}
    source = _DEFINITION.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    events: list[Event] = []
    position = 0
    for token in parser.parse(source, environment):
        if token.map is None or token.type not in ("inline", "html_block"):
            continue
        start = max(position, starts[token.map[0]] + token.meta.get("column", 0))
        if token.type == "html_block":
            lines = _locate_html(text, token, start, starts[min(token.map[1], len(starts) - 1)])
            found = list(read_events(text[lines[0].start : lines[0].end], elements)) if lines else []
        else:
            lines = _locate(text, token, start)
            found = _read_paragraph(text, lines, _with_notes(token.children or [], environment), elements)
        if found:
            events += [Fixed((text[position : lines[0].start],), DIVIDER), *found]
            position = lines[-1].end
    return fold_tags([*events, Fixed((text[position:],), DIVIDER)])


def _read_paragraph(text: str, lines: Sequence[Line], tokens: Sequence[Token], elements: Elements) -> list[Event]:
    """A paragraph as one item; nothing if it is written in a way that the parser changes, such as with tabs."""
    try:
        items = inline_items(text, lines, tokens, elements) if lines else []
    except InlineMismatchError:
        return []
    return [Fixed((Inner(tuple(items), _escape, _escape_start),), DIVIDER)] if lines else []


def _with_notes(tokens: Sequence[Token], environment: MutableMapping[str, Any]) -> Sequence[Token]:
    """The tokens of a paragraph, in which those of notes such as ^[this] have the tokens of their text."""
    for token in tokens:
        if token.type == "footnote_ref" and "label" not in token.meta:
            note = environment["footnotes"]["list"][token.meta["id"]]
            token.children = list(_with_notes(note["tokens"], environment))
    return tokens


def _locate_html(text: str, token: Token, start: int, end: int) -> list[Line]:
    """Where a block of HTML is, up to the start of the next line.

    Nothing if it is inside of a quotation, whose > would be read as text, or says that its content is Markdown.
    """
    first = text.find(token.content.lstrip().partition("\n")[0].rstrip(), start, end)
    is_whole = first >= 0 and text[first:end].split() == token.content.split()
    return [Line(first, end)] if is_whole and not _CONTAINS_MARKDOWN.search(token.content) else []


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


_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_TARGET = r"\((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\))*\)"
_LINK_END = re.compile(rf"\](?:{_TARGET}|\[[^\[\]]*\])?", re.DOTALL)
_IMAGE = re.compile(rf"!\[((?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)\](?:{_TARGET}|\[[^\[\]]*\])?", re.DOTALL)
_LINK_TITLE = re.compile(r"(\]\(.*\s[\"'])((?:[^\"'\\]|\\.|(?<=\w)'(?=\w))+)([\"']\s*\))", re.DOTALL)
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^>]*?(/?)>")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")
_VALUE = r"""(?:"[^"{}]*"|'[^'{}]*'|[^\s{}"']+)"""
_ATTRIBUTE = rf"(?:[#.][\w-]+|[\w:@-]+={_VALUE})"
_ATTRIBUTES = rf"\{{:?\s*{_ATTRIBUTE}(?:\s+{_ATTRIBUTE})*\s*\}}"
_ALERT = r"^\[!\w+(?:\|[^\[\]]*)?\][+-]?"
_CITATION = r"\[(?:[^\[\]@\n]*[\s;(-])?@[\w{][^\[\]\n]*\]"
"""In Pandoc and Quarto: [see @doe99, p. 3]."""
_KEPT = re.compile(
    rf"{_ATTRIBUTES}|\{{[#.:][^{{}}]*\}}"  # attributes
    r"|\{\{[^{}]*\}\}|\{%[^{}]*%\}"  # templates
    r"|!?\[\[[^\[\]\n]+\]\]"  # links in wikis
    r"|^\[[ xX]\](?=\s)|^\[TOC\]$"
    r"|(?<![\w:]):[a-z][\w+-]*:(?![\w:])|\+\+\w+(?:\+\w+)*\+\+"  # emoji, keys
    rf"|{_CITATION}"
    r"|(?P<label>"
    rf"{_ALERT}(?=\s|$)|^\*\[[^\[\]]+\]:|^\[\^[^\[\]\n]+\]:)"  # alerts of GitHub, abbreviations, notes
    r"|(?P<footnote>\[\^[^\[\]\n]+\])"  # whose label has spaces, which the parser does not read
)

_WORDS = re.compile(rf"\{{\{{|[:+]|!?\[\[|{_CITATION}")
"""What those that stand for words begin with."""


class Line(NamedTuple):
    """A line of a paragraph without what precedes it, such as the > of a quotation."""

    start: int
    end: int


class InlineMismatchError(Exception):
    """The file does not contain what the parser returns."""


def inline_items(text: str, lines: Sequence[Line], tokens: Sequence[Token], elements: Elements) -> list[Item]:
    """The items of a paragraph.

    Args:
        text: The file.
        lines: The lines of the paragraph.
        tokens: What the parser returns for it.
        elements: What its elements of HTML do.

    Raises:
        InlineMismatchError: They do not agree.
    """
    reader = _Reader(text, lines, tokens, elements)
    items = reader.read_until("")
    if reader.position != lines[-1].end:
        raise InlineMismatchError
    return items


class _Reader:
    def __init__(self, text: str, lines: Sequence[Line], tokens: Sequence[Token], elements: Elements) -> None:
        self._text, self._lines, self._elements = text, lines, elements
        self._tokens = iter(tokens)
        self.position = lines[0].start
        self._ends_title = bool(re.match(_ALERT, text[lines[0].start : lines[0].end]))  # the first line is one

    def read_until(self, closing: str) -> list[Item]:
        """The items up to a closing token."""
        items: list[Event] = []
        text = ""
        for token in self._tokens:
            if token.type == "text":
                text += token.content
                continue
            items += self._read_text(text)
            text = ""
            if token.type == closing:
                break
            items += self._read(token)
        return _attach_attributes(fold_tags([*items, *self._read_text(text)]))

    def _read_text(self, text: str) -> Iterator[Item]:
        if text:
            yield from _text_items(self._take(text, text.replace("|", "\\|")), text)

    def _read(self, token: Token) -> Iterator[Event]:
        kind = token.type.removesuffix("_open")
        if kind in ("em", "strong", "s"):
            start = self._take(token.markup)
            items = self.read_until(f"{kind}_close")
            yield Group((start,), (self._take(token.markup),), tuple(items), MARKDOWN[kind])
        elif token.type.startswith("math_inline"):
            yield Fixed((self._take(f"{token.markup}{token.content}{token.markup}"),), MARKDOWN["math"])
        elif token.type == "footnote_ref":
            yield self._read_note(token)
        elif token.type == "text_special":
            yield TextItem(self._take(token.markup), token.content)
        elif token.type in ("softbreak", "hardbreak"):
            following = next((line.start for line in self._lines if line.start > self.position), self.position)
            raw, self.position = self._text[self.position : following], following
            element = DIVIDER if self._ends_title else MARKDOWN[token.type]
            self._ends_title = False
            yield Fixed((raw,), element) if element.ends else TextItem(raw, " ")
        elif token.type == "link_open":
            yield self._read_link(token)
        elif token.type == "image":
            yield self._read_image()
        elif token.type == "code_inline":
            yield Fixed((self._match(_CODE)[0],), MARKDOWN["code"])
        elif token.type == "span_open":
            start = self._take("[")
            items = self.read_until("span_close")
            yield Group((start,), (self._take(f"]{token.content}"),), tuple(items))
        elif token.type == "template":
            yield Fixed((self._take(token.content),), MARKDOWN["template"])
        elif token.type == "html_inline":
            yield _tag_item(self._take(token.content), self._elements)
        else:
            raise InlineMismatchError

    def _read_image(self) -> Item:
        image = self._match(_IMAGE)
        label, end = image[1], image[0][2 + len(image[1]) :]
        if end not in ("]", "][]"):
            return Fixed(("![", Inner((TextItem(label, label),)), *_end_pieces(end)), MARKDOWN["image"])
        description = Inner((TextItem(label + end[:-1], label),), finish=lambda new, old: f"{new}][{label}")
        return Fixed(("![", description, "]"), MARKDOWN["image"])

    def _read_note(self, token: Token) -> Item:
        if token.children is None:
            return Fixed((self._match(_FOOTNOTE)[0],), MARKDOWN["footnote"])
        outside, self._tokens = self._tokens, iter(token.children)
        start = self._take("^[")
        items = self.read_until("")
        self._tokens = outside
        return Fixed((start, Inner(tuple(items)), self._take("]")), FOOTNOTE)

    def _read_link(self, token: Token) -> Item:
        start = self.position
        if token.info == "auto":
            self._take("<")
            self.read_until("link_close")
            self._take(">")
            return Fixed((self._text[start : self.position],), MARKDOWN["autolink"])
        self._take("[")
        items = self.read_until("link_close")
        label = self._text[start + 1 : self.position]
        end = self._match(_LINK_END)[0]
        changed_end = f"][{label}]" if end in ("]", "][]") else None
        return Group(("[",), _end_pieces(end), tuple(items), changed_end=changed_end)

    def _take(self, *alternatives: str) -> str:
        """What comes next, if it is one of these."""
        for alternative in alternatives:
            if self._text.startswith(alternative, self.position):
                self.position += len(alternative)
                return alternative
        raise InlineMismatchError

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self._text, self.position, self._lines[-1].end)
        if not match:
            raise InlineMismatchError
        self.position = match.end()
        return match


def _attach_attributes(items: Sequence[Item]) -> list[Item]:
    """The items, in which attributes such as {.red} belong to the link or the picture before them."""
    attached: list[Item] = []
    for item in items:
        last = attached[-1] if attached else None
        raw = item.pieces[0] if isinstance(item, Fixed) and len(item.pieces) == 1 else ""
        if not isinstance(raw, str) or not re.fullmatch(_ATTRIBUTES, raw) or not isinstance(last, Group | Fixed):
            attached.append(item)
        elif isinstance(last, Fixed):
            attached[-1] = replace(last, pieces=(*last.pieces, raw))
        else:
            changed_end = None if last.changed_end is None else last.changed_end + raw
            attached[-1] = replace(last, end=(*last.end, raw), changed_end=changed_end)
    return attached


def _end_pieces(end: str) -> tuple[Piece, ...]:
    """The end of a link or a picture; its title is a text by itself."""
    title = _LINK_TITLE.fullmatch(end)
    if not title:
        return (end,)
    text = Inner(
        (TextItem(title[2], re.sub(r"\\([\\\"'])", r"\1", title[2])),), encode=partial(_escape_title, title[1][-1])
    )
    return (title[1], text, title[3])


def _escape_title(quote: str, text: str) -> str:
    return re.sub(rf"[\\{quote}]", r"\\\g<0>", text)


def _text_items(raw: str, text: str) -> Iterator[Item]:
    if raw != text:
        yield TextItem(raw, text)
        return
    position = 0
    for match in _KEPT.finditer(raw):
        yield TextItem(raw[position : match.start()], raw[position : match.start()])
        kind = match.lastgroup or ("template" if _WORDS.match(match[0]) else "attributes")
        yield Fixed((match[0],), MARKDOWN[kind])
        position = match.end()
    yield TextItem(raw[position:], raw[position:])


def _tag_item(raw: str, elements: Elements) -> Event:
    tag = _TAG.fullmatch(hide_templates(raw))
    if not tag:
        return Fixed((raw,))
    name = tag[2].lower()
    return tag_event(raw, name, "closing" if tag[1] else "single" if tag[3] or name in VOID else "opening", elements)


_BOX = re.compile(
    r'(?:!!!|\?\?\?\+?)[ \t]*(?:[\w-]+(?:[ \t]+[\w-]+)*)?(?:[ \t]*"(?P<title>.*)")?[ \t]*'
    r'|===[!+]?[ \t]+"(?P<tab>.*)"[ \t]*'
)
_INDENT = 4  # of what is in a box
_CONTAINER = re.compile(
    r":{3,}[ \t]*(?:\{[^{}]*\}|[\w-]+)?(?:\[(?P<label>[^\[\]]*)\].*|[ \t]+(?P<title>[^\s\[{].*)|[ \t]*\{.*|[ \t]*)"
    r"|/{3,}[ \t]*[\w-]*[ \t]*(?:\|[ \t]*(?P<heading>.*))?"
    r"|\{\{[%<][^{}]*\}\}[ \t]*|\{%[^{}]*%\}[ \t]*"  # a template in its own line
)
_PARENTHESES = re.compile(r"\\\((.{1,500}?)\\\)")
_TEMPLATE = regex.compile(TEMPLATE)
_FORMULA = re.compile(r"[\\^_={}<>+]|^\s*\w\s*$")  # but not words in parentheses that are written with backslashes

_BRACKETS = re.compile(r"\\([\[\]])[ \t]*")
_INTERRUPTS: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list", "footnote_def"]}


def add_rules(parser: MarkdownIt) -> None:
    """Let a parser read formulas, and boxes and containers, whose titles are inline tokens with their "column"."""
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    parser.block.ruler.at("math_block", math_block_dollar(), _INTERRUPTS)
    parser.block.ruler.before("fence", "box", _read_box, _INTERRUPTS)
    parser.block.ruler.before("fence", "container", _read_container, _INTERRUPTS)
    parser.block.ruler.before("fence", "brackets", _read_brackets, _INTERRUPTS)
    parser.inline.ruler.before("escape", "math_parentheses", _read_formula)
    parser.inline.ruler.before("escape", "template", _read_template)
    parser.inline.ruler.before("link", "span", _read_span)


def _line(state: StateBlock, line: int, pattern: re.Pattern[str]) -> re.Match[str] | None:
    if state.is_code_block(line):
        return None
    return pattern.fullmatch(state.src, state.bMarks[line] + state.tShift[line], state.eMarks[line])


def _push_title(state: StateBlock, line: int, match: re.Match[str]) -> None:
    name = match.lastgroup
    if name and match[name]:
        token = state.push("inline", "", 0)
        token.content, token.map, token.children = match[name], [line, line + 1], []
        token.meta = {"column": match.start(name) - state.bMarks[line]}


def _read_box(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    match = _line(state, start, _BOX)
    indent = state.sCount[start] + _INDENT
    first = next((line for line in range(start + 1, end) if not state.isEmpty(line)), None)
    if not match or first is None or state.sCount[first] < indent:
        return False
    if silent:
        return True
    last = next((n for n in range(first, end) if not state.isEmpty(n) and state.sCount[n] < indent), end)
    _push_title(state, start, match)
    outside = state.parentType, state.lineMax, state.blkIndent
    state.parentType, state.lineMax, state.blkIndent = "box", last, indent
    state.md.block.tokenize(state, start + 1, last)
    state.parentType, state.lineMax, state.blkIndent = outside
    state.line = last
    return True


def _read_container(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The first or the last line of a container; what is between them is read as if they were not there."""
    match = _line(state, start, _CONTAINER)
    if match and not silent:
        _push_title(state, start, match)
        state.line = start + 1
    return match is not None


def _read_brackets(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A formula between lines that contain only the brackets."""
    opening = _line(state, start, _BRACKETS)
    if not opening or opening[1] != "[":
        return False
    for line in range(start + 1, end):
        if found := _line(state, line, _BRACKETS):
            if found[1] == "]" and not silent:
                state.line = line + 1
            return found[1] == "]"
    return False


def _read_formula(state: StateInline, silent: bool) -> bool:
    match = _PARENTHESES.match(state.src, state.pos, state.posMax)
    if not match or not _FORMULA.search(match[1]):
        return False
    if not silent:
        state.push("math_inline", "math", 0).content = match[0]
    state.pos = match.end()
    return True


def _read_template(state: StateInline, silent: bool) -> bool:
    match = _TEMPLATE.match(state.src, state.pos, state.posMax)
    if match and not silent:
        state.push("template", "", 0).content = match[0]
    state.pos = match.end() if match else state.pos
    return match is not None


def _read_span(state: StateInline, silent: bool) -> bool:
    """A text in brackets with attributes, as in Pandoc: [Text]{.red}."""
    start = state.pos
    end = state.md.helpers.parseLinkLabel(state, start, False) if state.src[start] == "[" else -1
    match = re.compile(_ATTRIBUTES).match(state.src, end + 1, state.posMax) if end >= 0 else None
    if not match:
        return False
    if not silent:
        last = state.posMax
        state.push("span_open", "", 1).content = match[0]
        state.pos, state.posMax = start + 1, end
        state.md.inline.tokenize(state)
        state.push("span_close", "", -1)
        state.posMax = last
    state.pos = match.end()
    return True


_FRONT = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?![ \t]*\r?\n).*?^\1[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
"""There is none if a blank line follows the first line, which is then a horizontal rule."""
_KEY = r"^(?:title|subtitle|description|summary|excerpt|abstract|lead|caption|link_?title|sidebar_label|tagline)\s*"
_SETTING = re.compile(
    rf"""{_KEY}[:=][ \t]*
    (?:"(?P<double>(?:[^"\\\r\n]|\\["\\])+)"|'(?P<single>[^'\r\n]+)'
    |(?P<plain>[^\s"'>|&*!%@`\[{{#](?:[^\r\n#]|(?<!\s)\#)*?(?:\r?\n[ \t]+[^\s#][^\r\n]*?)*))
    [ \t]*\r?$
    |{_KEY}:[ \t]*(?P<style>[>|])[+-]?[ \t]*\r?\n(?P<block>(?:[ \t]+\S[^\r\n]*\r?\n|[ \t]*\r?\n)+)""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
_BETWEEN_LINES = re.compile(r"(\A[ \t]*|[ \t]*\r?\n\s*)")


def split_front_matter(text: str, file: DocumentFile) -> tuple[list[Part], str]:
    """The front matter, in which titles and descriptions are translated, and the text after it."""
    front = _FRONT.match(text)
    if not front:
        return [], text
    writing = file.writing(lambda translation: translation)
    quoted = replace(writing, finish=lambda new, old: json.dumps(new, ensure_ascii=False))
    parts: list[Part] = []
    position = 0
    for match in _SETTING.finditer(front[0]):
        kind = match.lastgroup or ""
        start, end = match.span(kind)
        quotes = 1 if kind in ("double", "single") else 0
        raw = front[0][start - quotes : end + quotes]
        parts.append(front[0][position : start - quotes])
        if kind == "block":
            parts += to_parts(list(_block_items(raw, match["style"] == ">")), writing)
        else:
            value = " ".join(match[kind].split()) if "\n" in match[kind] else match[kind]
            parts += to_parts([TextItem(raw, value.replace('\\"', '"').replace("\\\\", "\\"))], quoted)
        position = end + quotes
    return [*parts, front[0][position:]], text[front.end() :]


def _block_items(raw: str, folds: bool) -> Iterator[Item]:
    """The items of a text in YAML with several lines, whose line breaks are spaces after >, but not after |."""
    for index, piece in enumerate(_BETWEEN_LINES.split(raw)):
        if index % 2 == 0:
            yield TextItem(piece, piece)
        elif piece.count("\n") != 1:
            yield Fixed((piece,), DIVIDER)
        else:
            yield TextItem(piece, " ") if folds else Fixed((piece,), BREAK)
