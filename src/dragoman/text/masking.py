"""Masking: reserved characters in place of the spans of a sentence, which the model learns to copy."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from zlib import crc32

import regex

from dragoman.text.known_characters import KnownCharacters
from dragoman.text.number_forms import exchange_separators, number_form
from dragoman.text.placeholders import LETTER, Span, SpanKind, find_spans, match_between
from dragoman.text.tag_spaces import place_tag_spaces
from dragoman.text.term_marks import TERM_MARKS
from dragoman.text.usual_case import Case, UsualCase, change_case, without_capitals

SLOTS: dict[SpanKind, int] = {"placeholder": 8, "tag": 8, "link": 4, "number": 8, "emoji": 4}
"""Characters of each kind. A sentence with more different spans of a kind also uses those of other kinds."""

_FIRST = 0xFDD0  # the first of 32 noncharacters, which Unicode sets aside for a program's internal use
_BOUNDS = list(accumulate(SLOTS.values(), initial=_FIRST))

RESERVED: dict[SpanKind, str] = {
    kind: "".join(map(chr, range(*bounds))) for kind, bounds in zip(SLOTS, pairwise(_BOUNDS), strict=True)
}
"""The reserved characters of each kind. Each is a token, which subwords never contain."""

ALL_RESERVED = "".join(RESERVED.values())

KINDS: dict[str, SpanKind] = {character: kind for kind, characters in RESERVED.items() for character in characters}

_RESERVED_PATTERN = re.compile(f"[{ALL_RESERVED}]")
_ANY_RESERVED = re.compile(f"[{ALL_RESERVED}{TERM_MARKS}]")
SIGNS = regex.compile(r"[\p{Sc}%‰°]+")
_AFTER_SENTENCE = re.compile(f"(?<=[.!?])(?=([{ALL_RESERVED}]))")


def checksum(*texts: str) -> int:
    """A number that depends only on texts, which may contain lone surrogates."""
    return crc32("\t".join(texts).encode("utf-8", "surrogatepass"))


def replace_reserved(text: str) -> str:
    """The text with U+FFFD in place of reserved characters, so that text is never encoded as a reserved token."""
    return _ANY_RESERVED.sub("\ufffd", text)


def without_reserved(text: str) -> str:
    """The text without reserved characters."""
    return _RESERVED_PATTERN.sub("", text)


@dataclass(frozen=True)
class Mask:
    """A sentence with reserved characters in place of spans.

    Attributes:
        text: The sentence with reserved characters.
        spans: What each reserved character stands for: the span as the translation writes it.
        source: The sentence itself, if it is known.
        case: That of the sentence, and of what is restored. If it is not the usual one, `text` is written as usual.
        keeps_spaces: Whether translations are restored with exactly their spaces, because their beginning is given.
    """

    text: str
    spans: dict[str, str]
    source: str | None = None
    case: Case = "usual"
    keeps_spaces: bool = False

    def restore(self, text: str) -> str:
        """A text with the spans in place of reserved characters; those that stand for no span are dropped.

        A span that always follows a space in the sentence also gets one after the end of a sentence, where a search
        that requires missing tokens may have put it. Pairs of tags enclose no spaces if they do not in the sentence.
        """
        known = re.sub(f" ?[{unknown}]", "", text) if (unknown := self._unknown(text)) else text
        if not self.keeps_spaces:
            known = _AFTER_SENTENCE.sub(lambda match: " " if self._follows_space(match[1]) else "", known)
            known = place_tag_spaces(self.text, known, self.spans)
        return _RESERVED_PATTERN.sub(lambda match: self.spans[match.group()], change_case(known, self.case))

    def apply(self, text: str) -> str:
        """Another text, such as the beginning of the translation, with the same characters for the same spans."""
        if text == self.source:
            return self.text  # with other quotes, too
        characters = {span: character for character, span in self.spans.items()}
        symbols = [span for span in characters if not _is_found(span)]
        spans = _with_occurrences(list(find_spans(text)), symbols, text)
        if self.case == "upper":
            text = _replace_between(text, without_capitals(text), spans)
        return _substitute(text, spans, characters)

    def starts(self) -> list[int]:
        """Where each character of `text` begins in the sentence, and where the last one ends."""
        return list(accumulate((len(self.spans.get(each, each)) for each in self.text), initial=0))

    def label(self, token: str) -> str:
        """How to show a token: the span of a reserved one, or its kind in brackets if it stands for no span."""
        if token not in KINDS:
            return token
        return self.spans.get(token, f"[{KINDS[token]}]")

    def problems(self, source: Iterable[str], output: Iterable[str]) -> list[str]:
        """Which reserved tokens of a source its translation lacks, repeats or adds; both are tokens."""
        ours, theirs = _find_reserved(source), _find_reserved(output)
        if ours == theirs:  # usually both are empty
            return []
        expected, found = Counter(ours), Counter(theirs)
        return [
            f"{_describe(expected[token], found[token])}: {self.label(token)}"
            for token in sorted(expected | found)
            if expected[token] != found[token]
        ]

    def _follows_space(self, character: str) -> bool:
        return f" {self.text}".count(f" {character}") == self.text.count(character) > 0

    def _unknown(self, text: str) -> str:
        return "".join(set(_RESERVED_PATTERN.findall(text)) - self.spans.keys())


def _describe(expected: int, found: int) -> str:
    return "missing" if found < expected else "repeated" if expected else "invented"


def _find_reserved(tokens: Iterable[str]) -> list[str]:
    return [token for token in tokens if token in KINDS]


@dataclass(frozen=True)
class Masking:
    """Which spans are masked.

    Attributes:
        numbers_as_text: Forms of numbers that are not masked, see `NumberCounts.as_text`.
        known: The characters of the training text. Others are masked in sentences to translate. Without it, none are.
        numbers_with_exchange: Forms of numbers in which the translation exchanges point and comma.
        case: The usual case of words, in which sentences in capital letters are translated.
    """

    numbers_as_text: frozenset[str] = frozenset()
    known: KnownCharacters | None = None
    numbers_with_exchange: frozenset[str] = frozenset()
    case: UsualCase | None = None

    def mask(self, text: str) -> Mask:
        """Mask a sentence to translate; the spans are numbered in their order.

        Quotes and hyphens that are not known are replaced by known ones, outside of spans, and a sentence in capital
        letters is written as usual. If a text contains more different sequences of reserved characters than can be
        masked, all of it is one span.
        """
        source, spans = text, self._spans(text)
        if self.known:
            replaced = self.known.replace_rare(text)
            spans = _joined_signs(text, sorted([*spans, *self.known.find_copied(replaced, spans)]))
            text = _replace_between(text, replaced, spans)
        spelled = text
        text, case = self.case.apply(spelled, spans) if self.case else (spelled, "usual")
        if not spans:
            return Mask(text, {}, source, case)
        characters = _assign(text, spans, lambda kind: iter(RESERVED[kind]))
        masked = _substitute(text, spans, characters)
        mask = Mask(masked, {character: span for span, character in characters.items()}, source)
        if mask.restore(mask.text) == text:
            translated = self._in_translation(text, spans)
            return replace(mask, spans={each: translated[span] for each, span in mask.spans.items()}, case=case)
        whole = RESERVED["emoji"][0]
        return Mask(whole, {whole: spelled}, source)

    def mask_pair(self, source: str, target: str) -> tuple[str, str]:
        """Mask the spans that occur equally often in both sentences of a training pair, as the target writes them.

        Their numbers are random, so that the model learns to copy every reserved token, also those of the fifth span of
        a sentence, and learns nothing from the number. They depend only on the pair.
        """
        source, target = replace_reserved(source), replace_reserved(target)
        spans, target_spans = self._spans(source), self._spans(target)
        counts = Counter(source[start:end] for start, end, _ in spans)
        target_counts = Counter(target[start:end] for start, end, _ in target_spans)
        expected = self._in_translation(source, spans)
        copied = [
            span for span in spans if counts[text := source[span.start : span.end]] == target_counts[expected[text]]
        ]
        if not copied:
            return source, target
        generator = random.Random(checksum(source, target))
        characters = _assign(source, copied, lambda kind: iter(generator.sample(RESERVED[kind], SLOTS[kind])))
        target_characters = {expected[text]: character for text, character in characters.items()}
        return _substitute(source, copied, characters), _substitute(target, target_spans, target_characters)

    def _spans(self, text: str) -> list[Span]:
        return [span for span in find_spans(text) if span.kind != "number" or self._is_masked(text, span)]

    def _is_masked(self, text: str, number: Span) -> bool:
        return number_form(text[number.start : number.end]) not in self.numbers_as_text

    def _in_translation(self, text: str, spans: Iterable[Span]) -> dict[str, str]:
        """How a translation writes each span of a text."""
        written = {text[start:end]: kind for start, end, kind in spans}
        return {span: self._translate_number(span) if kind == "number" else span for span, kind in written.items()}

    def _translate_number(self, number: str) -> str:
        return exchange_separators(number) if number_form(number) in self.numbers_with_exchange else number


def _joined_signs(text: str, spans: Sequence[Span]) -> list[Span]:
    """Spans of a text in which a number and the sign of a currency, a percentage or a degree next to it are one."""
    joined: list[Span] = []
    for span in spans:
        last = joined[-1] if joined else None
        if (
            last
            and text[last.end : span.start] in ("", " ")
            and ((last.kind == "number" and _is_sign(text, span)) or (_is_sign(text, last) and span.kind == "number"))
        ):
            joined[-1] = Span(last.start, span.end, "number")
        else:
            joined.append(span)
    return joined


def _is_sign(text: str, span: Span) -> bool:
    return SIGNS.fullmatch(text, span.start, span.end) is not None


def _is_found(span: str) -> bool:
    return any(found[:2] == (0, len(span)) for found in find_spans(span))


def _with_occurrences(spans: list[Span], texts: Sequence[str], text: str) -> list[Span]:
    """The spans of a text with the places between them where it contains others; words only as whole words."""
    if not texts:
        return spans
    pattern = regex.compile("|".join(map(_whole, sorted(texts, key=len, reverse=True))), regex.VERSION1)
    return sorted([*spans, *(Span(start, end, "emoji") for start, end in match_between(pattern, text, spans))])


def _whole(text: str) -> str:
    """A pattern for a text that is no part of a word; scripts without spaces have no words."""
    before, after = (regex.match(LETTER, text[end], regex.VERSION1) for end in (0, -1))
    return f"{f'(?<!{LETTER})' if before else ''}{regex.escape(text)}{f'(?!{LETTER})' if after else ''}"


def _replace_between(text: str, replaced: str, spans: Iterable[Span]) -> str:
    """A text with its spans, and another text of the same length between them."""
    parts, last = [], 0
    for start, end, _ in spans:
        parts += [replaced[last:start], text[start:end]]
        last = end
    return "".join([*parts, replaced[last:]])


def _assign(text: str, spans: Sequence[Span], characters_of: Callable[[SpanKind], Iterator[str]]) -> dict[str, str]:
    """A reserved character for each different span, in order: one of its kind, otherwise of the next kind with any."""
    unused = {kind: characters_of(kind) for kind in SLOTS}
    kinds = list(SLOTS)
    assigned: dict[str, str] = {}
    for start, end, kind in spans:
        order = [*kinds[kinds.index(kind) :], *kinds]
        if text[start:end] not in assigned and (character := next((c for k in order for c in unused[k]), None)):
            assigned[text[start:end]] = character
    return assigned


def _substitute(text: str, spans: Iterable[Span], characters: dict[str, str]) -> str:
    """The text with reserved characters in place of the spans that have one, and no other reserved characters."""
    parts, last = [], 0
    for start, end, _ in spans:
        if character := characters.get(text[start:end]):
            parts += [replace_reserved(text[last:start]), character]
            last = end
    return "".join([*parts, replace_reserved(text[last:])])
