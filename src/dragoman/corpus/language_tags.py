"""Language tags such as ``de``, ``de-AT`` and ``de_AT``, and the words that name languages in header rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache

import langcodes
from language_data.names import code_to_names

_WORD = re.compile(r"\b[a-z]{2,3}[-_](?:[a-z]{2}|[a-z]{4}|\d{3})\b|[^\s_.,:;()\[\]/-]+")
_TAG = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|\d{3}))?")
_MORE_NAMES = {"castellano": "es", "ingilizce": "en", "汉语": "zh", "việt": "vi"}
"""Names that are not in the data of langcodes."""

SOURCE_WORDS = frozenset(["source", "src", "quelle", "quelltext", "ausgangstext", "original", "term"])
TARGET_WORDS = frozenset(["target", "tgt", "trg", "ziel", "zieltext", "translation", "translated", "übersetzung"])
_OTHER_WORDS = frozenset(
    [
        "text",
        "texts",
        "sentence",
        "sentences",
        "segment",
        "string",
        "language",
        "lang",
        "satz",
        "sprache",
        "id",
        "nr",
        "no",
        "line",
        "number",
        "comment",
    ]
)


@lru_cache(maxsize=4096)
def find_language(wanted: str, available: tuple[str, ...]) -> str | None:
    """The tag that stands for a language: the same, or else one with a region (``de-AT``), or else one without.

    Case, and hyphens or underscores, make no difference. ``de-DE`` does not stand for ``de-AT``.
    """
    exact = _normalize(wanted)
    tags = {tag: _normalize(tag) for tag in available}
    for accept in (exact.__eq__, lambda tag: tag.startswith(f"{exact}-"), lambda tag: exact.startswith(f"{tag}-")):
        if found := next((tag for tag, normalized in tags.items() if normalized and accept(normalized)), None):
            return found
    return None


def names_language(cell: str, language: str) -> bool:
    """Whether a cell of a header row names a language: ``de``, ``de-AT``, ``German``, ``text_de``, ``Deutsch (de)``."""
    return any(
        known_language(word) == _normalize(language).partition("-")[0] or find_language(language, (word,)) is not None
        for word in _words(cell)
    )


def looks_like_header(values: Iterable[str], languages: Iterable[str]) -> bool:
    """Whether every cell consists of words that header rows use, and none can be a sentence."""
    known = SOURCE_WORDS | TARGET_WORDS | _OTHER_WORDS
    languages = tuple(languages)
    words = [_words(cell) for cell in values]
    return bool(words) and all(
        cell
        and all(
            word in known or _language_named(word) or any(find_language(each, (word,)) for each in languages)
            for word in cell
        )
        for cell in words
    )


def known_language(word: str) -> str | None:
    """The code of two letters of a language, given this code or a name in any language; None for other words.

    Languages whose codes have three letters are not known: some of their names are words, such as Even, Are and So.
    """
    if len(word) == 2 and langcodes.tag_is_valid(word):
        return word.lower()
    return _language_named(word)


@lru_cache(maxsize=4096)
def _language_named(word: str) -> str | None:
    """The code of two letters of a language with a name; the library also finds longer words that start with one."""
    name = word.casefold()
    if name in _MORE_NAMES:
        return _MORE_NAMES[name]
    try:
        code = langcodes.find(name).language or ""
    except LookupError:
        return None
    return code if len(code) == 2 and name in _names_of(code) else None


@cache
def _names_of(code: str) -> frozenset[str]:
    return frozenset(map(str.casefold, code_to_names(code).values()))


def languages_of_header(names: Iterable[str]) -> list[str]:
    """The codes of the two columns that are named after languages, such as ``de-DE`` and ``English``, or an empty list.

    Words such as ``id``, which is also a code, do not name a language.
    """
    words = (_without_region(name.strip()) for name in names)
    found = [code for word in words if word.casefold() not in _OTHER_WORDS and (code := known_language(word))]
    return found if len(found) == len(set(found)) == 2 else []


def _without_region(word: str) -> str:
    return re.split("[-_]", word)[0] if looks_like_tag(word) else word


def looks_like_tag(text: str) -> bool:
    """Whether a word has the form of a language tag: ``de``, ``deu`` or ``pt-BR``."""
    return _TAG.fullmatch(text) is not None


def has_word(cell: str, words: frozenset[str]) -> bool:
    """Whether one of the words occurs in a cell, such as ``source`` in ``source_text``."""
    return any(word in words for word in _words(cell))


def _words(cell: str) -> list[str]:
    """``Text (de-AT)`` as ``["text", "de-at"]``, and ``text_de`` as ``["text", "de"]``."""
    if len(cell) > 40:  # a sentence
        return []
    return _WORD.findall(cell.casefold())


def _normalize(tag: str) -> str:
    return tag.strip().replace("_", "-").lower()
