"""Lemmas: the dictionary forms of words, which is how all forms of a word are recognized."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from dragoman.languages.codes import primary_language

Lemmatize = Callable[[str], str]
"""The lemma of a word."""

REMEMBERED = 2**16  # words of each language
LONGEST = 50  # letters; longer words have no lemma
PLURAL_ENDINGS = ("n", "s")  # in many languages
_OTHER_NAMES = {"no": "nb", "hr": "hbs", "sr": "hbs", "bs": "hbs"}  # how simplemma calls languages


@lru_cache(maxsize=32)
def lemmatizer(language: str) -> Lemmatize:
    """Finds the lemmas of words, spelled as in dictionaries; the words themselves if the language is not supported.

    >>> lemmatizer("de")("Häusern")
    'Haus'

    Args:
        language: The code of the language, perhaps with a region.
    """
    from simplemma import Lemmatizer

    name = dictionary_language(language)
    if name is None:
        return str
    library = Lemmatizer()

    @lru_cache(maxsize=REMEMBERED)
    def lemma_of(word: str) -> str:
        lemma: str = library.lemmatize(word.lower() if word.isupper() else word, name)
        return word if lemma.lower() == word.lower() else lemma  # USB remains USB

    return lambda word: lemma_of(word) if len(word) <= LONGEST else word


def find_lemma(word: str, lemmatize: Lemmatize) -> str:
    """The lemma of a word of a glossary: the word itself if the dictionary has its plural.

    Dictionaries also know "Spalte" as a form of "Spalt", and "painting" as one of "paint".
    """
    lemma = lemmatize(word)
    if any(word == lemma + ending for ending in PLURAL_ENDINGS):
        return lemma
    return word if any(lemmatize(word + ending) == word for ending in PLURAL_ENDINGS) else lemma


def dictionary_language(language: str) -> str | None:
    """How simplemma calls a language; None if it does not support it."""
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    base = primary_language(language)
    name = _OTHER_NAMES.get(base, base)
    return name if name in SUPPORTED_LANGUAGES else None
