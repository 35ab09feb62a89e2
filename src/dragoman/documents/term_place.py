"""Where a translation gets a term, and in which form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import regex

from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.languages.sentence_marks import starts_sentence
from dragoman.text.glossary import FoundTerm, decapitalize, fold, is_copied_word, replace_words, term_words
from dragoman.text.lemmas import Lemmatize
from dragoman.text.term_matcher import capitalize, contains_term, count_term
from dragoman.text.word_forms import FindForms, is_dictionary_form

_ARTICLE = regex.compile(r"(?<!\w)([\p{L}\p{M}]{1,5}) $")
"""A short word at the end, which may be an article. Longer ones are not changed: "drinks" would become "drinking"."""

_A_OR_AN = regex.compile(r"(?<!\w)(a)(n?) $", regex.IGNORECASE)

_WITH_AN = regex.compile(
    r"(?!eu(?!ler)|ewe|oui|on(?:c?e)\b"
    r"|u(?:-|k|[bt][io]|te[nr]|ganda|vu|nix|nary|nanim|nimod|ni(?![mn]|d(?!ir))|s[aeiu]|r[aio]|rugu|re[at]))"
    r"(?:hour|honest|honou?r|heir|[aeiou])"
)
"""The beginnings of lower-case words that take "an"."""

OTHER_FORM = 2.0
"""How much higher the log-probability of a translation with another form of a term must be, in nats."""

OTHER_ARTICLE = 1.0
"""The same for another form of the word before a term."""

MOST_LOST = 0.5
"""The share of the words after a term of which a search must find at least as many."""

SPACED = regex.compile(rf"[\w--[{WITHOUT_SPACES}]]", regex.VERSION1)
"""A letter or a number of a script with spaces between words."""

_WORD_CHARACTERS = regex.compile(r"\A\w+")

SAME_KIND = 3.0
"""What a form gains, in nats, if it is a dictionary form as the replaced word is, or is none as that is none.

