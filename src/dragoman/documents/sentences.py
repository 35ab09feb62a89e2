"""Splitting a paragraph into sentences."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator
from typing import TypeAlias

import regex

from dragoman.text.normalization import replace_surrogates
from dragoman.text.placeholders import find_spans, text_between
from dragoman.text.world_languages import primary_language

_ORDINAL = regex.compile(r"(?<![\w.,])(?:\d{1,2}|[IVXL]{2,8})\.$")
_TITLE = regex.compile(r"(?:^|\s)(?:डॉ|प्रो|पं|श्री|सुश्री|श्रीमती|कु|मि)\.$")  # of Hindi, which sentencex does not know
_BREAKS = regex.compile(r"(?<=[.!?…:।。！？])\s*(?:</?(?i:br|p|div|li|[uo]l|t[rdh]|h[1-6])\b[^<>]*+>\s*+)++(?!\p{Ll})")
"""Tags of HTML that begin a line, after the end of a sentence, so that they belong to none."""
_IDENTIFIER = regex.compile(r"^\W*+(?=\S*\d)(?:[A-Z]++|[a-z](?![a-z])|\d++|[-_./:#+]++)++\W*+$")
_LABEL = regex.compile(
    r"^\W*+(?:ART|DIN|EAN|EN|GTIN|HS|IEC|ID|ISBN|ISO|NO|NR|PN|RAL|REF|RFC|SKU|SN|USB|VDE|x)[.:]?+\W*+$"
)  # of an identifier
_PATH = regex.compile(r"^(?:[A-Za-z]:|~|\.\.?)?[/\\][^/\\]+[/\\]\S*$|^(?:[A-Za-z]:|~|\.\.?)[/\\]\S+$|^\\\\\S+$")
"""Of a file or a directory, perhaps without an extension: C:\\Users\\x, ~/notes, /usr/share."""
_READ = 5000  # characters that are split at once
_LONGEST_ABBREVIATION = 10  # with the character before it
ORDINAL_POINTS = {"bs", "cs", "da", "de", "et", "fi", "hr", "hu", "is", "lv", "no", "nb", "pl", "sk", "sl", "sr", "tr"}
"""Languages that write a point after an ordinal number: no sentence ends in "der 2. Weltkrieg"."""
_VOWEL = "[aeiouyáàâäãåāăąæéèêëēėęěíìîïīįıóòôöõøōőœúùûüūůűųýÿ]"
_NUMBER_AFTER_WORD = regex.compile(
    rf"(?<=(?:[!?…]|\p{{L}}{{2}}(?:{_VOWEL}|(?:{_VOWEL}\p{{L}}|\p{{L}}{_VOWEL})\p{{L}})\.)\s)\d+(?=\.?\s+\p{{L}})",
    regex.IGNORECASE,
)
"""A number after a word in Latin script that is no abbreviation: "läuft. 3 Hunde", but not "Abb. 3 zeigt"."""

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
    inside = {place for start, end in breaks for place in range(start + 1, end)}
    around = {place for each in breaks for place in each if place < len(text)}
    ends = sorted(around.union(_find_ends(text, primary)) - inside)
    spans = list(find_spans(text)) if ends else []
    start = last = index = 0
    has_upper = has_lower = False
    for end in ends:
        while index < len(spans) and spans[index].end <= end:
            index += 1
        divided = index < len(spans) and spans[index].start < end
        piece = text[last:end]
        has_upper, has_lower = has_upper or piece != piece.lower(), has_lower or piece != piece.upper()
        # The next letter is in lower case, as in "“No!” she said", in a text that is not all in lower case.
        continues = text[end : end + 1].islower() and (has_upper or not has_lower)
        if not (divided or continues or _ends_in_abbreviation(piece, primary)):
            yield start, end
            start, has_upper, has_lower = end, False, False
        last = end
    if start < len(text):
        yield start, len(text)


def _find_ends(text: str, language: str) -> Iterator[int]:
    """Where sentences end inside of a text, without its own end.

    The library knows no regions such as de-AT, and cannot read lone surrogates. It is slow for texts with many
    quotation marks, so that it reads long ones part by part, from the end of a sentence. In some of the languages with
    points after ordinal numbers, it lets no sentence begin with a number, so that it reads a letter instead.
    """
    from sentencex import get_sentence_boundaries

    start = 0
    while start < len(text):
        part = replace_surrogates(text[start : start + _READ])
        if language in ORDINAL_POINTS:
            part = _NUMBER_AFTER_WORD.sub(lambda match: "A" * len(match[0]), part)
        found = [start + sentence["end_index"] for sentence in get_sentence_boundaries(language, part)][:-1]
        yield from found
        start = found[-1] if found and start + _READ < len(text) else start + _READ


def _ends_in_abbreviation(text: str, language: str) -> bool:
    """Whether a text ends in a title before a name, or in the point of an ordinal number."""
    end = text.rstrip()[-_LONGEST_ABBREVIATION:]
    return bool(_TITLE.search(end) or (language in ORDINAL_POINTS and _ORDINAL.search(end)))
