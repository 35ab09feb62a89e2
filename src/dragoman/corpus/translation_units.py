"""What the readers of translation files in XML (TMX, XLIFF) have in common."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice
from typing import IO, TypeVar

import langcodes

from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.pair_text import join_lines, make_pair
from dragoman.corpus.xml_encoding import decode_xml
from dragoman.errors import OtherLanguagesError, counted
from dragoman.languages.codes import find_language
from dragoman.languages.scripts import has_no_spaces
from dragoman.markup.units import is_seam, is_segment
from dragoman.markup.xml import IllegalCharacters, Unit, XmlElement, XmlText, read_units, xml_text
from dragoman.text.normalization import replace_forbidden
from dragoman.text.placeholders import find_spans

FIRST_UNITS = 500
"""How many units are read to find the languages, and the most frequent variant of each."""

_CODES = {"bpt", "ept", "ph", "it", "ut", "sub", "x"}
"""Elements that stand for formatting codes instead of text (``sub`` is text within a code, such as a footnote)."""
_LINE_BREAKS = {"lb", "x-lb", "x-br"}
_SHOWN = 5  # languages in a message

Item = TypeVar("Item")


def read_file(
    stream: IO[bytes], name: str, encoding: str | None, units: Sequence[str], context: Collection[str]
) -> Iterator[Unit]:
    """The units of a translation file, as `read_units` returns them; characters that XML does not allow are counted."""
    illegal = IllegalCharacters()
    yield from read_units(decode_xml(stream, name, encoding), name, units, context, illegal)
    if illegal.count:
        warnings.warn(
            f"{name}: contains {counted(illegal.count, 'character')} that XML does not allow ({illegal.first}); "
            "U+001E is read as a hyphen, U+001F as a soft hyphen, and others as spaces",
            stacklevel=2,
        )


# Texts


def to_pair(source: XmlElement, target: XmlElement, place: str) -> Pair:
    """The texts of two segments on one line each; UserError with the place if a text is too long.

    Control characters become spaces: XML allows only those that many public corpora contain.
    """
    before, after = join_lines(segment_text(source)), join_lines(segment_text(target))
    return make_pair(replace_forbidden(before), replace_forbidden(after), place)


def segment_text(segment: XmlElement) -> str:
    """The text of a segment without formatting codes, of which only line breaks and placeholders are text."""
    if len(segment.children) == 1 and isinstance(only := segment.children[0], XmlText):
        return only.text
    text = ""
    after_code = False
    for node in segment.children:
        if isinstance(node, XmlText):
            # One space remains of those around a code.
            text += node.text.removeprefix(" ") if after_code and text.endswith(" ") else node.text
            after_code = False
            continue
        inner = _code_text(node) if node.name in _CODES else segment_text(node)
        if is_segment(node) and is_seam(text, inner) and not has_no_spaces([text]):
            text += " "
        text += inner
        after_code = not inner
    return text


def _code_text(code: XmlElement) -> str:
    """The text that a code stands for: a line break, or a placeholder such as ``%d``; otherwise none."""
    content = xml_text(code)
    if {code.attributes.get("type"), code.attributes.get("ctype")} & _LINE_BREAKS or content.startswith("<br"):
        return "\n"
    for text in (content, code.attributes.get("equiv-text", ""), code.attributes.get("equiv", "")):
        if text and [(span.start, span.end, span.kind) for span in find_spans(text)] == [(0, len(text), "placeholder")]:
            return text
    return ""


# Languages


class Variants:
    """Which tags of a file stand for a language, so that variants such as zh-Hans and zh-Hant are never mixed.

    These are the tag of the language itself, and of all others that `find_language` finds, the most frequent one. If
    the file has the first, the other one must have the same script.

    Args:
        language: The language that is wanted.
        counts: How often each tag occurs in the first units of the file.

    Attributes:
        has_exact: Whether the file has the language itself.
        chosen: The tags that were found to stand for it.
        others: How often each other variant was found.
    """

    def __init__(self, language: str, counts: Counter[str]) -> None:
        self._language = language
        matching = [tag for tag in counts if find_language(language, (tag,)) is not None]
        self._script = next((_variant(tag)[0] for tag in matching if self._is_exact(tag)), None)
        self.has_exact = self._script is not None
        sizes = Counter[tuple[str, str]]()
        for tag in matching:
            if not self._is_exact(tag) and self._script in (None, _variant(tag)[0]):
                sizes[_variant(tag)] += counts[tag]
        self._variant = max(sizes, key=lambda variant: sizes[variant], default=None)
        self._ranks: dict[str, int] = {}
        self.chosen: dict[str, None] = {}
        self.others = Counter[str]()

    def find(self, tags: Iterable[str]) -> str | None:
        """The tag in a unit that stands for the language; None if it has none."""
        found = None
        for tag in tags:
            if tag not in self._ranks:
                self._ranks[tag] = self._rank(tag)
            if (rank := self._ranks[tag]) == 0:
                found = tag
            elif rank == 1:
                found = found or tag
            elif rank == 2:
                self.others[tag] += 1
        if found:
            self.chosen[found] = None
        return found

    def _rank(self, tag: str) -> int:
        """0 for the language itself, 1 for its chosen variant, 2 for another one, and 3 for other languages."""
        if find_language(self._language, (tag,)) is None:
            return 3
        if self._is_exact(tag):
            return 0
        if self._variant is None and self._script in (None, _variant(tag)[0]):  # the first units had none
            self._variant = _variant(tag)
        return 1 if _variant(tag) == self._variant else 2

    def _is_exact(self, tag: str) -> bool:
        return _normalized(tag) == _normalized(self._language)


def _normalized(tag: str) -> str:
    return tag.strip().replace("_", "-").lower()


@cache
def _variant(tag: str) -> tuple[str, str]:
    """The script and the region of a language tag: of zh-TW and zh-Hant, both are Hant and TW."""
    try:
        full = langcodes.Language.get(_normalized(tag)).maximize()
    except ValueError:
        return "", _normalized(tag)
    return full.script or "", full.territory or ""


def choose_variants(
    units: Iterator[Item], languages: Languages, tags_of: Callable[[Item], Iterable[str]]
) -> tuple[Iterator[Item], tuple[Variants, Variants]]:
    """The same units, and what stands for each language in them.

    Args:
        units: The units of a file, of which only the first are read.
        languages: The languages that are wanted.
        tags_of: The language tags of a unit.
    """
    first = list(islice(units, FIRST_UNITS))
    counts = Counter(tag for unit in first for tag in tags_of(unit))
    return chain(first, units), (Variants(languages[0], counts), Variants(languages[1], counts))


def warn_of_variants(variants: Iterable[Variants], languages: Languages, name: str) -> None:
    """Say which variant of a language was used, if there are others."""
    for number, each in enumerate(variants):
        if each.others and each.chosen:
            others = ", ".join(f"{tag} ({counted(count, 'text')})" for tag, count in each.others.most_common(_SHOWN))
            wanted = list(languages)
            wanted[number] = next(iter(each.others))
            reason = "" if each.has_exact else ", the most frequent variant"
            verb = "is" if len(each.others) == 1 else "are"
            warnings.warn(
                f"{name}: {languages[number]} stands for {', '.join(each.chosen)}{reason}; {others} {verb} not used; "
                f"to choose another one, write --languages {':'.join(wanted)}",
                stacklevel=2,
            )


def require_languages(matched: bool, found: Counter[str], languages: Languages, name: str, noun: str) -> None:
    """Check that a file had pairs in the languages.

    Raises:
        OtherLanguagesError: It had none; lists the most frequent languages that were found.
    """
    if matched:
        return
    if not found:
        raise OtherLanguagesError(f"{name}: no {noun} with text in two languages")
    shown = ", ".join(f"{language} ({counted(number, noun)})" for language, number in found.most_common(_SHOWN))
    more = ", …" if len(found) > _SHOWN else ""
    raise OtherLanguagesError(f"{name}: no {noun} in {languages[0]} and {languages[1]}, only in {shown}{more}")
