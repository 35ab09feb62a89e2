"""Language tags such as ``de``, ``de-AT`` and ``de_AT``, and the words that name languages in header rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_NAMES = {
    "ar": "arabic العربية",
    "bg": "bulgarian български",
    "bn": "bengali bangla বাংলা",
    "ca": "catalan català",
    "cs": "czech čeština česky",
    "da": "danish dansk",
    "de": "german deutsch allemand alemán tedesco немецкий 德语 德文 ドイツ語",
    "el": "greek ελληνικά",
    "en": "english englisch anglais inglés inglês inglese engelska engelsk engels angielski angličtina английский "
    "англійська ingilizce अंग्रेज़ी الإنجليزية 英语 英文 英語 영어",
    "es": "spanish español spanisch espagnol castellano",
    "et": "estonian eesti",
    "eu": "basque euskara",
    "fa": "persian farsi فارسی",
    "fi": "finnish suomi",
    "fr": "french français französisch francés francese",
    "he": "hebrew עברית",
    "hi": "hindi हिन्दी हिंदी",
    "hr": "croatian hrvatski",
    "hu": "hungarian magyar",
    "id": "indonesian",
    "it": "italian italiano italienisch italien",
    "ja": "japanese 日本語",
    "ko": "korean 한국어",
    "lt": "lithuanian lietuvių",
    "lv": "latvian latviešu",
    "mr": "marathi मराठी",
    "nl": "dutch nederlands niederländisch néerlandais",
    "no": "norwegian norsk",
    "pl": "polish polski",
    "pt": "portuguese português portugiesisch portugais",
    "ro": "romanian română",
    "ru": "russian русский russisch russe",
    "sk": "slovak slovenčina",
    "sl": "slovenian slovenščina",
    "sr": "serbian српски srpski",
    "sv": "swedish svenska",
    "sw": "swahili kiswahili",
    "ta": "tamil தமிழ்",
    "te": "telugu తెలుగు",
    "th": "thai ไทย",
    "tr": "turkish türkçe",
    "uk": "ukrainian українська",
    "ur": "urdu اردو",
    "vi": "vietnamese việt",
    "zh": "chinese 中文 汉语",
}
_LANGUAGE_OF = {name: code for code, names in _NAMES.items() for name in names.split()}
_WORD = re.compile(r"\b[a-z]{2,3}[-_](?:[a-z]{2}|[a-z]{4}|\d{3})\b|[^\s_.,:;()\[\]/-]+")
_TAG = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|\d{3}))?")
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
        _LANGUAGE_OF.get(word) == _normalize(language).partition("-")[0] or find_language(language, (word,)) is not None
        for word in _words(cell)
    )


def looks_like_header(values: Iterable[str], languages: Iterable[str]) -> bool:
    """Whether every cell consists of words that header rows use, and none can be a sentence."""
    known = SOURCE_WORDS | TARGET_WORDS | _OTHER_WORDS | _LANGUAGE_OF.keys()
    languages = tuple(languages)
    words = [_words(cell) for cell in values]
    return bool(words) and all(
        cell and all(word in known or any(find_language(each, (word,)) for each in languages) for word in cell)
        for cell in words
    )


def known_language(word: str) -> str | None:
    """The code of a language in the list of this module, given its code or its name; None for other words."""
    code = word.casefold()
    return code if code in _NAMES else _LANGUAGE_OF.get(code)


def languages_of_header(names: Iterable[str]) -> list[str]:
    """The codes of the two columns that are named after languages, such as ``de`` and ``English``, or an empty list.

    Words such as ``id``, which is also a code, do not name a language.
    """
    words = map(str.strip, names)
    found = [code for word in words if word.casefold() not in _OTHER_WORDS and (code := known_language(word))]
    return found if len(found) == len(set(found)) == 2 else []


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
