"""Glossaries: how the terms of a text must be translated."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import regex

from dragoman.errors import UserError, shortened
from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.languages.sentence_marks import starts_sentence
from dragoman.text.lemmas import Lemmatize, find_lemma
from dragoman.text.normalization import find_control, visible_form
from dragoman.text.placeholders import SpanKind, find_spans

_WORD = regex.compile(rf"[{WITHOUT_SPACES}]|[\w--[{WITHOUT_SPACES}]]+|[^\w\s]", regex.VERSION1)
"""A word, a punctuation mark, or a letter of a script without spaces."""

_GREEK_MARKS = regex.compile(r"(?<=\p{Greek}\p{M}*)\p{M}")

COPIED: tuple[SpanKind, ...] = ("placeholder", "tag", "link")
"""The spans that translations always copy; numbers and emoji may also be words."""

MOST_WORDS = 20
"""Of a term; the time for finding terms grows with the square of this number."""

Key = tuple[str, ...]
"""The words of a term: as spelled, in one case, or their lemmas."""


@dataclass(frozen=True)
class Term:
    """A term of the source language, and its translation."""

    source: str
    target: str

    @property
    def cleaned(self) -> Term:
        """The term in Unicode's normal form C, without invisible characters, and without spaces at its ends."""
        return Term(visible_form(self.source).strip(), visible_form(self.target).strip())


class FoundTerm(NamedTuple):
    """Characters of a text that are a term."""

    start: int
    end: int
    term: Term


