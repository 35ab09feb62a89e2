"""Inflection and word order of the captions: from words to phrases and clauses in both languages."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.corpus.synthetic.captions.lexicon import DATIVE, NOMINATIVE, Adjective, Noun, Verb

# Forms for nominative, accusative, dative; "p" is the plural of every gender.
_DEFINITE = {
    "m": ("der", "den", "dem"),
    "f": ("die", "die", "der"),
    "n": ("das", "das", "dem"),
    "p": ("die", "die", "den"),
}
_EIN = {"m": ("", "en", "em"), "f": ("e", "e", "er"), "n": ("", "", "em")}
_WEAK = {"m": ("e", "en", "en"), "f": ("e", "e", "en"), "n": ("e", "e", "en"), "p": ("en", "en", "en")}
_MIXED = {"m": ("er", "en", "en"), "f": ("e", "e", "en"), "n": ("es", "es", "en")}
_STRONG_PLURAL = ("e", "e", "en")

_LIKE_EIN = {"a": "ein", "his": "sein", "her": "ihr", "their": "ihr"}
_NUMERALS = {"": "", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}
_QUANTITIES = {"some": "einig", "many": "viel"}
_CONTRACTIONS = {
    "in dem": "im",
    "in das": "ins",
    "an dem": "am",
    "an das": "ans",
    "von dem": "vom",
    "bei dem": "beim",
    "zu dem": "zum",
    "zu der": "zur",
}


def join(*words: str) -> str:
    """The non-empty words, separated by single spaces."""
    return " ".join(filter(None, words))


@dataclass(frozen=True)
class NounPhrase:
    """A determiner (given in English), adjectives and a noun."""

    determiner: str
    adjectives: tuple[Adjective, ...]
    noun: Noun
    plural: bool = False

    def german(self, case: int) -> str:
        """The inflected phrase in German."""
        determiner, ending = self._determiner_and_ending(case)
        adjectives = [adjective.stem + ending for adjective in self.adjectives]
        return join(determiner, *adjectives, self._german_noun(case))

    def _determiner_and_ending(self, case: int) -> tuple[str, str]:
        gender = "p" if self.plural else self.noun.gender
        if self.determiner in _LIKE_EIN:
            return _LIKE_EIN[self.determiner] + _EIN[gender][case], _MIXED[gender][case]
        if self.determiner.startswith("the"):
            numeral = _NUMERALS[self.determiner.removeprefix("the").strip()]
            return join(_DEFINITE[gender][case], numeral), _WEAK[gender][case]
        assert self.plural, "singular nouns have a determiner"
        ending = _STRONG_PLURAL[case]
        if self.determiner in _QUANTITIES:
            return _QUANTITIES[self.determiner] + ending, ending
        return _NUMERALS[self.determiner], ending

    def _german_noun(self, case: int) -> str:
        if not self.plural:
            return self.noun.singular if case == NOMINATIVE else self.noun.oblique
        adds_n = case == DATIVE and not self.noun.plural.endswith(("n", "s"))
        return self.noun.plural + "n" * adds_n

    @property
    def english(self) -> str:
        """The phrase in English, with the right form of a or an."""
        noun = self.noun.english_plural if self.plural else self.noun.english
        words = join(*(adjective.english for adjective in self.adjectives), noun)
        starts_with_vowel = words[0] in "aeiou" and not words.startswith("uni")
        return join("an" if self.determiner == "a" and starts_with_vowel else self.determiner, words)


def prepositional(preposition: str, case: int, phrase: NounPhrase) -> str:
    """A German prepositional phrase, with the usual contractions such as `im Park`."""
    words = f"{preposition} {phrase.german(case)}"
    first, second, *rest = words.split()
    return join(_CONTRACTIONS.get(f"{first} {second}", f"{first} {second}"), *rest)


@dataclass(frozen=True)
class Subject:
    """The subject of a clause in both languages."""

    german: str
    english: str
    nouns: tuple[Noun, ...]
    plural: bool  # in grammar: the number of the verb
    many: bool  # in meaning: "a family" is singular, but many
    owner: str = ""  # the possessive for its belongings: his, her or their

    @property
    def relative_pronouns(self) -> tuple[str, str]:
        """The nominative relative pronoun in both languages."""
        (noun,) = self.nouns
        english = "that" if "animal" in noun.tags else "who"
        return _DEFINITE["p" if self.plural else noun.gender][NOMINATIVE], english


@dataclass(frozen=True)
class Clause:
    """A subject, a verb and its complements. Word order depends on the type of clause in German, but not in English."""

    subject: Subject
    verb: Verb
    before_place: str  # German: definite and dative objects
    place: str
    after_place: str  # German: indefinite and prepositional objects, and directions
    english_complement: str
    english_place: str

    @property
    def _finite(self) -> str:
        return self.verb.infinitive if self.subject.plural else self.verb.singular

    @property
    def _middle_field(self) -> str:
        return join(self.before_place, self.place, self.after_place)

    def german(self) -> str:
        """The main clause with the subject first and the verb second."""
        return join(self.subject.german, self._finite, self._middle_field, self.verb.particle.strip())

    def german_fronted(self, front: str) -> str:
        """The main clause with `front` first, the verb second and the subject third."""
        return join(front, self._finite, self.subject.german, self._middle_field, self.verb.particle.strip())

    def german_verb_final(self, subject: str) -> str:
        """The subordinate clause with the verb last; a separable verb is one word there."""
        return join(subject, self._middle_field, self.verb.particle + self._finite)

    def german_attempt(self, front: str) -> str:
        """The main clause with `versucht, … zu …`, with `front` first unless it is empty."""
        finite = "versuchen" if self.subject.plural else "versucht"
        start = join(front, finite, self.subject.german) if front else join(self.subject.german, finite)
        particle, infinitive = self.verb.particle, self.verb.infinitive
        to = f"{particle}zu{infinitive}" if particle else f"zu {infinitive}"
        return f"{start}, {join(self.before_place, self.after_place, to)}"

    def english(self, subject: str = "") -> str:
        """The clause in the present progressive; if `subject` is not empty, it replaces the subject."""
        be = "are" if self.subject.plural else "is"
        return join(
            subject or self.subject.english, be, self.verb.participle, self.english_complement, self.english_place
        )

    def english_attempt(self) -> str:
        """The clause with `is trying to`."""
        be = "are" if self.subject.plural else "is"
        return join(self.subject.english, be, "trying to", self.verb.base, self.english_complement)
