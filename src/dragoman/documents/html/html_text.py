"""Documents and fragments in HTML."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from dragoman.documents.html.runs import read_runs
from dragoman.documents.html.segments import AttributeSegment, SentenceSegment, read_attribute, read_sentences
from dragoman.documents.html.tokens import HTML, Attribute, Elements, HtmlToken, read_tokens
from dragoman.documents.joining import add_stop, lost_separator
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.documents.sentences import WholeLines, split_paragraph

AnySegment = TypeVar("AnySegment", SentenceSegment, AttributeSegment)
TRANSLATED_ATTRIBUTES = frozenset(("alt", "title", "placeholder", "aria-label"))


class HtmlText:
    """HTML as a `SegmentedDocument`: sentences, and the attributes that people read.

    Each tag of the document occurs exactly once in its translation, in an order that keeps valid HTML valid. HTML that
    is invalid or cut in the middle is never rejected. A sentence that is not changed stays the same byte for byte, and
    so does everything that is not text. Text never becomes a tag: `&lt;b&gt;` is translated as text and escaped again.

    Args:
        html: A document or a fragment.
        language: The language of the text.
        whole_lines: Whether paragraphs are not split, or which are not, see `TextTranslator.whole_lines`.
        elements: What its elements mean.
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
        self._html = html
        tokens = read_tokens(html, elements, language if keeps_others else "")
        split = partial(split_paragraph, language=language, whole_lines=whole_lines)
        sentences = [each for run in read_runs(html, tokens) for each in read_sentences(run, split)]
        attributes = [
            each
            for token in tokens
            for attribute in token.attributes
            if _is_translated(html, token, attribute)
            for each in read_attribute(html, attribute, split)
        ]
        self._parts: list[SentenceSegment | AttributeSegment] = sorted(
            [*sentences, *attributes], key=lambda part: (part.start, -part.end)
        )

    @property
    def segments(self) -> list[Segment]:
        """The sentences and attributes in the order in which they begin."""
        return [part.segment for part in self._parts]

    def assemble(self, translations: Sequence[TranslatedSegment]) -> str:
        """The document with the translation of each segment."""
        pairs = list(zip(self._parts, translations, strict=True))
        attributes = [
            (part.start, part.end, space + part.render(translated, self._slice))
            for part, translated, space in _join(
                (part, each) for part, each in pairs if isinstance(part, AttributeSegment)
            )
        ]
        starts = [start for start, _, _ in attributes]

        def raw(start: int, end: int) -> str:
            """The document between two places, with translated attributes."""
            parts, position = [], start
            for first, last, text in attributes[bisect_left(starts, start) : bisect_left(starts, end)]:
                parts += [self._html[position:first], text]
                position = last
            return "".join([*parts, self._html[position:end]])

        parts, position = [], 0
        for part, translated, space in _join((part, each) for part, each in pairs if isinstance(part, SentenceSegment)):
            joint = part.start if part.joint is None else part.joint
            parts += [raw(position, joint), space, raw(joint, part.start), part.render(translated, raw)]
            position = part.end
        return "".join([*parts, raw(position, len(self._html))])

    def _slice(self, start: int, end: int) -> str:
        return self._html[start:end]


def _join(pairs: Iterable[tuple[AnySegment, TranslatedSegment]]) -> Iterator[tuple[AnySegment, TranslatedSegment, str]]:
    """Each part with its translation and the space before it, as `join_translations` joins them."""
    last = ("", "")
    for part, translated in pairs:
        space = " " * (part.joint is not None and lost_separator(*last))
        if part.is_followed:
            translated = add_stop(part.text, translated)
        yield part, translated, space
        last = part.text[-1], translated.text


def _is_translated(html: str, token: HtmlToken, attribute: Attribute) -> bool:
    """Whether people read the value of an attribute."""
    if token.name == "meta" and attribute.name == "content":
        values = {each.name: html[each.start : each.end].strip("\"'").lower() for each in token.attributes}
        return values.get("name") == "description"
    return attribute.name in TRANSLATED_ATTRIBUTES
