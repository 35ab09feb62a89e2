"""The forms of words, such as the plural of a noun: the reverse of finding lemmas."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import Protocol

import regex

from dragoman.languages.codes import same_language
from dragoman.text.glossary import fold, list_words, replace_words
from dragoman.text.lemmas import LONGEST, Lemmatize, dictionary_language, find_lemma, lemmatizer


class FindForms(Protocol):
    """Finds all forms of a term, first the term itself."""

    def __call__(self, term: str, /, *, with_article: bool = False) -> Sequence[str]:
        """The forms; `with_article`: the first word is not part of the term, such as an article, and has forms, too."""
        ...


LETTERS = regex.compile(r"[\p{L}\p{M}]+")
"""A word of letters and their marks, such as the vowels of Indic scripts."""

MOST_FORMS = 40
"""Maximum number of forms. The shortest forms of a word are kept; only as many of the last words of a term have
several forms as this allows."""

SHORTEST_HEAD = 4
"""Letters of the last part of a compound, whose forms the compound has."""

ENDING = 2
"""The most letters that an ending adds to a word."""

SAME_STEM = 0.6
"""The share of a word with which a probable form begins that the dictionaries lack, such as "wikis" of "wiki".

"Dialog" and "Dialogfenster" are no forms of "Dialogfeld".
"""

SHORTEST_STEM = 4  # letters: "wing" is no form of "wine"

PREPOSITIONS = frozenset(
    """about around at away back by down for from in into of off on out over through to under up with""".split()  # noqa: SIM905
)
"""English words after the word of a term that has the forms: "log in", "point of view"."""

COMPARED = 2**15
"""Pairs of words that are remembered; a sentence of 80 terms has 10,000."""


@lru_cache(maxsize=8)
def form_finder(language: str, known_words: str = "") -> FindForms:
    """Finds the forms of terms; only the term itself if it is no dictionary form.

    In languages without a dictionary, the forms are known words that begin like a word of the term.

    In English, only the last word of a term has other forms, or the one before a preposition: "open files" and "points
    of view", not "opening files". In languages whose adjectives agree with nouns, all words have.

    The first call for a language reads its dictionary, which takes a few seconds and up to 150 MB in addition to
    that of `lemmatizer`.

    >>> form_finder("de")("Haus")
    ['Haus', 'Hause', 'Hauses', 'Häuser', 'Häusern']

    Args:
        language: The code of the language, perhaps with a region.
        known_words: Words of the language in lower case, such as those of training data, separated by spaces.
    """
    has_dictionary = dictionary_language(language) is not None
    known = {} if has_dictionary else _by_beginning(known_words.split())
    lemmatize, is_english = lemmatizer(language), same_language(language, "en")

    def forms_of(word: str) -> list[str]:
        if word.isupper() or len(word) > LONGEST or not LETTERS.fullmatch(word):
            return [word]
        if not has_dictionary:
            alike = [form for form in known.get(fold(word)[:SHORTEST_STEM], ()) if begins_alike(form, word)]
            found = [form.capitalize() if word[0].isupper() else form for form in alike]
            return list(dict.fromkeys([word, *found]))[:MOST_FORMS]
        lemma = find_lemma(word, lemmatize)
        spelled = (form for form in _spelled_forms(language, lemma) if _is_possible_form(form, word))
        found = sorted((form for form in spelled if is_form(form, word, lemmatize)), key=len)
        return list(dict.fromkeys([word, *found]))[:MOST_FORMS]

    @lru_cache(maxsize=2**12)
    def find(term: str, /, *, with_article: bool = False) -> list[str]:
        if not is_dictionary_form(term, lemmatize):
            return [term]
        words = list_words(term)
        changed = _changed_words(words, int(with_article)) if is_english else range(len(words))
        choices = [forms_of(word) if place in changed else [word] for place, word in enumerate(words)]
        count = 1
        for place in reversed(range(len(choices))):
            count *= len(choices[place])
            if count > MOST_FORMS:
                choices[place], count = choices[place][:1], MOST_FORMS + 1
        return [replace_words(term, words) for words in product(*choices)]

    return find


def begins_alike(word: str, term: str) -> bool:
    """Whether a word begins like a term and has about as many letters, so that it is probably a form of it."""
    stem = fold(term)[: max(SHORTEST_STEM, math.ceil(SAME_STEM * len(term)))]
    if len(stem) < SHORTEST_STEM:
        return fold(word) == stem  # "its" is no form of IT
    return fold(word).startswith(stem) and abs(len(word) - len(term)) <= ENDING


def _by_beginning(words: Iterable[str]) -> dict[str, list[str]]:
    found = defaultdict[str, list[str]](list)
    for word in words:
        found[fold(word)[:SHORTEST_STEM]].append(word)
    return found


def load_dictionaries(source: str, target: str) -> None:
    """Read the dictionaries with which terms are found and inflected, which takes seconds at the first call.

    Args:
        source: The code of the language of the terms.
        target: That of their translations.
    """
    lemmatizer(source)("a")
    form_finder(target)("a")


def _changed_words(words: Sequence[str], first: int) -> set[int]:
    """Which words of an English term, which begins with the `first` one, and of those before it have other forms."""
    before = set(range(first))
    for place in range(first + 1, len(words)):
        if words[place] in PREPOSITIONS:  # "drop down" may be a verb or a noun
            return {*before, place - 1, *([place] if place == len(words) - 1 else [])}
    return {*before, len(words) - 1}


def is_dictionary_form(term: str, lemmatize: Lemmatize) -> bool:
    """Whether the last word of a term, which other words modify, is its own lemma, as "file", but not "files".

    A word such as "given" would otherwise have the forms of "give".
    """
    words = [word for word in list_words(term) if LETTERS.fullmatch(word)]
    return not words or fold(find_lemma(words[-1], lemmatize)) == fold(words[-1])


def is_form(word: str, wanted: str, lemmatize: Lemmatize) -> bool:
    """Whether a word is a form of a word of a glossary, in any case.

    Of compounds that the dictionary lacks, the last part decides: "Seitenvorlagen" is a form of "Seitenvorlage".
    """
    compare = _remembered if max(len(word), len(wanted)) <= LONGEST else _compare_lemmas
    return compare(word, wanted, lemmatize)


def _compare_lemmas(word: str, wanted: str, lemmatize: Lemmatize) -> bool:
    lemma = fold(lemmatize(word))
    if lemma == fold(find_lemma(wanted, lemmatize)):
        return True
    is_possible = word[:1] == wanted[:1] and lemma == fold(word)
    starts = range(1, min(len(word), len(wanted) - SHORTEST_HEAD + 1)) if is_possible else ()
    return any(
        word[:start] == wanted[:start] and fold(lemmatize(word[start:].capitalize())) == fold(wanted[start:])
        for start in starts
    )


_remembered = lru_cache(maxsize=COMPARED)(_compare_lemmas)


def is_compound(word: str, parts: Iterable[str]) -> bool:
    """Whether a word is a compound that begins or ends with one of some words, and not only a form of it."""
    if not LETTERS.fullmatch(word.replace("-", "")):
        return False
    whole = fold(word)
    longest = len(whole) - ENDING - 1  # of the parts
    suitable = tuple(fold(part) for part in parts if SHORTEST_HEAD <= len(part) <= longest)
    return whole.startswith(suitable) or whole.endswith(suitable)


def _is_possible_form(form: str, word: str) -> bool:
    """Whether a form is one word with the first capital of another; not "won't", and not "daß" instead of "dass"."""
    return bool(LETTERS.fullmatch(form)) and form[0].isupper() == word[0].isupper() and fold(form) != fold(word)


def _spelled_forms(language: str, lemma: str) -> list[str]:
    """The forms of a lemma in the dictionary; those of a compound are those of its last part."""
    forms = _dictionary(dictionary_language(language))
    for start in range(max(1, len(lemma) - SHORTEST_HEAD + 1)):
        for head in dict.fromkeys((lemma[start:], lemma[start:].capitalize())):
            if found := forms.get(head.encode()):
                spelled = found.decode().split("\n")
                return [lemma, *(spelled if start == 0 else (lemma[:start] + form.lower() for form in spelled))]
    return [lemma]


@lru_cache(maxsize=8)
def _dictionary(name: str | None) -> dict[bytes, bytes]:
    """The other forms of each lemma, one per line; bytes need half the memory of strings.

    Args:
        name: How simplemma calls the language; None if it does not support it.
    """
    from simplemma.strategies.dictionaries import DEFAULT_DICTIONARY_FACTORY  # the lemmatizer reads it, too

    forms: defaultdict[bytes, bytearray] = defaultdict(bytearray)
    for form, lemma in DEFAULT_DICTIONARY_FACTORY.get_dictionary(name).items() if name else ():
        if form != lemma:
            forms[lemma.encode()] += f"\n{form}".encode()
    return {lemma: bytes(others[1:]) for lemma, others in forms.items()}
