"""A text as the segments that are translated at once, and its translation put together from theirs.

`PlainText` has the lines and lists of a text, whose paragraphs are split into sentences (`split_paragraph`). What is
too long for a model is divided (`divide`), and `join_translations` joins the parts.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import regex

from dragoman.documents.segment import Segment
from dragoman.languages.codes import primary_language
from dragoman.languages.scripts import WITHOUT_SPACES, begins_small
from dragoman.languages.sentence_marks import (
    AFTER_BRACKET,
    AFTER_COPIED,
    AFTER_LIST,
    AFTER_UNIT,
    BETWEEN_SENTENCES,
    CAPITAL_NOUNS,
    ORDINAL_POINTS,
    SENTENCE_ENDS,
    UNSPACED_ENDS,
    after_closing,
    begins_inside,
    ends_in_abbreviation,
    follows_end,
    sentence_continues,
)
from dragoman.text.link import Link
from dragoman.text.match import worst_match
from dragoman.text.normalization import replace_surrogates, visible_positions
from dragoman.text.placeholders import Span, find_spans, text_between
from dragoman.text.plain_numbers import roman_value
from dragoman.text.translation import Translation

if TYPE_CHECKING:
    from dragoman.corpus.memory import TranslationMemory

_BREAKS = regex.compile(
    rf"(?<=[:{SENTENCE_ENDS}])\s*(?:</?(?i:br|p|div|li|[uo]l|t[rdh]|h[1-6])\b[^<>]*+>\s*+)++(?!\p{{Ll}})"
)
"""Tags of HTML that begin a line, after the end of a sentence, so that they belong to none."""
_IDENTIFIER = regex.compile(r"^\W*+(?=\S*\d)(?:\p{Lu}++|\p{Ll}(?!\p{Ll})|\d++|[-_./:#+－＿．／：＃＋]++)++\W*+$")
_LABEL = regex.compile(
    r"^\W*+(?:ART|DIN|EAN|EN|GTIN|HS|IEC|ID|ISBN|ISO|NO|NR|PN|RAL|REF|RFC|SKU|SN|USB|VDE|x)[.:]?+\W*+$"
)  # of an identifier
_PATH = regex.compile(r"^(?:[A-Za-z]:|~|\.\.?)?[/\\][^/\\]+[/\\]\S*$|^(?:[A-Za-z]:|~|\.\.?)[/\\]\S+$|^\\\\\S+$")
"""Of a file or a directory, perhaps without an extension: C:\\Users\\x, ~/notes, /usr/share."""
_MAY_END = regex.compile(rf"[{SENTENCE_ENDS}\n](?!\Z)")
_ESCAPED_BREAK = regex.compile(r"(?:\\r)?\\[nrt]")
_NUMBER = regex.compile(r"(?<=\s)\d+(?=\.?\s+\p{L})")
_UNSPACED_END = regex.compile(UNSPACED_ENDS, regex.VERSION1)

_READ = 5000  # characters that are split at once

WholeLines: TypeAlias = bool | Container[str]
"""Whether lines are not split into sentences, or which ones, such as those that a translation memory contains."""


def split_paragraph(text: str, language: str, whole_lines: WholeLines) -> list[tuple[int, int]]:
    """The start and the end of each text in a paragraph that is translated at once: each sentence, or all of it.

    A tab separates texts, as in tables and menus, and so do line breaks and tabs as programs write them: \\n.
    """
    if is_kept_whole(text, whole_lines):
        return trimmed(text)
    spans, start = list[tuple[int, int]](), 0
    for end, following in [*_breaks(text), (len(text), len(text))]:
        part = text[start:end]
        whole = whole_lines is True or is_kept_whole(part, whole_lines)
        spans += [(start + a, start + b) for a, b in (trimmed(part) if whole else split_sentences(part, language))]
        start = following
    return spans


def _breaks(text: str) -> list[tuple[int, int]]:
    """The start and the end of each tab, and of each line break and tab that is written as in a program."""
    tabs = [(place, place + 1) for place, character in enumerate(text) if character == "\t"]
    spans = find_spans(text) if "\\" in text else ()
    escaped = [(start, end) for start, end, _ in spans if _ESCAPED_BREAK.fullmatch(text, start, end)]
    # between spaces, it is mentioned: "lines end with \\n and columns with \\t"
    mentioned = [
        each for each in escaped if text[each[0] - 1 : each[0]].isspace() and text[each[1] : each[1] + 1].isspace()
    ]
    return sorted([*tabs, *(each for each in escaped if each not in mentioned)])


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
    found = {end for end in _closed_ends(text, _find_ends(readable, primary)) if end < len(text)}
    found.update(_other_ends(text, primary, spans))
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
        continues = begins_inside(text, end) and end not in starts and (has_upper or not has_lower)
        if not (divided or continues or sentence_continues(text, end) or ends_in_abbreviation(piece, primary)):
            yield start, end
            start, has_upper, has_lower = end, False, False
        last = end
    if start < len(text):
        yield start, len(text)


def _closed_ends(text: str, ends: Iterable[int]) -> Iterator[int]:
    """Where sentences end, with closing brackets and further marks; ends inside of these are skipped."""
    last = 0
    for end in ends:
        if end >= last:
            last = after_closing(text, end)
            yield last


def _other_ends(text: str, language: str, spans: Iterable[Span]) -> Iterator[int]:
    """Where sentences end for certain, although `sentencex` takes the last word for an abbreviation."""
    patterns = (AFTER_LIST,) if language in CAPITAL_NOUNS else (AFTER_LIST, AFTER_UNIT)
    yield from (match.end() for pattern in patterns for match in pattern.finditer(text))
    yield from (match.end() for match in AFTER_BRACKET.finditer(text) if follows_end(text, match.end()))
    for span in spans:
        if span.kind == "link" and (match := AFTER_COPIED.match(text, span.end)):
            yield match.end()


def _may_begin_sentence(text: str, span: Span) -> bool:
    return span.kind in ("placeholder", "link", "tag") and not text.startswith("</", span.start)


def _prepare(text: str, language: str, starts: Iterable[Span]) -> str:
    """A text of the same length that `sentencex` splits where it would not split the original.

    The library knows only some of the marks that need no space after them. In some languages, it lets no sentence begin
    with a number, a placeholder or a URL, so that it reads letters instead. It cannot read lone surrogates.

    Args:
        text: The text.
        language: The code of the language without its region.
        starts: The placeholders and URLs that begin a sentence.
    """
    characters = list(_UNSPACED_END.sub("。", replace_surrogates(text).replace("፡፡", "፡።")))
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


_SHAPES = r"\p{Block=Geometric_Shapes}\p{Block=Dingbats}\p{Block=Miscellaneous_Symbols}\p{Block=Arrows}"
_BULLETS = regex.compile(
    rf"\s*(?:(?:[-*+•‣⁃⁌⁍∙◦–—·>{_SHAPES}]|\#{{1,6}})\s+(?=\S)|(?![○◯△□◇])[・※{_SHAPES}]\s*(?=[{WITHOUT_SPACES}]))*"
)
_HAN_NUMBER = "[一二三四五六七八九十]"
_ITEM_LABEL = regex.compile(
    rf"(?:[(（]?(?:\d{{1,3}}|\p{{L}}\p{{M}}?|[ivx]{{2,5}}|{_HAN_NUMBER}{{1,3}})|(?P<same>\p{{L}})(?P=same){{1,2}}|الف)(?:\)\s+|）\s*)(?=\S)"
    rf"|{_HAN_NUMBER}{{1,3}}[、．]\s*(?=\S)(?!{_HAN_NUMBER})|[①-⓿㈀-㈞㈠-㈩㉠-㉻㊀-㊉]\s*(?=\S)"
)
_ITEM_NUMBER = regex.compile(
    r"(?P<parts>\d{1,3}[.．])*(?:(?P<number>\d{1,3}|[\p{No}--\p{Script=Common}]{1,2}|\p{Nl})"
    r"|(?P<letter>\p{L})\p{M}?|(?P<roman>[IVXLC]{2,6}|[ivxlc]{2,6}))"
    rf"(?:\.\s+|．\s*|(?P<dash>\s?-\s+(?!\d))|(?<=\d){UNSPACED_ENDS}\s*)(?=\S)",
    regex.VERSION1,
)
_HANGUL = "가나다라마바사아자차카타파하"
_NEAR_LETTERS = 5
"""The distance of two letters in Unicode that follow each other in an alphabet, at most."""

ITEM_LINES = 10
"""Lines that an item of a list may have. In a long file of unrelated sentences, far more may separate two ordinals."""


class PlainText:
    """A text whose lines are split into sentences; a `SegmentedDocument`.

    Spaces, line breaks, and the bullets and numbers of lists are between the segments, so they are kept. A line without
    a letter or a number has no segment.

    Args:
        text: Any text.
        language: Its language, such as "de".
        whole_lines: Whether lines are not split, or which texts are not, see `TextTranslator.whole_lines`.
    """

    def __init__(self, text: str, language: str, whole_lines: WholeLines = False) -> None:
        self._text = text
        self._spans = list(find_text_spans(text, language, whole_lines))
        self.segments: Sequence[Segment] = [Segment(text[start:end]) for start, end in self._spans]

    def assemble(self, translations: Sequence[Translation]) -> str:
        """The text with the translation of each segment."""
        return join_translations(self._text, self._spans, [translation.text for translation in translations])


def begins_item(line: str) -> bool:
    """Whether a line without indentation begins with a bullet, or with the number or letter of a list."""
    bullets = _BULLETS.match(line)
    number = _ITEM_NUMBER.match(line)
    return bool(
        (bullets and bullets.end()) or _ITEM_LABEL.match(line) or (number and not (number["dash"] or number["roman"]))
    )


def find_items(lines: Sequence[str]) -> list[bool]:
    """Whether each line without indentation is an item of a list: with a bullet, or a number next to others.

    Unlike in `begins_item`, a number or a letter alone may be a date or an initial at the start of a broken line.
    """
    return [start > 0 for start in _content_starts(lines, numbers_are_doubtful=True)]


def find_in_memory(memory: TranslationMemory, text: str) -> str | None:
    """The translation of a segment; if the memory lacks an item of a list with its number, that without the number."""
    target = memory.find(text)
    if target is not None or not (number := _ITEM_NUMBER.match(text)):
        return target
    item = memory.find(text[number.end() :])
    return None if item is None else f"{number[0]}{item}"


def find_text_spans(text: str, language: str, whole_lines: WholeLines) -> Iterator[tuple[int, int]]:
    """The start and the end of each segment of a text; see `PlainText`."""
    if is_kept_whole(text, whole_lines):
        yield from trimmed(text)
        return
    lines, line_start = text.splitlines(keepends=True), 0
    for line, spans in zip(lines, find_spans_of_lines(lines, language, whole_lines), strict=True):
        for start, end in spans:
            yield line_start + start, line_start + end
        line_start += len(line)


def find_spans_of_lines(lines: Sequence[str], language: str, whole_lines: WholeLines) -> list[list[tuple[int, int]]]:
    """The start and the end of each segment in each of the lines of a text.

    Line breaks within a line, as an entry of a translation memory may have, are spaces.
    """
    found: list[list[tuple[int, int]]] = []
    doubtful = primary_language(language) in ORDINAL_POINTS
    for line, content in zip(lines, _content_starts(lines, doubtful), strict=True):
        if is_kept_whole(line, whole_lines) or not has_words(line[content:]):
            content = 0  # a segment of a memory with its number, or "1. 😀": the number is all that the line contains
        found.append([(content + a, content + b) for a, b in split_paragraph(line[content:], language, whole_lines)])
    return found


def _content_starts(lines: Sequence[str], numbers_are_doubtful: bool) -> list[int]:
    """Where the text of each line begins, after its indentation, bullets, and number or letter.

    In languages that write a point after an ordinal number, "2." may be one. It is the number of a list if it follows
    the number of a line not far above, or if the line before or after it has a number too. The same holds for "2 -"
    in all languages. "B." may be an initial, and "IV." an ordinal, if no line near has the next one.
    """
    starts: list[int] = []
    numbered: list[_NumberedLine] = []
    lettered: list[_NumberedLine] = []
    romans: list[_NumberedLine] = []
    rank = 0
    for index, line in enumerate(lines):
        bullets = _BULLETS.match(line)
        start = bullets.end() if bullets else 0
        rank += bool(line.strip())
        if found := _ITEM_NUMBER.match(line, start):
            letter = found["letter"]
            if (numeral := found["roman"] or letter) and (value := roman_value(numeral.upper())):
                romans.append(_NumberedLine(index, rank, value, found.end(), True))
            if letter:
                lettered.append(_NumberedLine(index, rank, _place_in_alphabet(letter), found.end(), True))
            elif not numeral:
                is_date = numbers_are_doubtful and begins_small(line[found.end() :])  # "3.10. ist"
                if found["parts"] and not is_date:
                    start = found.end()
                is_doubtful = numbers_are_doubtful or bool(found["dash"])
                numbered.append(_NumberedLine(index, rank, _value(found["number"]), found.end(), is_doubtful))
        elif label := _ITEM_LABEL.match(line, start):
            start = label.end()
        starts.append(start)
    listed = {each for pair in pairwise(numbered) if _is_list(*pair) for each in pair}
    listed.update(each for pair in pairwise(lettered) if _follow_in_alphabet(*pair) for each in pair)
    listed.update(_find_following(romans))
    for each in [*numbered, *lettered, *romans]:
        if not each.is_doubtful or each in listed:
            starts[each.line] = each.end
    return starts


class _NumberedLine(NamedTuple):
    """A line that begins with a number or a letter; `rank` counts the lines that are not empty, `end` is after it.

    It is an item of a list only if another line is one, if `is_doubtful`.
    """

    line: int
    rank: int
    number: int
    end: int
    is_doubtful: bool


def _value(number: str) -> int:
    """What the digits or numerals of a script mean."""
    return int(number) if number.isdecimal() else int(sum(map(unicodedata.numeric, number)))


def _is_list(first: _NumberedLine, second: _NumberedLine) -> bool:
    return second.rank - first.rank == 1 or _is_next(first, second)


def _is_next(first: _NumberedLine, second: _NumberedLine) -> bool:
    return second.rank - first.rank <= ITEM_LINES and second.number == first.number + 1


def _find_following(items: Iterable[_NumberedLine]) -> Iterator[_NumberedLine]:
    """The lines with a number that is followed by the next one, and with the next one; others may be between them."""
    last: dict[int, _NumberedLine] = {}
    for item in items:
        if (before := last.get(item.number - 1)) and _is_next(before, item):
            yield from (before, item)
        last[item.number] = item


def _place_in_alphabet(letter: str) -> int:
    """Where a letter is in its alphabet; that of Korean lists consists of syllables."""
    place = _HANGUL.find(letter)
    return ord(letter) if place < 0 else place


def _follow_in_alphabet(first: _NumberedLine, second: _NumberedLine) -> bool:
    return second.rank == first.rank + 1 and 0 < second.number - first.number <= _NEAR_LETTERS


_AFTER_CLAUSE = regex.compile(r"(?<=[,;:،؛])\s+(?=\S)|(?<!\s)\s++(?=[–—-]\s)|(?<=[、，；：])(?=\S)")
_SPACE = regex.compile(r"(?<!\s)\s++(?=\S)")
_CHARACTER = regex.compile(r"\X")  # with its accents
MIN_SHARE = 0.2  # of the characters, in the shorter of the two parts around a punctuation mark
MOST_ACCENTS = 100  # of one character; a letter of any language has fewer

Cut = tuple[int, int]
"""Where the first part ends and the second one starts."""


def divide(text: str, fits: Callable[[str], bool]) -> list[tuple[int, int]]:
    """The start and the end of parts that fit, in order, without the spaces between them; one part if the text fits.

    A text is divided after the sentence or clause that ends nearest to its middle, otherwise at a space, and only if
    there is none, inside a word. Placeholders, URLs and numbers stay in one part as long as they fit.
    """
    return [(0, len(text))] if fits(text) else list(_divide(text, 0, len(text), fits))


def _divide(text: str, start: int, end: int, fits: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    if fits(text[start:end]) or (cut := _best_cut(text[start:end])) is None:
        yield start, end
        return
    first_end, second_start = cut
    yield from _divide(text, start, start + first_end, fits)
    yield from _divide(text, start + second_start, end, fits)


def _best_cut(text: str) -> Cut | None:
    """The cut nearest to the middle among those of the best kind; None for a single character."""
    spans = [(span.start, span.end) for span in find_spans(text)]
    for pattern, share in ((BETWEEN_SENTENCES, MIN_SHARE), (_AFTER_CLAUSE, MIN_SHARE), (_SPACE, 0)):
        cuts = (match.span() for match in pattern.finditer(text))
        if cut := _nearest_cut(text, cuts, spans, share):
            return cut
    edges = {edge for span in spans for edge in span}
    characters = [(place, place) for place in sorted({*_ends_of_characters(text), *edges})]
    middle = len(text) // 2, len(text) // 2
    return (
        _nearest_cut(text, characters, spans)
        or _nearest_cut(text, characters, ())
        or (middle if len(text) > MOST_ACCENTS else None)
    )


def _ends_of_characters(text: str) -> Iterator[int]:
    """Where characters end near the middle; a search of a whole text would be slow if it consists of flags."""
    start = max(0, len(text) // 2 - MOST_ACCENTS)
    end = start + 2 * MOST_ACCENTS
    for match in _CHARACTER.finditer(text, start, end):
        if match.end() < min(end, len(text)):
            yield match.end()


def _nearest_cut(text: str, cuts: Iterable[Cut], spans: Sequence[tuple[int, int]], share: float = 0) -> Cut | None:
    """The cut outside of spans that is nearest to the middle, if both parts have a share of the text."""

    def is_outside(cut: Cut) -> bool:
        index = bisect_left(spans, (cut[1],)) - 1  # the last span that begins before the end of the cut
        return index < 0 or spans[index][1] <= cut[0]

    margin = share * len(text)
    possible = [cut for cut in cuts if margin < cut[0] < len(text) - margin and is_outside(cut)]
    return min(possible, key=lambda cut: abs(sum(cut) - len(text)), default=None)


CountTokens = Callable[[str], int]
"""The number of tokens of a text, at least 1."""


class DividedSegments:
    """Segments as parts of at most so many tokens.

    What a model would translate at once stays together if it is not longer, because a text is always divided at the
    same places.

    Args:
        segments: The segments.
        count_tokens: How long a text is.
        most: Maximum number of tokens of a part, unless it is a single character.

    Attributes:
        parts: The parts of all segments, in order.
        sizes: The number of tokens of each part.
    """

    def __init__(self, segments: Sequence[Segment], count_tokens: CountTokens, most: int) -> None:
        counts: dict[str, int] = {}

        def count(text: str) -> int:
            if text not in counts:
                counts[text] = count_tokens(text)
            return counts[text]

        self._segments = segments
        self._spans = [divide(segment.text, lambda part: count(part) <= most) for segment in segments]
        self.parts = [
            segment if end - start == len(segment.text) else replace(segment, text=segment.text[start:end])
            for segment, spans in zip(segments, self._spans, strict=True)
            for start, end in spans
        ]
        self.sizes = [count(part.text) for part in self.parts]

    def join(self, translations: Sequence[Translation]) -> list[Translation]:
        """The translation of each segment, given those of the parts."""
        remaining = iter(translations)
        return [
            join_parts(segment.text, spans, list(islice(remaining, len(spans)))) if len(spans) > 1 else next(remaining)
            for segment, spans in zip(self._segments, self._spans, strict=True)
        ]


_NEEDS_NO_SPACE = regex.compile(rf"[{WITHOUT_SPACES}\u3000-\u303f\uff01-\uff65]")


def join_translations(text: str, spans: Sequence[tuple[int, int]], translations: Sequence[str]) -> str:
    """A text with a translation in place of each span, in order; all else is kept.

    A space is added between spans without one if the source needs none there but the translation does, for example
    from Chinese to English. If a translation lacks the final point of its sentence, and another sentence follows on the
    line, the point is added, because the sentences would run together.
    """
    return join_with_places(text, spans, translations)[0]


def join_parts(text: str, spans: Sequence[tuple[int, int]], translations: Sequence[Translation]) -> Translation:
    """The translation of a text whose parts were translated separately; see `dragoman.TextTranslator.stream`."""
    if len(translations) == 1 and spans[0] == (0, len(text)):
        return translations[0]
    texts = [each.text for each in translations]
    alternatives = min((len(each.alternatives) for each in translations), default=0)
    ranked = [[each.alternatives[rank] for each in translations] for rank in range(alternatives)]
    return Translation(
        text=join_translations(text, spans, texts),
        tokens=[token for each in translations for token in each.tokens],
        log_probabilities=[value for each in translations for value in each.log_probabilities],
        log_probability=sum(each.log_probability for each in translations),
        score=sum(each.score for each in translations),
        truncated=any(each.truncated for each in translations),
        alternatives=[join_parts(text, spans, each) for each in ranked],
        problems=[problem for each in translations for problem in each.problems],
        terms=list(dict.fromkeys(term for each in translations for term in each.terms)),
        match=worst_match(each.match for each in translations),
        confidence=min((each.confidence for each in translations if each.confidence is not None), default=None),
        links=join_links(text, spans, texts, [each.links for each in translations]),
    )


def join_links(
    text: str, spans: Sequence[tuple[int, int]], translations: Sequence[str], links: Sequence[Sequence[Link]]
) -> tuple[Link, ...]:
    """The links of a text whose parts were translated separately, given those of each part."""
    places = join_with_places(text, spans, translations)[1]
    return tuple(
        Link(start + link.source_start, start + link.source_end, place + link.target_start, place + link.target_end)
        for (start, _), place, each in zip(spans, places, links, strict=True)
        for link in each
    )


def with_invisible(text: str, links: Sequence[Link]) -> tuple[Link, ...]:
    """The links of a text, given those of the text without invisible characters, which was translated."""
    positions = visible_positions(text)
    return tuple(
        link._replace(source_start=positions[link.source_start], source_end=positions[link.source_end - 1] + 1)
        for link in links
    )


def join_with_places(text: str, spans: Sequence[tuple[int, int]], translations: Sequence[str]) -> tuple[str, list[int]]:
    """The joined text as `join_translations` returns it, and where each translation begins in it."""
    assert len(spans) == len(translations), "one translation for each span"
    parts: list[str] = []
    places: list[int] = []
    last = length = 0
    for index, ((start, end), translation) in enumerate(zip(spans, translations, strict=True)):
        separator = " " * (index > 0 and start == last and lost_separator(text[last - 1], parts[-1]))
        if _is_followed(text, spans, index):
            translation += _lost_stop(text[end - 1], translation)
        parts += [separator, text[last:start], translation]
        places.append(length + len(separator) + start - last)
        length, last = places[-1] + len(translation), end
    return "".join([*parts, text[last:]]), places


def add_stops(text: str, spans: Sequence[tuple[int, int]], translations: Sequence[Translation]) -> list[Translation]:
    """The translations of the spans of a text, with the final points that `join_translations` would add."""
    return [
        add_stop(text[slice(*spans[index])], each) if _is_followed(text, spans, index) else each
        for index, each in enumerate(translations)
    ]


def add_stop(source: str, translated: Translation) -> Translation:
    """The translation of a sentence before another one, with the final point that it lost, and its link."""
    if not (stop := _lost_stop(source[-1:], translated.text)):
        return translated
    end = len(translated.text)
    links = (*translated.links, Link(len(source) - 1, len(source), end, end + 1)) if translated.links else ()
    return replace(translated, text=translated.text + stop, links=links)


def _is_followed(text: str, spans: Sequence[tuple[int, int]], index: int) -> bool:
    """Whether another span follows a span on the same line."""
    return index + 1 < len(spans) and "\n" not in text[spans[index][1] : spans[index + 1][0]]


def lost_separator(source_end: str, translation: str) -> bool:
    """Whether the source needs no space after its last character, but the translation does."""
    return bool(_NEEDS_NO_SPACE.match(source_end)) and not _NEEDS_NO_SPACE.match(translation[-1:])


def _lost_stop(source_end: str, translation: str) -> str:
    """The last character of the source if it ends a sentence, and the translation ends in a letter or a digit."""
    end = translation[-1:]
    has_stops = end.isdigit() or end.lower() != end.upper()  # scripts without case have other ones
    return source_end if source_end in ".!?" and has_stops else ""
