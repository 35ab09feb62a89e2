"""Subjects, places and clauses of the built-in corpus, drawn at random where the lexicon lets them meet."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from dragoman.corpus.synthetic.captions.grammar import Clause, NounPhrase, Subject, join, prepositional
from dragoman.corpus.synthetic.captions.lexicon import DATIVE, NOMINATIVE, Activity, Adjective, Noun, Place, lexicon

SINGULAR = ("a", "a", "the")
INDEFINITE_PLURAL = ("two", "three", "four", "five", "some", "many")
PLURAL = (*INDEFINITE_PLURAL, "the", "the", "the two", "the three")

_Item = TypeVar("_Item")


class Unfit(Exception):  # noqa: N818 (no error: the draw is thrown away)
    """This draw makes no sensible sentence."""


class PhraseWriter:
    """Draws phrases and clauses; `combinations` collects the word combinations in them.

    A combination is an adjective with its noun, a subject with its verb, or a verb with a noun after it
    (object, recipient, tool or place), named in English.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random  # the one method whose numbers are the same in every version
        self._lexicon = lexicon()
        self._clothes = [
            [noun for noun in self._lexicon.nouns if not noun.tags.isdisjoint(tags)]
            for tags in (("bodywear", "topwear", "hair"), ("bodywear", "topwear", "hair", "womenswear"))
        ]
        self.combinations: list[tuple[str, str]] = []

    def _pick(self, items: Sequence[_Item]) -> _Item:
        if not items:
            raise Unfit
        return items[int(self._random() * len(items))]

    def _chance(self, probability: float) -> bool:
        return self._random() < probability

    def _note_subject(self, noun: Noun, activity: Activity) -> None:
        self.combinations.append((noun.english, activity.verb.participle.split()[0]))

    def _note_complement(self, activity: Activity, noun: Noun) -> None:
        self.combinations.append((activity.verb.participle.split()[0], noun.english))

    # Clauses

    def _place(self, activity: Activity, probability: float) -> Place | None:
        """A place, with this probability where the activity can do without."""
        wanted = "short" not in activity.flags or self._chance(probability)
        return self._pick(activity.places) if wanted and activity.places else None

    def _clause(self, activity: Activity, subject: Subject, place: Place | None) -> Clause:
        if "dull" in activity.flags and not {"laughing", "smiling"}.isdisjoint(subject.english.split()):
            raise Unfit
        phrases = self._complements(activity, subject)
        nouns = [*subject.nouns, *(phrase.noun for _, phrase in phrases), *([place.noun] if place else [])]
        if len(set(nouns)) < len(nouns):
            raise Unfit
        early = [german for german, phrase in phrases if _is_early(activity, phrase)]
        late = [german for german, phrase in phrases if not _is_early(activity, phrase)]
        english = [phrase.english for _, phrase in phrases]
        if activity.tool and not place and self._chance(0.5):
            self._note_complement(activity, activity.tool)
            tool = NounPhrase("a", (), activity.tool)
            late.append(prepositional("mit", DATIVE, tool))
            english.append(f"with {tool.english}")
        german_place, english_place = self._located(activity, place, subject) if place else ("", "")
        if "go" in activity.flags:
            late.append(german_place)
            german_place = ""
        return Clause(subject, activity.verb, join(*early), german_place, join(*late), join(*english), english_place)

    def _complements(self, activity: Activity, subject: Subject) -> list[tuple[str, NounPhrase]]:
        """Recipient and object, in German and to be."""
        phrases = []
        if activity.recipients:
            recipient = self._object(activity, activity.recipients, subject, plural=False)
            phrases.append((recipient.german(DATIVE), recipient))
        if "bare" in activity.flags:
            music = NounPhrase("the", (), self._pick(activity.objects))
            self._note_complement(activity, music.noun)
            phrases.append((music.noun.singular, music))
        elif activity.objects:
            phrase = self._object(activity, activity.objects, subject, plural=not activity.recipients)
            preposition = activity.preposition
            german = prepositional(preposition, activity.case, phrase) if preposition else phrase.german(activity.case)
            phrases.append((german, phrase))
        return phrases

    def _object(self, activity: Activity, nouns: Sequence[Noun], subject: Subject, plural: bool) -> NounPhrase:
        noun = self._pick(nouns)
        self._note_complement(activity, noun)
        if "each" in activity.flags:
            if subject.many and not noun.plural:
                raise Unfit
            determiners = ("",) if subject.many else ("a",) if "wear" in activity.flags else SINGULAR
            return self._phrase(self._pick(determiners), noun, plural=subject.many)
        if "own" in activity.flags and subject.owner and self._chance(0.35) and _may_own(subject, noun):
            return self._phrase(subject.owner, noun)
        if "unique" in noun.tags or "kin" in noun.tags:
            return self._phrase("the", noun)
        if plural and noun.plural and "one" not in activity.flags and self._chance(0.3):
            return self._phrase(self._pick(("", *PLURAL)), noun, plural=True)
        return self._phrase(self._pick(SINGULAR), noun)

    def _located(self, activity: Activity, place: Place, subject: Subject) -> tuple[str, str]:
        if subject.many and "small" in place.tags:
            raise Unfit
        self._note_complement(activity, place.noun)
        phrase = self._phrase("the" if place.definite else self._pick(("a", "the")), place.noun, adjectives=0.25)
        return prepositional(place.preposition, place.case, phrase), f"{place.english} {phrase.english}"

    # Subjects

    def _subject(self, activity: Activity) -> Subject:
        noun = self._pick(activity.subjects)
        kind = self._random()
        if kind < 0.07:
            return self._couple(activity, noun)
        subject = self._group(activity, noun) if kind < 0.14 else self._single(activity, noun)
        dressed = "person" in noun.tags and activity.flags.isdisjoint(("wear", "unclothed")) and self._chance(0.22)
        return self._dressed(subject) if dressed else subject

    def _single(self, activity: Activity, noun: Noun) -> Subject:
        self._note_subject(noun, activity)
        plural = not noun.singular or self._chance(0.32)
        phrase = self._phrase(self._pick(PLURAL if plural else SINGULAR), noun, plural)
        owner = "his" if "he" in noun.tags else "her" if "she" in noun.tags else ""
        return Subject(
            phrase.german(NOMINATIVE),
            phrase.english,
            (noun,),
            plural=plural,
            many=plural or "crowd" in noun.tags,
            owner="their" if plural and "person" in noun.tags else owner,
        )

    def _group(self, activity: Activity, noun: Noun) -> Subject:
        if "kin" in noun.tags:
            raise Unfit
        self._note_subject(noun, activity)
        members = self._phrase("", noun, plural=True)
        german, english = f"eine Gruppe von {members.german(DATIVE)}", f"a group of {members.english}"
        return Subject(german, english, (noun,), plural=False, many=True)

    def _couple(self, activity: Activity, noun: Noun) -> Subject:
        nouns = (noun, self._pick(activity.subjects))
        kinds = {"animal" in noun.tags for noun in nouns}
        if nouns[0] is nouns[1] or len(kinds) == 2 or not all(noun.singular for noun in nouns):
            raise Unfit
        for member in nouns:
            self._note_subject(member, activity)
        determiner = self._pick(("a", "the"))
        phrases = [self._phrase(determiner, noun, adjectives=0.25) for noun in nouns]
        return Subject(
            " und ".join(phrase.german(NOMINATIVE) for phrase in phrases),
            " and ".join(phrase.english for phrase in phrases),
            nouns,
            plural=True,
            many=True,
            owner="" if True in kinds else "their",
        )

    def _dressed(self, subject: Subject) -> Subject:
        piece = self._pick(self._clothes["female" in subject.nouns[0].tags])
        if "hair" in piece.tags and "blond" in subject.english.split():
            raise Unfit
        german, english = ("in", "in") if piece.tags.isdisjoint({"topwear", "hair"}) else ("mit", "with")
        if "hair" in piece.tags:
            phrase = self._phrase("", piece, plural=True, adjectives=1.0)
        else:
            phrase = self._phrase("" if subject.many else "a", piece, plural=subject.many, adjectives=0.7)
        return replace(
            subject,
            german=f"{subject.german} {prepositional(german, DATIVE, phrase)}",
            english=f"{subject.english} {english} {phrase.english}",
        )

    # Noun phrases

    def _phrase(self, determiner: str, noun: Noun, plural: bool = False, adjectives: float = 0.45) -> NounPhrase:
        chosen = self._adjectives(noun) if self._chance(adjectives) else ()
        self.combinations += [(adjective.english, noun.english) for adjective in chosen]
        return NounPhrase(determiner, chosen, noun, plural)

    def _adjectives(self, noun: Noun) -> tuple[Adjective, ...]:
        fitting = self._lexicon.adjectives[noun]
        qualities = [adjective for adjective in fitting if not adjective.color]
        colors = [adjective for adjective in fitting if adjective.color]
        if qualities and colors and self._chance(0.15):
            return self._pick(qualities), self._pick(colors)
        return (self._pick(fitting),) if fitting else ()


def _is_early(activity: Activity, phrase: NounPhrase) -> bool:
    """Whether the German middle field has the phrase before the place."""
    if activity.preposition or "bare" in activity.flags:
        return False
    indefinite = phrase.determiner in ("", "a", *INDEFINITE_PLURAL)
    return activity.case == DATIVE or phrase.noun in activity.recipients or not indefinite


def _may_own(subject: Subject, noun: Noun) -> bool:
    child = "child" in subject.nouns[0].tags
    return noun.english == "child" if not child and "person" in noun.tags else noun.english != "child"
