"""Codes of languages such as ``de``, ``deu``, ``de-AT`` and ``de_AT``, their names, and comparing them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

import langcodes
from langcodes.tag_parser import LanguageTagError
from language_data.names import code_to_names

_TAG = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|\d{3}))?")
_MACHINE_TRANSLATED = re.compile(r"(\w+(?:[-_]\w+)*?)-t-\w+(?:[-_]\w+)*-t0-\w+")
_OTHER_CODES = {"pb": "pt-br", "zh": "zh-hans", "zt": "zh-hant"}
"""Codes of LibreTranslate, and what they mean where that is available."""

_NORWEGIAN = {"nb", "nn"}
"""Codes that langcodes does not replace by that of their macrolanguage.

Its table of all macrolanguages (IANA) has them, but also Malay for Indonesian, and Serbo-Croatian for Croatian.
"""

_MORE_NAMES = {"castellano": "es", "ingilizce": "en", "汉语": "zh", "việt": "vi"}
"""Names that are not in the data of langcodes."""

_SEVERAL_NAMES = 5
_LOCALE_SCRIPTS = {"latin": "Latn", "cyrillic": "Cyrl", "devanagari": "Deva", "arabic": "Arab"}


@cache
def primary_language(language: str) -> str:
    """The code of a language without its region or script, two letters if it has them: "de" for "de-AT" and "deu".

    The most usual member of a group of languages has the code of the group: "zh" for "cmn".
    """
    code = without_region(language)
    if len(code) != 3:
        return code
    try:
        short = langcodes.get(langcodes.standardize_tag(code, macro=True)).language or ""
    except LanguageTagError:
        return code
    return short if len(short) == 2 else code


def without_region(tag: str) -> str:
    """The first part of a tag in lower case: "de" for "de-AT", and "deu" for "deu"."""
    return re.split("[-_]", tag, maxsplit=1)[0].lower()


@lru_cache(maxsize=4096)
def find_language(wanted: str, available: tuple[str, ...]) -> str | None:
    """The code that stands for a language among others, or None.

    It is the same code, or else one with a region or script (``de-AT`` for ``de``), or else one without (``de`` for
    ``de-AT``), or else one with another number of letters (``de`` for ``deu``), or else one that
    means the same (``zh-Hant`` for ``zh-TW``). Case, and hyphens or underscores, make no difference. ``de-DE`` does not
    stand for ``de-AT``.
    """
    code = _normalize(wanted)
    tags = {tag: normalized for tag in available if (normalized := _normalize(tag))}
    shortened = {tag: _shorten(normalized) for tag, normalized in tags.items()}
    for tag, normalized in tags.items():
        if normalized == code:
            return tag
    candidates = (_OTHER_CODES.get(code, code), tags), (code, tags), (_shorten(code), tags), (code, shortened)
    found = next(filter(None, (_find_tag(one, among) for one, among in candidates)), None)
    same = (tag for tag, normalized in tags.items() if "-" in code and _complete(normalized) == _complete(code) != "")
    return found or next(same, None)


def _find_tag(code: str, tags: Mapping[str, str]) -> str | None:
    """The tag that stands for a code, given the normalized forms of all tags."""
    for accept in (code.__eq__, lambda tag: tag.startswith(f"{code}-"), lambda tag: code.startswith(f"{tag}-")):
        if found := next((tag for tag, normalized in tags.items() if accept(normalized)), None):
            return found
    return None


def language_variants(wanted: str, available: Iterable[str]) -> list[str]:
    """All codes that stand for a language, such as zh-Hans and zh-Hant for zh; only the same code if it is one."""
    tags = [tag for tag in available if find_language(wanted, (tag,)) is not None]
    return [tag for tag in tags if _normalize(tag) == _normalize(wanted)] or tags


def is_one_variant(tags: Iterable[str]) -> bool:
    """Whether tags of a language are one variant of it, and perhaps the bare code, with the same script.

    ``fr`` and ``fr-FR`` are; ``pt-BR`` and ``pt-PT``, or ``sr`` (which is Cyrillic) and ``sr-Latn``, are not.
    """
    codes = set(map(_normalize, tags))
    variants = {code for code in codes if "-" in code}
    return len(codes) == 1 or (len(variants) == 1 and len(set(map(_script, codes))) == 1)


def _complete(tag: str) -> str:
    """A tag with the script and the region that it leaves out; empty if it is not valid."""
    try:
        return str(langcodes.Language.get(tag).maximize())
    except LanguageTagError:
        return ""


def _script(tag: str) -> str | None:
    """The script of a tag, also if the tag leaves it out; None if it is not known."""
    try:
        return langcodes.Language.get(tag).maximize().script
    except LanguageTagError:
        return None


def same_language(code: str, other: str) -> bool:
    """Whether two codes mean the same language, apart from region and script."""
    return primary_language(code) == primary_language(other)


def may_be_written_as(code: str, other: str) -> bool:
    """Whether text in a language may be in that of another tag: in the same script, unless the code leaves that open.

    ``zh-Hans`` may not be ``zh-TW``; ``zh`` and ``pt-BR`` may be ``zh-TW`` and ``pt-PT``.
    """
    is_open = without_region(code) == _normalize(code)
    return same_language(code, other) and (is_open or _script(code) == _script(other))


def macrolanguage(code: str) -> str:
    """The current code of a language, or of the group that it belongs to: "no" for "nb", "he" for "iw-IL"."""
    primary = primary_language(code)
    try:
        found = without_region(langcodes.standardize_tag(primary, macro=True))
    except LanguageTagError:
        return primary
    return "no" if found in _NORWEGIAN else found


def join_codes(codes: Iterable[str]) -> str:
    """Source and target as `--languages` takes them: ``de-en``, or ``pt-BR:en``."""
    codes = list(codes)
    return (":" if any("-" in code for code in codes) else "-").join(codes)


def looks_like_tag(text: str) -> bool:
    """Whether a word has the form of a language tag: ``de``, ``deu`` or ``pt-BR``."""
    return _TAG.fullmatch(text) is not None


def machine_translated(language: str, original: str) -> str:
    """The tag of text that a machine has translated from another language: ``hsb-t-de-t0-und`` (RFC 6497)."""
    return f"{language}-t-{original.lower()}-t0-und"


def is_machine_translated(tag: str) -> bool:
    """Whether a tag has this form."""
    return _MACHINE_TRANSLATED.fullmatch(tag) is not None


def plain_tag(tag: str) -> str:
    """The tag without what `machine_translated` adds."""
    match = _MACHINE_TRANSLATED.fullmatch(tag)
    return match[1] if match else tag


def tag_of_locale(locale: str) -> str:
    """The language tag of a locale of gettext: ``sr-Latn`` of ``sr@latin``, and ``de_DE`` of ``de_DE.UTF-8``."""
    name, _, modifier = locale.partition("@")
    name, _, _ = name.partition(".")
    script = _LOCALE_SCRIPTS.get(modifier.lower())
    language, separator, region = name.replace("-", "_").partition("_")
    return f"{language}-{script}{separator and '-'}{region}" if script else name


def language_name(code: str) -> str:
    """The English name of a language; the code itself if it is not known."""
    try:
        language = langcodes.get(code)
    except LanguageTagError:
        return code
    return language.display_name() if language.language and language.is_valid() else code


def known_language(word: str) -> str | None:
    """The code of two letters of a language, given this code or a name in any language; None for other words.

    Languages whose codes have three letters are not known: some of their names are words, such as Even, Are and So.
    """
    if len(word) == 2 and langcodes.tag_is_valid(word):
        return word.lower()
    return named_language(word)


def is_known_code(word: str) -> bool:
    """Whether a word is a code of three letters of a language that has names in several others, such as ``hsb``.

    Thousands of languages, whose codes may be any word, have only an English name. Languages that also have a code of
    two letters, such as ``cat``, use that.
    """
    is_tag = len(word) == 3 and looks_like_tag(word)
    return is_tag and len(macrolanguage(word)) == 3 and len(_names_of(primary_language(word))) >= _SEVERAL_NAMES


@lru_cache(maxsize=4096)
def named_language(word: str) -> str | None:
    """The code of two letters of a language with a name, in any language; None for other words."""
    name = word.casefold()
    if name in _MORE_NAMES:
        return _MORE_NAMES[name]
    try:
        code = langcodes.find(name).language or ""
    except LookupError:
        return None
    # langcodes also finds longer words that start with a name
    return code if len(code) == 2 and name in _names_of(code) else None


def is_name_of(text: str, tag: str) -> bool:
    """Whether a text is the name of a language, in any language."""
    return text.strip().casefold() in _names_of(primary_language(tag))


@cache
def _names_of(code: str) -> frozenset[str]:
    return frozenset(map(str.casefold, code_to_names(code).values()))


def _normalize(tag: str) -> str:
    return tag.strip().replace("_", "-").lower()


def _shorten(tag: str) -> str:
    """A normalized tag with the code of two letters of its language, if there is one."""
    language, hyphen, rest = tag.partition("-")
    return f"{primary_language(language)}{hyphen}{rest}"
