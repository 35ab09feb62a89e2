"""Text of segments with inline tags, as TMX and XLIFF files contain them."""

from __future__ import annotations

from collections import Counter
from xml.etree.ElementTree import Element

from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.pair_text import join_lines, make_pair
from dragoman.errors import UserError, counted
from dragoman.text.normalization import replace_forbidden
from dragoman.text.placeholders import find_spans

_CODES = {"bpt", "ept", "ph", "it", "ut", "sub", "x"}
"""Elements that stand for formatting codes instead of text (``sub`` is text within a code, such as a footnote)."""
_LINE_BREAKS = {"lb", "x-lb", "x-br"}
_SHOWN = 5  # languages in a message


def to_pair(source: Element, target: Element, place: str) -> Pair:
    """The texts of two segments on one line each; UserError with the place if a text is too long.

    Control characters become spaces: XML allows only those that many public corpora contain.
    """
    before, after = (replace_forbidden(join_lines(segment_text(segment))) for segment in (source, target))
    return make_pair(before, after, place)


def segment_text(segment: Element) -> str:
    """The text of a segment without formatting codes, of which only line breaks and placeholders are text."""
    if not len(segment):
        return segment.text or ""
    text = segment.text or ""
    for child in segment:
        inner, tail = _code_text(child) if child.tag in _CODES else segment_text(child), child.tail or ""
        if not inner and text.endswith(" "):  # one space is left of those around a code
            tail = tail.removeprefix(" ")
        text += inner + tail
    return text


def _code_text(code: Element) -> str:
    """The text that a code stands for: a line break, or a placeholder such as ``%d``; otherwise none."""
    content = "".join(code.itertext())
    if {code.get("type"), code.get("ctype")} & _LINE_BREAKS or content.startswith("<br"):
        return "\n"
    for text in (content, code.get("equiv-text", ""), code.get("equiv", "")):
        if [(span.start, span.end, span.kind) for span in find_spans(text)] == [(0, len(text), "placeholder")]:
            return text
    return ""


def require_languages(matched: bool, found: Counter[str], languages: Languages, name: str, noun: str) -> None:
    """Check that a file had pairs in the languages.

    Raises:
        UserError: It had none; lists the most frequent languages that were found.
    """
    if matched:
        return
    if not found:
        raise UserError(f"{name}: no {noun} with text in two languages")
    shown = ", ".join(f"{language} ({counted(number, noun)})" for language, number in found.most_common(_SHOWN))
    more = ", …" if len(found) > _SHOWN else ""
    raise UserError(f"{name}: no {noun} in {languages[0]} and {languages[1]}, only in {shown}{more}")
