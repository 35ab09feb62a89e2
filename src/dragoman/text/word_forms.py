"""The forms of words, such as the plural of a noun: the reverse of finding lemmas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product

import regex

from dragoman.text.glossary import term_words
from dragoman.text.lemmas import dictionary_language, lemmatizer

FindForms = Callable[[str], Sequence[str]]
"""All forms of a term, first the term itself."""

LETTERS = regex.compile(r"[\p{L}\p{M}]+")
"""A word of letters and their marks, such as the vowels of Indic scripts."""

MOST_FORMS = 40
"""Of a term; of those with more, only the forms of the last word that has several."""

SHORTEST_HEAD = 4
"""Letters of the last part of a compound, whose forms the compound has."""


@lru_cache(maxsize=8)
def form_finder(language: str) -> FindForms:
    """Finds the forms of terms; only the term itself if the language is not supported.

    The first call for a language reads its dictionary, which takes a few seconds and up to 100 MB.

    >>> form_finder("de")("Haus")
    ['Haus', 'Hause', 'Hauses', 'Häuser', 'Häusern']

    Args:
        language: The code of the language, perhaps with a region.
    """
    lemmatize = lemmatizer(language)

    def forms_of(word: str) -> list[str]:
        if word.isupper() or not LETTERS.fullmatch(word):
            return [word]
        lemma = lemmatize(word)
        spelled = [form for form in _spelled_forms(language, lemma) if LETTERS.fullmatch(form)]  # not 's
        found = [form for form in spelled if form[:1].isupper() == word[:1].isupper() and lemmatize(form) == lemma]
        return list(dict.fromkeys([word, *found]))

    @lru_cache(maxsize=2**12)
    def find(term: str) -> list[str]:
        places = term_words(term)
        choices = [forms_of(term[start:end]) for start, end in places]
        count = 1
        for place in reversed(range(len(choices))):
            count *= len(choices[place])
            if count > MOST_FORMS:
                choices[place], count = choices[place][:1], MOST_FORMS + 1
        return [_replace(term, places, words) for words in product(*choices)]

    return find


def _replace(term: str, places: Sequence[tuple[int, int]], words: Sequence[str]) -> str:
    """A term with other words in their places."""
    starts, ends = [start for start, _ in places], [0, *(end for _, end in places)]
    between = [term[end:start] for end, start in zip(ends, [*starts, len(term)], strict=True)]
    return between[0] + "".join(word + space for word, space in zip(words, between[1:], strict=True))


def _spelled_forms(language: str, lemma: str) -> list[str]:
    """The forms of a lemma in the dictionary; those of a compound are those of its last part."""
    forms = _dictionary(language)
    for start in range(max(1, len(lemma) - SHORTEST_HEAD + 1)):
        for head in dict.fromkeys((lemma[start:], lemma[start:].capitalize())):
            if found := forms.get(head.encode()):
                spelled = found.decode().split("\n")
                return [lemma, *(spelled if start == 0 else (lemma[:start] + form.lower() for form in spelled))]
    return [lemma]


@lru_cache(maxsize=4)
def _dictionary(language: str) -> dict[bytes, bytes]:
    """The other forms of each lemma, one per line; bytes need half the memory of strings."""
    from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

    name = dictionary_language(language)
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for form, lemma in DefaultDictionaryFactory().get_dictionary(name).items() if name else ():
        if form != lemma:
            forms[lemma].append(form)
    return {lemma.encode(): "\n".join(others).encode() for lemma, others in forms.items()}
