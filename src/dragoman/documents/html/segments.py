"""Segments of a document, and what their translations look like in it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from re import Match

from dragoman.documents.html.runs import Run
from dragoman.documents.html.tokens import Attribute, HtmlToken
from dragoman.documents.marks import Edge, Mark, interleave, place_marks
from dragoman.documents.placeholder_names import PLACEHOLDER, find_names, outside_names
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.documents.sentences import is_translatable

Raw = Callable[[int, int], str]
"""The document between two places, with translated attributes."""

Split = Callable[[str], list[tuple[int, int]]]
"""The start and the end of each segment of a text."""


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
        spaced: The indices of tokens such as pictures that are followed by a space which the text does not contain.
        joint: Where a space before the sentence belongs in the document if the text has none; None after other text.
        is_followed: Whether another sentence of the same run follows.
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
    spaced: frozenset[int] = frozenset()
    joint: int | None = None
    is_followed: bool = False

    @property
    def segment(self) -> Segment:
        """What a translator needs."""
        return Segment(self.text, aligned=bool(self.marks))

    def render(self, translated: TranslatedSegment, raw: Raw) -> str:
        """The translation with the tags."""
        if translated.text == self.text:
            return raw(self.start, self.end)
        found = find_names(translated.text, self.placeholders)
        kept = {self.placeholders[name] for name in found}
        marks = place_marks([mark for mark in self.marks if mark.number not in kept], self.text, translated)
        words = {name: raw(*self._span(self.placeholders[name])) for name in found}

        def replace_name(match: Match[str]) -> str:
            return words.pop(match[0], "") if match[0] in found else match[0]

        spans = list(found.values())
        parts = [
            self._tag(part, raw) if isinstance(part, Edge) else PLACEHOLDER.sub(replace_name, escape(part, quote=False))
            for part in interleave(translated.text, [outside_names(mark, spans) for mark in marks])
        ]
        return " " * self.space_before + "".join(parts) + " " * self.space_after

    def _tag(self, edge: Edge, raw: Raw) -> str:
        index = edge.number if edge.opens else self.closings.get(edge.number)
        if index is None:
            return ""
        return raw(*self._span(index)) + " " * (index in self.spaced)

    def _span(self, index: int) -> tuple[int, int]:
        return self.tokens[index].start, self.tokens[index].end


@dataclass(frozen=True)
class AttributeSegment:
    """A sentence in the value of an attribute, between two places of the document.

    `quote` is the quotation mark around the value; empty if there is none, so that the translation needs one. `joint`
    and `is_followed` are as in `SentenceSegment`.
    """

    start: int
    end: int
    text: str
    quote: str
    joint: int | None = None
    is_followed: bool = False

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


def read_attribute(html: str, attribute: Attribute, split: Split) -> Iterator[AttributeSegment]:
    """The sentences in the value of an attribute; a value without quotation marks is one segment."""
    quote = html[attribute.start] if html[attribute.start] in "\"'" else ""
    run = Run()
    run.add_text(html, attribute.start + len(quote), attribute.end - len(quote))
    if not quote and is_translatable(run.text):
        yield AttributeSegment(attribute.start, attribute.end, run.text, quote)
    elif quote:
        spans = split(run.text)
        for index, (start, end) in enumerate(spans):
            first, last = run.starts[start], run.ends[end - 1]
            joint = first if index and spans[index - 1][1] == start else None
            yield AttributeSegment(first, last, run.text[start:end], quote, joint, index + 1 < len(spans))


def read_sentences(run: Run, split: Split) -> Iterator[SentenceSegment]:
    """The sentences of a run with the tags in them; tags around whole sentences are not part of them."""
    pairs = _find_pairs(run.tokens)
    spans = [span for span in split(run.text) if is_translatable(PLACEHOLDER.sub("", run.text[slice(*span)]))]
    before = 0  # the end of the last sentence in the document
    for index, (start, end) in enumerate(spans):
        after = run.starts[spans[index + 1][0]] if index + 1 < len(spans) else math.inf
        sentence = _read_sentence(run, pairs, (start, end), (before, after))
        joint = _after_closings(run, before) if index and spans[index - 1][1] == start else None
        before = sentence.end
        yield replace(sentence, joint=joint, is_followed=index + 1 < len(spans))


def _after_closings(run: Run, place: int) -> int:
    """The end of the closing tags that begin at a place of the document."""
    index = bisect_left(run.tokens, place, key=lambda token: token.start)
    while index < len(run.tokens) and run.tokens[index].start == place and run.tokens[index].kind == "closing":
        place = run.tokens[index].end
        index += 1
    return place


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
        if (closing := pairs.get(opening, -1)) not in window:
            continue
        opens, closes = run.tokens[opening], run.tokens[closing]
        if opens.start < last and first < closes.start < last:
            start = min(start, opens.start)
        elif first <= opens.start < last:
            end = max(end, closes.end)
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
        spaced=frozenset(numbers[index] for index in chosen if index in run.spaced or _is_spaced_word(run, index)),
    )


def _is_spaced_word(run: Run, index: int) -> bool:
    """Whether a token has a placeholder, with a space on both sides."""
    start, end = run.places[index], run.places[index] + len(run.placeholders.get(index, ""))
    return index in run.placeholders and f" {run.placeholders[index]} " == run.text[max(0, start - 1) : end + 1]


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
