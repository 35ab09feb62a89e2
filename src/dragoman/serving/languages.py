"""Language codes as clients write them."""

from __future__ import annotations

from collections.abc import Iterable

ALIASES = {"pb": "pt-br", "zh": "zh-hans", "zt": "zh-hant"}
"""Codes of LibreTranslate -> the usual codes, in lower case."""


def find_language(code: str, served: Iterable[str]) -> str | None:
    """The served language that a code means: the same one, one with another region, or None.

    ``EN-US`` means ``en`` where that is served, and ``pt`` means ``pt-BR`` where no other Portuguese is.
    """
    wanted = code.strip().replace("_", "-").lower()
    languages = {language.replace("_", "-").lower(): language for language in served}
    for candidate in (wanted, ALIASES.get(wanted, wanted), wanted.partition("-")[0]):
        if candidate in languages:
            return languages[candidate]
    same = [name for lower, name in languages.items() if lower.partition("-")[0] == wanted]
    return same[0] if len(same) == 1 else None


def language_name(code: str) -> str:
    """The English name of a language; the code itself if it is not known."""
    from translate.lang.data import languages

    lower = code.replace("_", "-").partition("-")
    for key in (lower[0].lower() + (f"_{lower[2].upper()}" if lower[2] else ""), lower[0].lower()):
        if key in languages:
            return str(languages[key][0]).partition(";")[0]
    return code