The model often knows the number of a word, but not the plural of a term that it has rarely seen.
"""


@dataclass(frozen=True)
class TermPlace:
    """Where a translation gets a term.

    Attributes:
        found: The place in the source.
        start: Where the term begins in the translation.
        before: The translation up to the term.
        form: The form of the term, not capitalized.
        replaced: The words that the term replaces.
        rest: What comes after them now.
        begins: Whether the term is capitalized, because it begins a sentence.
        is_upper: Whether the term is all capitals, because the text is.
    """

    found: FoundTerm
    start: int
    before: str
    form: str
    replaced: str
    rest: str
    begins: bool = False
    is_upper: bool = False

    @property
    def written(self) -> str:
        """The form of the term with the capitals that it has in this place."""
        words = _words(self.form)
        if self.is_upper:
            return replace_words(self.form, [word if is_copied_word(word) else word.upper() for word in words])
        return capitalize(self.form) if self.begins and not is_copied_word(words[0]) else self.form

    @property
    def prefix(self) -> str:
        """How the translation begins, up to and with the term."""
        return self.before + self.written

    def without_repetition(self, fixed: int) -> TermPlace:
        """The place that also replaces words before and after it that are a part of the term.

        The translation of a compound is often aligned with one of its words only: "Textfeld" with "field".

        Args:
            fixed: Number of characters at the beginning that must not change.
        """
        words, before, after = _folded_words(self.form), _folded_words(self.before), _folded_words(self.rest)
        start, begin, end = self.start, len(self.before), 0
        for count in range(1, len(words)):
            if before[-count:] == words[:count] and (first := term_words(self.before)[-count][0]) >= fixed:
                start = begin = first
            if after[:count] == words[-count:]:
                end = term_words(self.rest)[count - 1][1]
        replaced = self.before[begin:] + self.replaced + self.rest[:end]
        return replace(self, start=start, before=self.before[:begin], replaced=replaced, rest=self.rest[end:])

    def variants(self, find_forms: FindForms, fixed: int) -> Iterator[TermPlace]:
        """The place with all forms of its term and of the word before it, such as an article; first the place itself.

        Args:
            find_forms: Finds the forms of a term.
            fixed: Number of characters at the beginning that must not change.
        """
        match = _ARTICLE.search(self.before)
        if match is None or match.start() < fixed or self.is_upper:
            yield from (replace(self, form=form) for form in find_forms(self.form))
            return
        begins = match[1][0].isupper() and starts_sentence(self.before, match.start())
        word = decapitalize(match[1]) if begins else match[1]
        for phrase in find_forms(f"{word} {self.form}", with_article=True):
            other, form = phrase.split(" ", 1)
            before = self.before[: match.start()] + (capitalize(other) if begins else other) + " "
            yield replace(self, before=before, form=form)

    def with_a_or_an(self, fixed: int) -> TermPlace:
        """The place with the English article that the term needs, if one of "a" and "an" is before it.

        The sound decides, but a model still expects the sound of the word that the term replaces. How abbreviations and
        names with digits sound is not known, so these keep the article that the model prefers.

        Args:
            fixed: Number of characters at the beginning that must not change.
        """
        match, word = _A_OR_AN.search(self.before), self.form[: term_words(self.form)[0][1]]
        if match is None or match.start() < fixed or len(word) < 2 or not word.isalpha() or word.isupper():
            return self
        if match[1] == "A" and not starts_sentence(self.before, match.start()):
            return self  # a letter, as in "Vitamin A"
        n = "n" if _WITH_AN.match(word.lower()) else ""
        return replace(self, before=f"{self.before[: match.end(1)]}{n} ")

    def accepts(self, translation: str) -> bool:
        """Whether a search has kept the term without an ending, and brought back neither it nor what it replaces.

        After a beginning that the model has never seen, a search may end at once, which would lose what follows, or add
        words at the end of a sentence.
        """
        rest = translation[len(self.prefix) :]
        longest = max(_words(self.replaced), key=len, default="").lower()
        others = (self.prefix + self.rest).lower()
        returns = bool(longest) and count_term(translation.lower(), longest) > count_term(others, longest)
        ending = not self.prefix[-1].isalnum() and bool(SPACED.match(rest))  # as in ™s
        here = self.written + "".join(_WORD_CHARACTERS.findall(rest))
        lost = len(_words(rest)) < MOST_LOST * len(_words(self.rest))
        replaces_end = not SPACED.search(self.rest) and 0 < len(_words(self.replaced)) <= len(_words(self.form))
        added = replaces_end and bool(SPACED.search(rest))
        return not (returns or ending or lost or added or self._repeats(rest, longest)) and contains_term(
            here, self.written
        )

    def _repeats(self, rest: str, longest: str) -> bool:
        """Whether what follows the term begins with its last word, all of it, or the longest word that it replaces."""
        words, following = _folded_words(self.form), _folded_words(rest)
        return following[:1] in (words[-1:], _folded_words(longest)[:1] or None) or following[: len(words)] == words


def most_probable(
    place: TermPlace, scored: Sequence[tuple[TermPlace, float]], lemmatize: Lemmatize | None
) -> TermPlace:
    """The variant of a place with the best form of the term, and then with the best form of the word before it.

    The form is the given one unless another is clearly better; "an" instead of "a" is no reason for a plural.

    Args:
        place: The place.
        scored: Its variants, with the log-probability of the translation in nats.
        lemmatize: Finds the lemmas of the target language.
    """
    kind = _is_lemma(place.replaced, lemmatize, place.begins) if lemmatize and place.replaced else None

    def gain(form: str) -> float:
        if lemmatize and kind is not None and _is_lemma(form, lemmatize) != kind:
            return 0.0
        return (0.0 if kind is None else SAME_KIND) + (OTHER_FORM if form == place.form else 0.0)

    form = max(scored, key=lambda each: each[1] + gain(each[0].form))[0].form
    with_form = [each for each in scored if each[0].form == form]
    best, given = max(with_form, key=itemgetter(1)), with_form[0]
    return best[0] if best[1] > given[1] + OTHER_ARTICLE else given[0]


def _words(text: str) -> list[str]:
    return [text[start:end] for start, end in term_words(text)]


def _folded_words(text: str) -> list[str]:
    return list(map(fold, _words(text)))


def _is_lemma(text: str, lemmatize: Lemmatize, begins: bool = False) -> bool:
    """Whether a text is in its dictionary form; at the beginning of a sentence, also with a lower-case first letter."""
    return all(is_dictionary_form(each, lemmatize) for each in ({text, text.lower()} if begins else {text}))
