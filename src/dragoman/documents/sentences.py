"""Splitting a paragraph into sentences."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from typing import TypeAlias

import regex

from dragoman.languages.codes import primary_language
from dragoman.languages.scripts import begins_small
from dragoman.languages.sentence_marks import (
    AFTER_BRACKET,
    AFTER_COPIED,
    AFTER_LIST,
    ORDINAL_POINTS,
    SENTENCE_ENDS,
    after_closing,
    ends_in_abbreviation,
    follows_end,
    sentence_continues,
)
from dragoman.text.normalization import replace_surrogates
from dragoman.text.placeholders import Span, find_spans, text_between

_BREAKS = regex.compile(
    rf"(?<=[:{SENTENCE_ENDS}])\s*(?:</?(?i:br|p|div|li|[uo]l|t[rdh]|h[1-6])\b[^<>]*+>\s*+)++(?!\p{{Ll}})"
)
"""Tags of HTML that begin a line, after the end of a sentence, so that they belong to none."""
_IDENTIFIER = regex.compile(r"^\W*+(?=\S*\d)(?:\p{Lu}++|\p{Ll}(?!\p{Ll})|\d++|[-_./:#+]++)++\W*+$")
_LABEL = regex.compile(
    r"^\W*+(?:ART|DIN|EAN|EN|GTIN|HS|IEC|ID|ISBN|ISO|NO|NR|PN|RAL|REF|RFC|SKU|SN|USB|VDE|x)[.:]?+\W*+$"
)  # of an identifier
_PATH = regex.compile(r"^(?:[A-Za-z]:|~|\.\.?)?[/\\][^/\\]+[/\\]\S*$|^(?:[A-Za-z]:|~|\.\.?)[/\\]\S+$|^\\\\\S+$")
"""Of a file or a directory, perhaps without an extension: C:\\Users\\x, ~/notes, /usr/share."""
_MAY_END = regex.compile(rf"[{SENTENCE_ENDS}\n](?!\Z)")
_NUMBER = regex.compile(r"(?<=\s)\d+(?=\.?\s+\p{L})")
_REPLACED_MARKS = dict.fromkeys(map(ord, "།༎༏༐༑។៕᭎᭏᭿⳹⳺⳻⹠⹡𑏔𑏕𖵮𖵯︒︕︖"), "。")
"""Marks that end a sentence, but that `sentencex` does not know."""

_READ = 5000  # characters that are split at once

WholeLines: TypeAlias = bool | Container[str]
"""Whether lines are not split into sentences, or which ones, such as those that a translation memory contains."""


def split_paragraph(text: str, language: str, whole_lines: WholeLines) -> list[tuple[int, int]]:
    """The start and the end of each text in a paragraph that is translated at once: each sentence, or all of it.

    A tab separates texts, as in tables and menus.
    """
    if is_kept_whole(text, whole_lines):
        return trimmed(text)
    spans, start = list[tuple[int, int]](), 0
    for part in text.split("\t"):
        whole = whole_lines is True or is_kept_whole(part, whole_lines)
        spans += [(start + a, start + b) for a, b in (trimmed(part) if whole else split_sentences(part, language))]
        start += len(part) + 1
    return spans


def is_kept_whole(text: str, whole_lines: WholeLines) -> bool:
    """Whether a text is one of those that are not split, even if it has several lines."""
    return not isinstance(whole_lines, bool) and text.strip() in whole_lines


def trimmed(text: str) -> list[tuple[int, int]]:
    """The start and the end of a text without the spaces around it; none if it has no letter and no number."""
    return [(len(text) - len(text.lstrip()), len(text.rstrip()))] if has_words(text) else []


def split_sentences(text: str, language: str) -> list[tuple[int, int]]:
    """The start and the end of each sentence of a paragraph, without the spaces around it.

    Parts without a letter or a number, such as emoji, belong to no sentence. Languages that `sentencex` does not know
    are split like English. A line break does not end a sentence, but an empty line or a tag such as <br> does.
    """
    spans: list[tuple[int, int]] = []
    breaks = {match.span() for match in _BREAKS.finditer(text)}
    for start, end in _joined_boundaries(text, language, breaks):
        part = text[start:end]
        if has_words(part) and (start, end) not in breaks:
            spans.append((start + len(part) - len(part.lstrip()), start + len(part.rstrip())))
    return spans


def has_words(text: str) -> bool:
    """Whether a text contains a letter or a number, so that there is something to translate."""
    return any(map(str.isalnum, text))


def is_translatable(text: str) -> bool:
    """Whether a text contains a word; placeholders, URLs, numbers, paths and identifiers are none.

    Identifiers contain a digit, and may follow one of a few abbreviations: "4711-B", "SKU 4711-B", "DIN 933", "M8 x 2".
    """
    parts = text_between(text, (span for span in find_spans(text) if span.kind != "number"))
    words = [word for part in parts for word in part.split() if any(map(str.isalnum, word))]
    identifies = False
    for word in reversed(words):
        is_number = not any(map(str.isalpha, word))
        identifies = is_number or bool(
            _IDENTIFIER.search(word) or _PATH.search(word) or (identifies and _LABEL.search(word))
        )
        if not identifies:
            return True
    return False


def _joined_boundaries(text: str, language: str, breaks: Collection[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence, and of breaks; sentences that were split in the middle are joined again."""
    primary = primary_language(language)
    spans = list(find_spans(text)) if _MAY_END.search(text) else []
    first = [span for span in spans if _may_begin_sentence(text, span) and follows_end(text, span.start)]
    starts, readable = {span.start for span in first}, _prepare(text, primary, first)
    inside = {place for start, end in breaks for place in range(start + 1, end)}
    around = {place for each in breaks for place in each if place < len(text)}
    found = {end for each in _find_ends(readable, primary) if (end := after_closing(text, each)) < len(text)}
    found.update(_other_ends(text, spans))
    ends = sorted((found | around) - inside)
    start = last = index = 0
    has_upper = has_lower = False
    for end in ends:
        while index < len(spans) and spans[index].end <= end:
            index += 1
        divided = index < len(spans) and spans[index].start < end
        piece = text[last:end]
        has_upper, has_lower = has_upper or piece != piece.lower(), has_lower or piece != piece.upper()
        # The next letter is in lower case, as in "“No!” she said", in a text that is not all in lower case.
        continues = begins_small(text[end : end + 1]) and end not in starts and (has_upper or not has_lower)
        if not (divided or continues or sentence_continues(text, end) or ends_in_abbreviation(piece, primary)):
            yield start, end
            start, has_upper, has_lower = end, False, False
        last = end
    if start < len(text):
        yield start, len(text)


