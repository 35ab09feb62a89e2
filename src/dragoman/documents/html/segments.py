"""Segments of a document, and what their translations look like in it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from dragoman.documents.html.runs import PLACEHOLDER, Run
from dragoman.documents.html.tokens import Attribute, HtmlToken
from dragoman.documents.marks import Edge, Mark, interleave, place_marks
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.documents.sentences import split_sentences

Raw = Callable[[int, int], str]
"""The document between two places, with translated attributes."""


@dataclass(frozen=True)
class SentenceSegment:
    """A sentence with its tags, from `start` up to but not including `end` in the document.

    Attributes:
        text: The sentence without tags.
        space_before: Whether there is a space between the first tag and the text.
        space_after: Whether there is a space between the text and the last tag.
        tokens: The tags and other parts in the sentence.
        closings: The index of the closing tag of each opening tag that has one, in `tokens`.
        marks: The place of each opening or single token; its number is the index in `tokens`.
        placeholders: The untouched part of each placeholder in the text, as its index in `tokens`.
    """

    start: int
    end: int
    text: str
    space_before: bool = False
    space_after: bool = False
    tokens: Sequence[HtmlToken] = ()
    closings: dict[int, int] = field(default_factory=dict)
    marks: Sequence[Mark] = ()
    placeholders: dict[str, int] = field(default_factory=dict)

    @property
    def segment(self) -> Segment:
        """What a translator needs."""
        return Segment(self.text, aligned=bool(self.marks))

    def render(self, translated: TranslatedSegment, raw: Raw) -> str:
        """The translation with the tags."""
        if translated.text == self.text:
            return raw(self.start, self.end)
        kept = {number: name for name, number in self.placeholders.items() if name in translated.text}
        marks = place_marks([mark for mark in self.marks if mark.number not in kept], self.text, translated)
        parts = [
            self._tag(part, raw) if isinstance(part, Edge) else escape(part, quote=False)
            for part in interleave(translated.text, marks)
        ]
        text = "".join(parts)
        for number, name in kept.items():
            before, after = text.split(name, 1)
            text = before + raw(self.tokens[number].start, self.tokens[number].end) + after.replace(name, "")
        return " " * self.space_before + text + " " * self.space_after

    def _tag(self, edge: Edge, raw: Raw) -> str:
        index = edge.number if edge.opens else self.closings.get(edge.number)
        if index is None:
            return ""
        token = self.tokens[index]
        around = raw(token.start - 1, token.start) + raw(token.end, token.end + 1)
        is_visible = token.kind in ("void", "untouched")  # such as an icon between two words
        spaced = is_visible and len(around) == 2 and around.isspace()
        return raw(token.start, token.end) + " " * spaced


@dataclass(frozen=True)
class AttributeSegment:
    """A sentence in the value of an attribute, between two places of the document.

    `quote` is the quotation mark around the value; empty if there is none, so that the translation needs one.
    """

    start: int
    end: int
    text: str
    quote: str

    @property
    def segment(self) -> Segment:
        """What a translator needs."""
        return Segment(self.text)

    def render(self, translated: TranslatedSegment, raw: Raw) -> str:
        """The translation as it is written in the value."""
        if translated.text == self.text:
            return raw(self.start, self.end)
        quote = self.quote or '"'
        escaped = escape(translated.text, quote=False).replace(quote, escape(quote))
        return escaped if self.quote else f'"{escaped}"'


def read_attribute(html: str, attribute: Attribute, language: str) -> Iterator[AttributeSegment]:
    """The sentences in the value of an attribute; a value without quotation marks is one segment."""
    quote = html[attribute.start] if html[attribute.start] in "\"'" else ""
    run = Run()
    run.add_text(html, attribute.start + len(quote), attribute.end - len(quote))
    if not quote and any(map(str.isalnum, run.text)):
        yield AttributeSegment(attribute.start, attribute.end, run.text, quote)
    elif quote:
        for start, end in split_sentences(run.text, language):
            yield AttributeSegment(run.starts[start], run.ends[end - 1], run.text[start:end], quote)


def read_sentences(run: Run, language: str) -> Iterator[SentenceSegment]:
    """The sentences of a run with the tags in them; tags around whole sentences are not part of them."""
    pairs = _find_pairs(run.tokens)
    spans = [span for span in split_sentences(run.text, language) if _has_words(run.text[slice(*span)])]
    before = 0  # the end of the last sentence in the document
    for index, (start, end) in enumerate(spans):
        after = run.starts[spans[index + 1][0]] if index + 1 < len(spans) else math.inf
        sentence = _read_sentence(run, pairs, (start, end), (before, after))
        before = sentence.end
        yield sentence


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, PLACEHOLDER.sub("", text)))


def _find_pairs(tokens: Sequence[HtmlToken]) -> dict[int, int]:
    """The index of the closing tag of each opening tag; an opening tag that is crossed by another element has none."""
    opened: list[int] = []
    names = Counter[str]()
    pairs = {}
    for index, token in enumerate(tokens):
        if token.kind == "opening":
            opened.append(index)
            names[token.name] += 1
        while token.kind == "closing" and names[token.name]:
            opening = opened.pop()
            names[tokens[opening].name] -= 1
            if tokens[opening].name == token.name:
                pairs[opening] = index
                break
    return pairs


def _read_sentence(
    run: Run, pairs: dict[int, int], span: tuple[int, int], limits: tuple[int, float]
) -> SentenceSegment:
    """A sentence of a run, from the first tag that closes in it to the last one that opens in it.

    Args:
        run: The run.
        pairs: The closing tag of each opening tag.
        span: The characters of the sentence.
        limits: Where the last sentence ends in the document, and where the next one begins.
    """
    first, last = run.starts[span[0]], run.ends[span[1] - 1]
    window = range(*(bisect_left(run.tokens, limit, key=lambda token: token.start) for limit in limits))
    start, end = first, last
    for opening in window:
        a, b = run.tokens[opening].start, pairs.get(opening, -1)
        if b in window and run.tokens[b].start > first and a < last:
            inside = run.tokens[b].start < last
            start, end = (min(start, a), end) if inside else (start, max(end, run.tokens[b].end) if a >= first else end)
    chosen = [index for index in window if start <= run.tokens[index].start < end]
    numbers = {index: number for number, index in enumerate(chosen)}
    closings = {numbers[index]: numbers[pairs[index]] for index in chosen if pairs.get(index) in numbers}
    places = [min(max(run.places[index], span[0]), span[1]) - span[0] for index in chosen]
    return SentenceSegment(
        start=start,
        end=end,
        text=run.text[slice(*span)],
        space_before=span[0] > 0 and run.text[span[0] - 1] == " " and run.starts[span[0] - 1] >= start,
        space_after=run.text[span[1] : span[1] + 1] == " " and run.ends[span[1]] <= end,
        tokens=[run.tokens[index] for index in chosen],
        closings=closings,
        marks=list(_read_marks(places, closings)),
        placeholders={run.placeholders[index]: numbers[index] for index in chosen if index in run.placeholders},
    )


def _read_marks(places: Sequence[int], closings: dict[int, int]) -> Iterator[Mark]:
    """A mark for each pair of tags and for each single one, in the order of the document."""
    enclosing: list[int] = []
    for number, place in enumerate(places):
        if enclosing and closings[enclosing[-1]] == number:
            enclosing.pop()
            continue
        end = places[closings[number]] if number in closings else place
        yield Mark(place, end, number, enclosing[-1] if enclosing else None)
        if number in closings:
            enclosing.append(number)
