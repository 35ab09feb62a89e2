"""HTML: files, documents and fragments."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from html import escape
from html.parser import HTMLParser
from typing import Any, Literal, NamedTuple, TypeAlias

from dragoman.corpus.encodings import find_byte_order_mark
from dragoman.documents.formats.characters import Characters, latin_or_windows, read_characters
from dragoman.documents.formats.file import DocumentFile, EncodedDocument
from dragoman.documents.passage import PassageText, Writing, to_parts
from dragoman.documents.sentences import WholeLines
from dragoman.markup.elements import HTML, VOID, Elements
from dragoman.markup.items import Fixed, text_items
from dragoman.markup.tags import Event, fold_tags, hide_templates, tag_event, template_items

_CUT = re.compile(r"<(?:[A-Za-z/!?]|\Z)")
_INCOMPLETE = re.compile("&#(?![0-9]|[xX][0-9a-fA-F])")
_UNKNOWN_SECTION = re.compile(
    r"<!\[(?!(?:temp|cdata|ignore|include|rcdata|if|else|endif)(?![-_.a-z0-9]))", re.IGNORECASE | re.ASCII
)
_INVALID = re.compile(r"<[A-Za-z/!?]")  # a tag that the parser passes on as text


class HtmlText(PassageText):
    """HTML as a `SegmentedDocument`: sentences, and the attributes that people read.

    Each tag of the document occurs exactly once in its translation, in an order that keeps valid HTML valid. HTML that
    is invalid or cut in the middle is never rejected. A sentence that is not changed stays the same byte for byte, and
    so does everything that is not text. Text never becomes a tag: `&lt;b&gt;` is translated as text and escaped again.

    Args:
        html: A document or a fragment.
        language: The language of the text.
        whole_lines: Whether paragraphs are not split, or which are not, see `TextTranslator.whole_lines`.
        elements: What its elements do.
        keeps_others: Do not translate elements whose attribute `lang` states another language.
    """

    def __init__(
        self,
        html: str,
        language: str,
        whole_lines: WholeLines = False,
        elements: Elements = HTML,
        keeps_others: bool = False,
    ) -> None:
        writing = Writing(language, partial(escape, quote=False), whole_lines=whole_lines)
        elements = replace(elements, language=language if keeps_others else "")
        super().__init__(to_parts(fold_tags(list(read_events(html, elements))), writing))


def read_events(html: str, elements: Elements) -> Iterator[Event]:
    """The text and the tags of a document; a tag that is cut is kept."""
    cut = _CUT.search(html, html.rfind(">") + 1)
    end = cut.start() if cut else len(html)
    keeps_lines = False
    for kind, raw, name in _Reader(html[:end]).tokens:
        if kind == "text":
            yield from template_items(raw, partial(text_items, keeps_lines=keeps_lines))
        elif kind == "other":
            yield Fixed((raw,))
        else:
            tag = tag_event(raw, name, kind, elements)
            if tag.element.lines:
                keeps_lines = not raw.startswith("</")
            yield tag
    if cut:
        yield Fixed((html[end:],))


_Kind: TypeAlias = Literal["text", "opening", "closing", "single", "other"]


class _Token(NamedTuple):
    """A part of a document: text, a tag with its name, or something else, such as a comment."""

    kind: _Kind
    raw: str
    name: str = ""


class _Reader(HTMLParser):
    """Reads tokens; what the parser passes to no method belongs to the token before it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=False)
        self._html = html
        readable = hide_templates(html)
        self._lines = [0, *(match.end() for match in re.finditer("\n", readable))]
        self._starts: list[tuple[int, _Kind, str]] = [(0, "text", "")]
        # the parser would end a tag at NUL, which browsers replace, take all that follows an incomplete &# as text, and
        # raise an error at <![ before any other word, where a comment begins for browsers
        self.feed(_UNKNOWN_SECTION.sub("<!_", _INCOMPLETE.sub("&+", readable.replace("\0", "\ufffd"))))
        self.close()

    @property
    def tokens(self) -> Iterator[_Token]:
        """The tokens, which together are the whole document."""
        ends = [start for start, _, _ in self._starts[1:]] + [len(self._html)]
        for (start, kind, name), end in zip(self._starts, ends, strict=True):
            if start < end:
                yield _Token(kind, self._html[start:end], name)

    def set_cdata_mode(self, elem: str, **options: Any) -> None:
        """Take the content of an element as text without tags; versions of Python differ in which these are."""
        if elem in ("script", "style"):
            super().set_cdata_mode(elem, **options)

    def _start(self, kind: _Kind, name: str = "") -> None:
        line, column = self.getpos()
        start = self._lines[line - 1] + column
        self._starts.append((start, kind, name))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._start("single" if tag in VOID else "opening", tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self._start("single", tag)

    def handle_endtag(self, tag: str) -> None:
        self._start("single" if tag in VOID else "closing", tag)

    def handle_data(self, data: str) -> None:
        self._start("other" if self.cdata_elem or _INVALID.match(data) else "text")

    def handle_entityref(self, name: str) -> None:
        self._start("text")

    def handle_charref(self, name: str) -> None:
        self._start("text")

    def handle_comment(self, data: str) -> None:
        self._start("other")

    def handle_decl(self, decl: str) -> None:
        self._start("other")

    def handle_pi(self, data: str) -> None:
        self._start("other")

    def unknown_decl(self, data: str) -> None:
        self._start("other")


_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)


def open_html(file: DocumentFile) -> EncodedDocument:
    """The texts of a page, and its descriptions of pictures and links."""
    characters = _read(file)
    return EncodedDocument(
        HtmlText(characters.text, file.languages[0], file.whole_lines, keeps_others=True), characters.encode
    )


def _read(file: DocumentFile) -> Characters:
    """The characters of a file, in the encoding of its byte order mark, or else the one that it declares."""
    declared = None if find_byte_order_mark(file.data) else _CHARSET.search(file.data[:4096])
    try:
        encoding = codecs.lookup(declared[1].decode()).name if declared else "utf-8"
        if encoding.startswith(("utf-16", "utf-32")):  # then the declaration would not have been found as bytes
            encoding = "utf-8"
        if encoding in ("iso8859-1", "ascii"):  # which browsers read as Windows-1252
            encoding = latin_or_windows(file.data)
        if encoding != "utf-8":
            return replace(Characters(file.data.decode(encoding), encoding), errors="xmlcharrefreplace")
    except (LookupError, UnicodeError):  # the error for a file that is not UTF-8 says more
        pass
    return read_characters(file)
