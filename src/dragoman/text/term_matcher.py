"""Which terms a text contains, and whether its translation uses them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from dragoman.languages.sentence_marks import starts_sentence
from dragoman.text.glossary import (
    FoundTerm,
    Glossary,
    decapitalize,
    fold,
    has_capitals_like,
    is_capital_form,
    is_copied_word,
    list_words,
    term_words,
)
from dragoman.text.lemmas import Lemmatize, lemmatizer
from dragoman.text.word_forms import begins_alike, is_dictionary_form, is_form

Use = Literal["exactly", "inflected", "unsure", "not"]

_LONG_WORD = 4  # letters; shorter words are often not capitalized in titles


@dataclass(frozen=True)
class CheckedTerm:
    """A term of a text, and how the translation of the text uses it.

    Attributes:
        source: The term.
        target: Its translation in the glossary.
        used: Whether the translation of the text contains it exactly as the glossary spells it, in another form of its
            words, perhaps in another form ("unsure", in languages without a dictionary), or not.
    """

    source: str
    target: str
    used: Use


def missing_terms(terms: Iterable[CheckedTerm]) -> list[str]:
    """The problems of a translation that does not use some terms."""
    return list(dict.fromkeys(f"missing term: {term.target}" for term in terms if term.used == "not"))


@dataclass(frozen=True)
class TermMatcher:
    """Finds terms in texts and their translations: exactly, or also other forms of their words.

    Attributes:
        source: Finds the lemmas of the source language; without it, other forms of a word are not the term.
        target: Finds the lemmas of the target language.
    """

    source: Lemmatize | None = None
    target: Lemmatize | None = None

    @classmethod
    def of(cls, source_language: str, target_language: str) -> TermMatcher:
        """What also finds other forms of the words of two languages, given by their codes."""
        return cls(lemmatizer(source_language), lemmatizer(target_language))

    def find(self, text: str, glossary: Glossary | None) -> list[FoundTerm]:
        """The terms of a glossary in a text, in order."""
        return list(glossary.find(text, self.source)) if glossary else []

    def check(self, text: str, glossary: Glossary | None, translation: str) -> list[CheckedTerm]:
        """The different terms of a text, in order, and how its translation uses them."""
        translation = unicodedata.normalize("NFC", translation)  # as the terms of a glossary
        terms = dict.fromkeys(found.term for found in self.find(text, glossary))
        return [CheckedTerm(term.source, term.target, self._use(term.target, translation)) for term in terms]

    def count(self, translation: str, target: str) -> int:
        """How often a translation contains the translation of a term, in any form if it is a dictionary form."""
        exactly = count_term(translation, target)
        if self.target is None:
            return exactly
        same: Callable[[str, str], bool] = begins_alike
        if self.target is not str:
            lemmatize = self.target if is_dictionary_form(target, self.target) else str
            same = partial(is_form, lemmatize=lemmatize)
        places, wanted = term_words(translation), list_words(target)
        count = begin = 0
        while begin + len(wanted) <= len(places):
            end = begin + len(wanted)
            words = zip(places[begin:end], wanted, strict=True)
            is_found = all(_is_form(translation, *place, word, same) for place, word in words)
            count, begin = count + is_found, end if is_found else begin + 1
        return max(count, exactly)

    def _use(self, target: str, translation: str) -> Use:
        if contains_term(translation, target):
            return "exactly"
        if not self.count(translation, target):
            return "not"
        return "unsure" if self.target is str else "inflected"


def is_copied(term: str) -> bool:
    """Whether a term consists of placeholders, tags and links, which translations contain unchanged."""
    return all(map(is_copied_word, list_words(term)))


def contains_term(text: str, target: str) -> bool:
    """Whether a translation contains the translation of a term as whole words.

    At the beginning of a sentence, its first letter may be capitalized.
    """
    return count_term(text, target) > 0


def count_term(text: str, target: str) -> int:
    """How often a translation contains the translation of a term, see `contains_term`."""
    words = term_words(text)
    starts, ends = {start for start, _ in words}, {end for _, end in words}
    count = begin = 0
    for start in sorted(starts):
        end = start + len(target)
        if start >= begin and end in ends and _is_at(text, start, target):
            count, begin = count + 1, end
    return count


def _is_at(text: str, start: int, target: str) -> bool:
    if text.startswith(target, start):
        return True
    begins_so = text.startswith(capitalize(target), start)
    begins_dotted = target.startswith("i") and text.startswith(f"İ{target[1:]}", start)  # in Turkish
    return (begins_so or begins_dotted) and starts_sentence(text, start)


def capitalize(text: str) -> str:
    """A text with its first letter in uppercase."""
    return text[:1].upper() + text[1:]


def _is_form(text: str, start: int, end: int, wanted: str, same: Callable[[str, str], bool]) -> bool:
    """Whether the word at a place of a text is the same as another, or a form of it, with its capitals.

    The first word of a sentence and all words of a title may be capitalized in addition, and any word may be all
    capitals.
    """
    word = text[start:end]
    if is_copied_word(word) or is_copied_word(wanted):
        return word == wanted
    if is_capital_form(word, wanted):
        return True
    if fold(word) == fold(wanted):
        return word.isupper() or _is_at(text, start, wanted) or (word == capitalize(wanted) and _is_title(text))
    if same(word, wanted):
        return has_capitals_like(text, start, end, wanted)
    lower = decapitalize(word)
    return lower != word and same(lower, wanted) and starts_sentence(text, start)


def _is_title(text: str) -> bool:
    """Whether each of several words is capitalized, apart from short ones, as in menus: "Insert a Spreadsheet"."""
    letters = [word for word in list_words(text) if word.isalpha()]
    return len(letters) > 1 and all(word[0].isupper() for word in letters if len(word) >= _LONG_WORD)