def _other_ends(text: str, spans: Iterable[Span]) -> Iterator[int]:
    """Where sentences end for certain, although `sentencex` takes the last word for an abbreviation."""
    yield from (match.end() for match in AFTER_LIST.finditer(text))
    yield from (match.end() for match in AFTER_BRACKET.finditer(text) if follows_end(text, match.end()))
    for span in spans:
        if span.kind == "link" and (match := AFTER_COPIED.match(text, span.end)):
            yield match.end()


def _may_begin_sentence(text: str, span: Span) -> bool:
    return span.kind in ("placeholder", "link", "tag") and not text.startswith("</", span.start)


def _prepare(text: str, language: str, starts: Iterable[Span]) -> str:
    """A text of the same length that `sentencex` splits where it would not split the original.

    It lacks some marks. In some languages, it lets no sentence begin with a number, a placeholder or a URL, so that it
    reads letters instead. It cannot read lone surrogates.

    Args:
        text: The text.
        language: The code of the language without its region.
        starts: The placeholders and URLs that begin a sentence.
    """
    characters = list(replace_surrogates(text).translate(_REPLACED_MARKS).replace("፡፡", "፡።"))
    numbers = _NUMBER.finditer(text) if language in ORDINAL_POINTS else ()
    places = [match.span() for match in numbers if follows_end(text, match.start())]
    for start, end in [*places, *((span.start, span.end) for span in starts)]:
        characters[start:end] = "A" * (end - start)
    return "".join(characters)


def _find_ends(text: str, language: str) -> Iterator[int]:
    """Where sentences end inside of a text, without its own end.

    The library knows no regions such as de-AT. It is slow for texts with many quotation marks, so that it reads long
    ones part by part, from the end of a sentence.
    """
    from sentencex import get_sentence_boundaries

    start = 0
    while start < len(text):
        part = text[start : start + _READ]
        found = [start + sentence["end_index"] for sentence in get_sentence_boundaries(language, part)][:-1]
        yield from found
        start = found[-1] if found and start + _READ < len(text) else start + _READ
