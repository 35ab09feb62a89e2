"""Translators for tests of documents: functions from segments to translated segments."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from dragoman.documents.segment import Segment, SegmentedDocument
from dragoman.text.link import Link
from dragoman.text.translation import Translation

_PLACEHOLDER = re.compile(r"\{\w*\}")


def translate_upper(segment: Segment) -> Translation:
    """Text in upper case, except placeholders, in the same order."""
    return _translate_words(segment, list(re.finditer(r"\{\w*\}|\w+|\s+|.", segment.text)), "")


def translate_shuffled(segment: Segment) -> Translation:
    """The same in a random order, with one word twice."""
    words = list(re.finditer(r"\S+", segment.text))
    generator = random.Random(segment.text.encode("utf-8", "surrogatepass"))
    words.append(generator.choice(words))
    generator.shuffle(words)
    return _translate_words(segment, words, " ")


def _translate_words(segment: Segment, words: Sequence[re.Match[str]], space: str) -> Translation:
    text, links = "", []
    for word in words:
        translation = word[0] if _PLACEHOLDER.search(word[0]) else word[0].upper()
        text += space * bool(text)
        links.append(Link(word.start(), word.end(), len(text), len(text) + len(translation)))
        text += translation
    return Translation(text, links=tuple(links) if segment.aligned else ())


def translate_without_letters(segment: Segment) -> Translation:
    """What the worst translator returns: no link, no placeholder, and characters that formats must escape."""
    return Translation("<&>\"'*_`|,;\t{\\}]]>-->")


def assemble(document: SegmentedDocument[bytes], translate: object = None) -> bytes:
    """The document with translated segments, or with unchanged ones."""
    function = translate if callable(translate) else lambda segment: Translation(segment.text)
    return document.assemble([function(segment) for segment in document.segments])
