"""Language codes as clients write them."""

from __future__ import annotations

from collections.abc import Iterable

import langcodes
from langcodes.tag_parser import LanguageTagError

from dragoman.corpus.language_tags import find_language
from dragoman.text.world_languages import primary_language

ALIASES = {"pb": "pt-BR", "zh": "zh-Hans", "zt": "zh-Hant"}
"""Codes of LibreTranslate -> the usual codes."""


def match_language(code: str, served: Iterable[str]) -> str | None:
    """The served language that a code means: the same one, one with another region, or None.

    ``EN-US`` and ``eng`` mean ``en`` where that is served, and ``pt`` means ``pt-BR`` where no other Portuguese is.
    """
    languages, code = tuple(served), code.strip()
    spellings = (ALIASES.get(code.lower(), code), code, *([primary_language(code)] if len(code) == 3 else []))
    return next(filter(None, (find_language(each, languages) for each in spellings)), None)


def language_name(code: str) -> str:
    """The English name of a language; the code itself if it is not known."""
    try:
        language = langcodes.get(code)
    except LanguageTagError:
        return code
    return language.display_name() if language.language and language.is_valid() else code