class Glossary:
    """Terms with their translations.

    >>> glossary = dragoman.Glossary.parse(["Hund\\thound", "kleiner Hund\\tpuppy"])
    >>> [found.term.target for found in glossary.find("Ein kleiner Hund und ein Hund.")]
    ['puppy', 'hound']

    Args:
        terms: The terms; their sources differ in more than their spaces. If several differ in case only, such as
            "polish" and "Polish", a text has the one that is spelled like it, or whose lemma is; the first one, if none
            is.
        places: Where each term is written, for messages; none if it is unknown.

    Raises:
        UserError: A term is empty or too long, or contains control characters, or terms have two translations, which
            are all reported together.
    """

    def __init__(self, terms: Iterable[Term], places: Sequence[str] = ()) -> None:
        self._terms: dict[Key, Term] = {}
        conflicts: defaultdict[Key, dict[str, str]] = defaultdict(dict)
        for index, given in enumerate(terms):
            term = given.cleaned
            key = _key(term, _as_spelled)
            where, shown = f"{places[index]} of " if places else "", f"{term.source!r} = {term.target!r}"
            if not key or not term.target:
                raise UserError(f"{where}the glossary has an empty term: {shown}; delete it")
            if find_control(term.source + term.target) is not None:
                raise UserError(f"{where}the glossary has a term with a control character: {shown}; delete it")
            if len(key) > MOST_WORDS:
                raise UserError(f"a term of the glossary has more than {MOST_WORDS} words: {shortened(term.source)!r}")
            self._terms.setdefault(key, term)
            conflicts[key].setdefault(term.target, f"{term.target} in {places[index]}" if places else term.target)
        if several := {key: targets for key, targets in conflicts.items() if len(targets) > 1}:
            listed = "; ".join(
                f"{self._terms[key].source}: {', '.join(each.values())}" for key, each in several.items()
            )
            raise UserError(f"terms of the glossary have several translations ({listed}); choose one for each")
        # of several terms with the same words, the first one
        self._folded = {_key(term, fold): term for term in reversed(self.terms)}
        self._capitals = {key: term for term in reversed(self.terms) for key in _capital_keys(term)}
        self._longest = max(map(len, self._terms), default=0)
        self._by_lemma = lru_cache(maxsize=4)(self._index_lemmas)

    @staticmethod
    def separator_of(lines: Iterable[str], default: str = "\t") -> str:
        """What separates terms from their translations in some lines, for `parse`: a tab, or else an equals sign.

        The default is for lines that have neither.
        """
        filled = [line for line in lines if line.strip()]
        if any("\t" in line for line in filled):
            return "\t"
        if not any("=" in line for line in filled):
            return default
        return " = " if all(" = " in line for line in filled) else "="  # as a URL may contain =

    @classmethod
    def parse(cls, lines: Iterable[str], name: str = "glossary", separator: str = "\t") -> Glossary:
        """The glossary in lines with a term, a separator and its translation; empty lines are skipped.

        Raises:
            UserError: A line has another number of columns, or the terms are not a glossary.
        """
        terms, places = [], []
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            columns = [column.strip() for column in line.split(separator)]
            if len(columns) != 2:
                form = "a term, a tab and its translation" if separator == "\t" else "'term = translation'"
                raise UserError(f"{name} line {number}: expected {form}, not {shortened(line)!r}")
            terms.append(Term(*columns))
            places.append(f"line {number}")
        try:
            return cls(terms, places)
        except UserError as error:
            raise UserError(f"{name}: {error}") from None

    @property
    def terms(self) -> list[Term]:
        """All terms, in their order."""
        return list(self._terms.values())

    def find(self, text: str, lemmatize: Lemmatize | None = None) -> Iterator[FoundTerm]:
        """The terms in a text, in order: whole words in any case, the longest of several that begin at a word.

        Terms in the case of the text come first, then those in another case, then other forms of their words.

        Args:
            text: The text.
            lemmatize: Finds lemmas, if terms also match other forms of their words.
        """
        spans = term_words(text)
        words = [text[start:end] for start, end in spans]
        spelled, folded = _words_as(_as_spelled, words), _words_as(fold, words)
        marked = _words_as(_without_marks, words) if self._capitals else ()
        lemmas = _words_as(_folded_lemma(lemmatize), words) if lemmatize else ()
        by_lemma = self._by_lemma(lemmatize) if lemmatize else {}
        begin = 0
        while begin < len(words):
            for end in range(min(len(words), begin + self._longest), begin, -1):
                term = self._terms.get(spelled[begin:end]) or self._folded.get(folded[begin:end])
                term = term or self._capitals.get(marked[begin:end])
                if lemmatize and not term and (same_lemmas := by_lemma.get(lemmas[begin:end])):
                    term = _closest(text, spans[begin:end], same_lemmas, lemmatize)
                if term:
                    yield FoundTerm(spans[begin][0], spans[end - 1][1], term)
                    begin = end
                    break
            else:
                begin += 1

    def _index_lemmas(self, lemmatize: Lemmatize) -> dict[Key, list[Term]]:
        """The terms by the lemmas of their words."""
        terms: defaultdict[Key, list[Term]] = defaultdict(list)
        for term in self.terms:
            terms[_key(term, lambda word: fold(find_lemma(word, lemmatize)))].append(term)
        return terms


def _key(term: Term, normalize: Callable[[str], str]) -> Key:
    return _words_as(normalize, list_words(term.source))


def _capital_keys(term: Term) -> Iterator[Key]:
    """The words of a term with capitals that are other letters in lower case, as in Greek and Turkish."""
    words = list_words(term.source)
    if words[0].startswith("ı"):
        yield _words_as(_without_marks, [f"I{words[0][1:]}", *words[1:]])
    for forms in zip(*map(_capital_forms, words), strict=True):
        if _words_as(fold, forms) != _words_as(fold, words):
            yield _words_as(_without_marks, forms)


def _words_as(normalize: Callable[[str], str], words: Iterable[str]) -> Key:
    """Words with a change, except those that are copied."""
    return tuple(_as_spelled(word) if is_copied_word(word) else normalize(word) for word in words)


def _folded_lemma(lemmatize: Lemmatize) -> Callable[[str], str]:
    return lambda word: fold(lemmatize(word))


def _as_spelled(word: str) -> str:
    return unicodedata.normalize("NFC", word)


def _may_be(text: str, places: Sequence[tuple[int, int]], term: Term) -> bool:
    """Whether words at places of a text, which have the lemmas of a term, have its capitals."""
    wanted = list_words(term.source)
    return all(
        fold(text[start:end]) == fold(word) or has_capitals_like(text, start, end, word)
        for (start, end), word in zip(places, wanted, strict=True)
    )


