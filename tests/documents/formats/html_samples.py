"""Random HTML, and translators that need no model."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser

from hypothesis import strategies as st

from dragoman.documents.formats.html import HtmlText
from dragoman.documents.segment import Segment
from dragoman.text.link import Link
from dragoman.text.translation import Translation

VOID = ("<br>", "<br/>", '<img src="a>b.png" alt="Ein Bild">', "<wbr>", "<!-- kein <b> Text -->", "<hr>")
INLINE = ("b", "i", "em", "a", "span", "x-y")
WORDS = (
    "Hund",
    "katze",
    "Haus.",
    "3,5",
    "&lt;b&gt;",
    "&auml;",
    "&nbsp;",
    "M&uuml;ll",
    "R&D",
    "Was?",
    "x < y",
    "H&#228;",
    "…",
)
UNTOUCHED = (
    "<code>rm &lt;x&gt; <b>y</b></code>",
    '<span translate="no">Bleibt <i>so</i></span>',
    "<script>if (a < b) { '</b>' }</script>",
    "<style>p > b { }</style>",
    "<p class='a notranslate'>So</p>",
)
ATTRIBUTES = ("", "", ' class="k"', " title='Ein &quot;Titel&quot;'", " data-x=1 hidden", ' href="?a=1&b=2"')

words = st.sampled_from(WORDS)
spaces = st.sampled_from(("", " ", " ", " ", "\n  "))


def wrap(name: str, attributes: str, inner: str) -> str:
    return f"<{name}{attributes}>{inner}</{name}>"


def join(parts: Sequence[str]) -> str:
    return "".join(parts)


inline = st.recursive(
    st.one_of(words, words, words, spaces, spaces, st.sampled_from(VOID[:-1]), st.sampled_from(UNTOUCHED[:2])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6).map(join),
        st.builds(wrap, st.sampled_from(INLINE), st.sampled_from(ATTRIBUTES), inner),
    ),
    max_leaves=20,
)
well_formed = st.lists(
    st.one_of(inline, st.builds(wrap, st.sampled_from(("p", "li", "div")), st.sampled_from(ATTRIBUTES), inline))
    | st.sampled_from(UNTOUCHED),
    max_size=5,
).map(join)
"""HTML in which every element is closed where it should be."""


@st.composite
def broken(draw: st.DrawFn) -> str:
    """HTML with tags removed, moved and cut."""
    pieces = re.findall(r"<[^<>]*>|[^<>]+|[<>]", draw(well_formed))
    generator = random.Random(draw(st.integers(0, 1000)))
    for _ in range(draw(st.integers(0, 4))):
        if pieces:
            piece = pieces.pop(generator.randrange(len(pieces)))
            if generator.random() < 0.5:
                pieces.insert(generator.randrange(len(pieces) + 1), piece)
    html = "".join(pieces)
    return html[: draw(st.integers(0, len(html)))]


def unchanged(segment: Segment) -> Translation:
    return Translation(segment.text)


def in_capitals(segment: Segment) -> Translation:
    """The text in capital letters, each character linked; placeholders stay."""
    text = re.sub(r"\{\d+\}|(\w)", lambda match: match[1].upper() if match[1] else match[0], segment.text)
    spans = [match.span() for match in re.finditer(r"\{\d+\}|\S", text)]
    return Translation(text, links=tuple(Link(*span, *span) for span in spans))


def shuffled(seed: int) -> Callable[[Segment], Translation]:
    """Translates words to capital letters in a random order."""

    def shuffle(segment: Segment) -> Translation:
        spans = [match.span() for match in re.finditer(r"\{\d+\}|[^\s{]+|\{", segment.text)]
        text, links, capitals = "", [], in_capitals(segment).text
        for start, end in random.Random(seed).sample(spans, len(spans)):
            text += " " * bool(text)
            links.append(Link(start, end, len(text), len(text) + end - start))
            text += capitals[start:end]
        return Translation(text, links=tuple(links))

    return shuffle


def translate(html: str, translator: Callable[[Segment], Translation]) -> str:
    document = HtmlText(html, "de")
    return document.assemble([translator(segment) for segment in document.segments])


class StrictParser(HTMLParser):
    """Tags in order, text without them, and whether every element is closed where it should be."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.well_formed = True
        self._opened: list[str] = []
        self.feed(html)
        self.close()
        self.well_formed &= not self._opened

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(self.get_starttag_text() or "")
        if tag not in ("br", "img", "wbr", "hr"):
            self._opened.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.tags.append(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"</{tag}>")
        self.well_formed &= bool(self._opened) and self._opened.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
