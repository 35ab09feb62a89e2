"""HTML as tokens: text, tags, and parts that are never translated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from typing import Any, Literal

from dragoman.documents.pairs import CodeEdge, match_edges
from dragoman.languages.codes import same_language

TokenKind = Literal["text", "opening", "closing", "void", "block", "untouched", "invisible"]

VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
"""Elements without content and closing tag."""

BLOCKS = frozenset(
    {
        *(
            "address",
            "article",
            "aside",
            "base",
            "blockquote",
            "body",
            "button",
            "caption",
            "center",
            "col",
            "colgroup",
        ),
        *("dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form"),
        *("frame", "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "html", "legend"),
        *("li", "link", "main", "menu", "meta", "nav", "noframes", "noscript", "ol", "optgroup", "option", "p", "pre"),
        *("search", "section", "select", "summary", "table", "tbody", "td", "textarea", "tfoot", "th", "thead"),
        *("title", "tr", "ul"),
    }
)
"""Elements that end a sentence; all others are inline."""

UNTOUCHED = frozenset(("code", "kbd", "math", "samp", "textarea", "var"))
"""Elements that are copied with all of their content."""

INVISIBLE = frozenset(("script", "style", "svg", "template"))
"""Elements that are also copied, and have no place among the words of a sentence."""

_CUT = re.compile(r"<(?:[A-Za-z/!?]|\Z)")
_INCOMPLETE = re.compile("&#(?![0-9]|[xX][0-9a-fA-F])")
_UNKNOWN_SECTION = re.compile(
    r"<!\[(?!(?:temp|cdata|ignore|include|rcdata|if|else|endif)(?![-_.a-z0-9]))", re.IGNORECASE | re.ASCII
)
_INVALID = re.compile(r"<[A-Za-z/!?]")  # a tag that the parser passes on as text
_NAME = re.compile(r"</?([^\t\n\r\f />]*)")
_ATTRIBUTE = re.compile(r"([^\s=/>\"'<]+)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s>\"']+))?")


@dataclass(frozen=True)
class Attribute:
    """An attribute with a value: where the value is in the document, with its quotation marks."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class HtmlToken:
    """A part of a document, from `start` up to but not including `end`.

    Attributes:
        kind: "block" is a tag that ends a sentence; "opening", "closing" and "void" are inline tags; "untouched" is a
            part that is copied, such as an element `code`; "invisible" is the same without a place in the sentence,
            such as a comment.
        name: The name of a tag.
        attributes: The attributes of an opening or a void tag.
    """

    kind: TokenKind
    start: int
    end: int
    name: str = ""
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class Elements:
    """What elements mean in addition to what they mean in HTML; names are in lower case.

    Attributes:
        untouched: Names of elements that are copied like those in `UNTOUCHED`.
        blocks: Names of elements that end a sentence like those in `BLOCKS`.
    """

    untouched: frozenset[str] = frozenset()
    blocks: frozenset[str] = frozenset()


HTML = Elements()


def read_tokens(html: str, elements: Elements = HTML, language: str = "") -> list[HtmlToken]:
    """The tokens of a document; together they are the whole document, also if it is invalid or cut in the middle.

    Args:
        html: The document.
        elements: What its elements mean.
        language: The language of the document; parts in other languages are copied. Empty: all parts are translated.
    """
    cut = _CUT.search(html, html.rfind(">") + 1)
    end = cut.start() if cut else len(html)
    read = list(_Reader(html[:end], elements).tokens)
    tokens = _join_empty(_join_untouched(html, read, elements, language))
    return [*tokens, HtmlToken("invisible", end, len(html))] if cut else tokens


def _join_empty(tokens: Iterable[HtmlToken]) -> list[HtmlToken]:
    """The tokens with one void token for each inline element without text, such as an icon."""
    joined: list[HtmlToken] = []
    for token in tokens:
        joined.append(token)
        inside = len(joined) > 2 and joined[-2].kind == "void" and joined[-2].name != "br"
        element = joined[-3:] if inside else joined[-2:]
        if token.kind == "closing" and element[0].kind == "opening" and element[0].name == token.name:
            attributes = tuple(attribute for each in element for attribute in each.attributes)
            joined[-len(element) :] = [HtmlToken("void", element[0].start, token.end, token.name, attributes)]
    return joined


