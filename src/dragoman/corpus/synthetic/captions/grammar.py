"""Inflection and word order of the built-in corpus: from words to phrases and clauses in both languages."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.corpus.synthetic.captions.lexicon import DATIVE, NOMINATIVE, Adjective, Noun, Verb

# nominative, accusative, dative; p is the plural of every gender
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
    """The words that are not empty, with single spaces."""
    return " ".join(filter(None, words))


@dataclass(frozen=True)
class NounPhrase:
    """A determiner (named in English), adjectives and a noun."""

    determiner: str
    adjectives: tuple[Adjective, ...]
    noun: Noun
    plural: bool = False

    def german(self, case: int) -> str:
        """The phrase, inflected."""
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
        assert self.plural, "the corpus has no bare singulars with adjectives"
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
        """The phrase in English, with a or an."""
        noun = self.noun.english_plural if self.plural else self.noun.english
        words = join(*(adjective.english for adjective in self.adjectives), noun)
        vowel = words[0] in "aeiou" and not words.startswith("uni")
        return join("an" if self.determiner == "a" and vowel else self.determiner, words)


def prepositional(preposition: str, case: int, phrase: NounPhrase) -> str:
    """A German prepositional phrase, contracted where German contracts: `im Park`."""
    words = f"{preposition} {phrase.german(case)}"
    first, second, *rest = words.split()
    return join(_CONTRACTIONS.get(f"{first} {second}", f"{first} {second}"), *rest)


@dataclass(frozen=True)
class Subject:
    """Who acts, in both languages; `plural` is the verb's number, `many` the number in meaning."""

    german: str
    english: str
    nouns: tuple[Noun, ...]
    plural: bool
    many: bool
    owner: str = ""  # his, her or their

    @property
    def relative_pronouns(self) -> tuple[str, str]:
        """The nominative relative pronoun in both languages."""
        (noun,) = self.nouns
        english = "that" if "animal" in noun.tags else "who"
        return _DEFINITE["p" if self.plural else noun.gender][NOMINATIVE], english


@dataclass(frozen=True)
class Clause:
    """A subject, a verb and all around it; German orders it by where it stands, English always alike."""

    subject: Subject
    verb: Verb
    early: str  # what the German middle field has before the place: definite and dative objects
    place: str
    late: str  # and after it: indefinite and prepositional objects, where to
    english_complement: str
    english_place: str

    @property
    def _finite(self) -> str:
        return self.verb.infinitive if self.subject.plural else self.verb.singular

    def german(self) -> str:
        """Subject first, verb second."""
        return join(self.subject.german, self._finite, self.early, self.place, self.late, self.verb.particle.strip())

    def german_after(self, front: str) -> str:
        """Verb second after `front`, which is not the subject."""
        return join(
            front, self._finite, self.subject.german, self.early, self.place, self.late, self.verb.particle.strip()
        )

    def german_final(self, subject: str) -> str:
        """Verb last, as in subordinate clauses; a separable verb stands in one word."""
        return join(subject, self.early, self.place, self.late, self.verb.particle + self._finite)

    def german_attempt(self, front: str) -> str:
        """`versucht, ... zu fangen` with the verb second, after `front` if there is one."""
        finite = "versuchen" if self.subject.plural else "versucht"
        start = join(front, finite, self.subject.german) if front else join(self.subject.german, finite)
        particle, infinitive = self.verb.particle, self.verb.infinitive
        to = f"{particle}zu{infinitive}" if particle else f"zu {infinitive}"
        return f"{start}, {join(self.early, self.late, to)}"

    def english(self, subject: str = "") -> str:
        """The subject, or `subject` in its place, is doing something somewhere."""
        be = "are" if self.subject.plural else "is"
        return join(
            subject or self.subject.english, be, self.verb.participle, self.english_complement, self.english_place
        )

    def english_attempt(self) -> str:
        """The subject is trying to do something."""
        be = "are" if self.subject.plural else "is"
        return join(self.subject.english, be, "trying to", self.verb.base, self.english_complement)