def _closest(text: str, places: Sequence[tuple[int, int]], terms: Sequence[Term], lemmatize: Lemmatize) -> Term | None:
    """The term that fits some words of a text best: its lemmas are theirs, and have the same capitals.

    At the beginning of a sentence, the word is usually one without a capital: "Isst" is a form of "essen", not "Essen".
    If several terms fit equally well, it is the first one.

    Args:
        text: The text.
        places: The start and the end of each word.
        terms: Terms with the lemmas of these words, apart from capitals.
        lemmatize: Finds lemmas.
    """
    possible = [term for term in terms if _may_be(text, places, term)]
    words = [text[start:end] for start, end in places]
    decapitalized = [[decapitalize(words[0]), *words[1:]]] if starts_sentence(text, places[0][0]) else []
    for lemmas in [_words_as(lemmatize, each) for each in (*decapitalized, words)]:
        for term in possible:
            if _key(term, lemmatize) == lemmas:
                return term
    return possible[0] if possible else None


def has_capitals_like(text: str, start: int, end: int, word: str) -> bool:
    """Whether the word at a place of a text has the capitals of another, of which it may then be a form.

    In German, "rechte" is no form of "Recht". The first word of a sentence may be capitalized in addition, and any word
    may be all capitals. A word that is all capitals, such as USB, has no other forms.
    """
    found = text[start:end]
    if word.isupper():
        return found == word
    return found.isupper() or found[:1].isupper() == word[:1].isupper() or starts_sentence(text, start)


def term_words(text: str) -> list[tuple[int, int]]:
    """The start and the end of each word, punctuation mark, and letter of a script without spaces.

    A placeholder, a tag or a link is one word: "file" is no word of "{file}" and "www.a.de/file".
    """
    words, last = [], 0
    for start, end in ((span.start, span.end) for span in find_spans(text) if span.kind in COPIED):
        words += [match.span() for match in _WORD.finditer(text, last, start)]
        words.append((start, end))
        last = end
    return words + [match.span() for match in _WORD.finditer(text, last)]


def list_words(text: str) -> list[str]:
    """The words of a text, see `term_words`."""
    return [text[start:end] for start, end in term_words(text)]


def replace_words(text: str, words: Sequence[str]) -> str:
    """A text with other words where its words are, see `term_words`."""
    places = term_words(text)
    starts, ends = [start for start, _ in places], [0, *(end for _, end in places)]
    between = [text[end:start] for end, start in zip(ends, [*starts, len(text)], strict=True)]
    return between[0] + "".join(word + space for word, space in zip(words, between[1:], strict=True))


def decapitalize(text: str) -> str:
    """A text with its first letter in lowercase."""
    return text[:1].lower() + text[1:]


def is_copied_word(word: str) -> bool:
    """Whether a word that `term_words` found is a placeholder, a tag or a link, which is always spelled the same."""
    return not word.isalpha() and not _WORD.fullmatch(word)  # the first test is faster


def fold(word: str) -> str:
    """The word without the difference of upper and lower case, and of ß and ss, as in Switzerland and in capitals."""
    folded = _as_spelled(word).casefold().replace("i\u0307", "i")  # İ of Turkish
    return _as_spelled(folded)  # which may have decomposed letters


def is_capital_form(word: str, wanted: str) -> bool:
    """Whether a word is another one in capitals, also in Turkish (İNCİR for incir) and Greek (ΔΡΟΜΟΣ for δρόμος)."""
    return _without_marks(word) in _capital_forms(wanted)


def _capital_forms(word: str) -> tuple[str, str]:
    """A word in capitals, as in most languages and as in Turkish, without marks in Greek."""
    if is_copied_word(word):
        return word, word
    return _without_marks(word.upper()), _without_marks(word.replace("i", "İ").upper())


def _without_marks(capitals: str) -> str:
    """Capitals without the marks that those of Greek may lack: ΔΡΟΜΟΣ, and ΜΑΙΟΣ for ΜΑΪΟΣ."""
    return _as_spelled(_GREEK_MARKS.sub("", unicodedata.normalize("NFD", capitals)))