def _join_untouched(html: str, tokens: Sequence[HtmlToken], elements: Elements, language: str) -> Iterator[HtmlToken]:
    """The tokens with one token for each element that is not translated."""
    names = UNTOUCHED | elements.untouched
    edges = (CodeEdge(index, token.name, not html.startswith("</", token.start)) for index, token in enumerate(tokens))
    closings, index = match_edges(edges), 0
    while index < len(tokens):
        token = tokens[index]
        invisible = token.name in INVISIBLE
        if not (token.attributes or token.name) or not (
            invisible or token.name in names or is_excluded(html, token, language)
        ):
            yield token
        elif token.kind == "void" or token.name in VOID:
            is_word = token.kind == "void" and token.name in names
            yield HtmlToken("untouched", token.start, token.end) if is_word else replace(token, attributes=())
        elif token.kind == "closing" or html.startswith("</", token.start):
            yield token
        else:
            last = closings.get(index)
            if last is None:
                last = _end_of_unclosed(tokens, index)
            kind: TokenKind = "invisible" if invisible else "block" if token.kind == "block" else "untouched"
            yield HtmlToken(kind, token.start, tokens[last].end)
            index = last
        index += 1


def _end_of_unclosed(tokens: Sequence[HtmlToken], index: int) -> int:
    """The last token of an element without a closing tag: inline ones end before the next block."""
    for last in range(index, len(tokens) - 1):
        if tokens[index].kind == "opening" and tokens[last + 1].kind == "block":
            return last
    return len(tokens) - 1


def is_excluded(html: str, tag: HtmlToken, language: str = "") -> bool:
    """Whether a tag has translate="no" or class="notranslate", or states another language than that of the document.

    The language of a whole page is often stated wrongly, so it does not count.
    """
    values = {each.name: html[each.start : each.end].strip("\"'").lower() for each in tag.attributes}
    if values.get("translate") == "no" or "notranslate" in values.get("class", "").split():
        return True
    stated = values.get("lang") or values.get("xml:lang")
    is_part = language and stated and tag.name not in ("html", "body")
    return bool(is_part and not same_language(stated or "", language))


class _Reader(HTMLParser):
    """Reads tokens; what the parser passes to no method belongs to the token before it."""

    def __init__(self, html: str, elements: Elements) -> None:
        super().__init__(convert_charrefs=False)
        self._html, self._blocks = html, BLOCKS | elements.blocks
        self._lines = [0, *(match.end() for match in re.finditer("\n", html))]
        self._starts: list[tuple[int, TokenKind, str]] = [(0, "text", "")]
        # the parser would end a tag at NUL, which browsers replace, take all that follows an incomplete &# as text, and
        # raise an error at <![ before any other word, where a comment begins for browsers
        self.feed(_UNKNOWN_SECTION.sub("<!_", _INCOMPLETE.sub("&+", html.replace("\0", "\ufffd"))))
        self.close()

    @property
    def tokens(self) -> Iterator[HtmlToken]:
        ends = [start for start, _, _ in self._starts[1:]] + [len(self._html)]
        for (start, kind, name), end in zip(self._starts, ends, strict=True):
            if start < end:
                attributes = read_attributes(self._html, start, end) if kind != "text" and name else ()
                yield HtmlToken(kind, start, end, name, tuple(attributes))

    def set_cdata_mode(self, elem: str, **options: Any) -> None:
        """Take the content of an element as text without tags; versions of Python differ in which these are."""
        if elem in ("script", "style"):
            super().set_cdata_mode(elem, **options)

    def _start(self, kind: TokenKind, name: str = "") -> None:
        line, column = self.getpos()
        start = self._lines[line - 1] + column
        self._starts.append((start, "block" if name in self._blocks else kind, name))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._start("void" if tag in VOID else "opening", tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self._start("void", tag)

    def handle_endtag(self, tag: str) -> None:
        self._start("void" if tag in VOID else "closing", tag)

    def handle_data(self, data: str) -> None:
        self._start("invisible" if self.cdata_elem or _INVALID.match(data) else "text")

    def handle_entityref(self, name: str) -> None:
        self._start("text")

    def handle_charref(self, name: str) -> None:
        self._start("text")

    def handle_comment(self, data: str) -> None:
        self._start("invisible")

    def handle_decl(self, decl: str) -> None:
        self._start("invisible")

    def handle_pi(self, data: str) -> None:
        self._start("invisible")

    def unknown_decl(self, data: str) -> None:
        self._start("invisible")


def read_attributes(html: str, start: int, end: int) -> Iterator[Attribute]:
    """The attributes with values of the tag between two places."""
    name = _NAME.match(html, start, end)
    for match in _ATTRIBUTE.finditer(html, name.end() if name else start, end):
        if match[2] is not None:
            yield Attribute(match[1].lower(), *match.span(2))
