"""Random subjects, places and clauses, within the combinations that the lexicon allows."""

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


class RejectedDraw(Exception):  # noqa: N818 (not an error: the generator draws again)
    """The words drawn so far do not form a sensible sentence."""


class PhraseGenerator:
    """Draws random phrases and clauses, and collects their word combinations in `combinations`.

    A combination is an adjective with its noun, a subject with its verb, or a verb with a noun that follows it
    (object, recipient, tool or place), in English.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random  # the only method with the same numbers in every Python version
        self._lexicon = lexicon()
        self._clothes = [
            [noun for noun in self._lexicon.nouns if not noun.tags.isdisjoint(tags)]
            for tags in (("bodywear", "topwear", "hair"), ("bodywear", "topwear", "hair", "womenswear"))
        ]
        self.combinations: list[tuple[str, str]] = []

    def _pick(self, items: Sequence[_Item]) -> _Item:
        if not items:
            raise RejectedDraw
        return items[int(self._random() * len(items))]

    def _chance(self, probability: float) -> bool:
        return self._random() < probability

    def _record_subject(self, noun: Noun, activity: Activity) -> None:
        self.combinations.append((noun.english, activity.verb.participle.split()[0]))

    def _record_complement(self, activity: Activity, noun: Noun) -> None:
        self.combinations.append((activity.verb.participle.split()[0], noun.english))

    # Clauses

    def _place(self, activity: Activity, probability: float) -> Place | None:
        """A random place; if the activity is complete without one, only with this probability."""
        wanted = "short" not in activity.flags or self._chance(probability)
        return self._pick(activity.places) if wanted and activity.places else None

    def _clause(self, activity: Activity, subject: Subject, place: Place | None) -> Clause:
        if "dull" in activity.flags and not {"laughing", "smiling"}.isdisjoint(subject.english.split()):
            raise RejectedDraw
        phrases = self._complements(activity, subject)
        nouns = [*subject.nouns, *(phrase.noun for _, phrase in phrases), *([place.noun] if place else [])]
        if len(set(nouns)) < len(nouns):
            raise RejectedDraw
        before = [german for german, phrase in phrases if _precedes_place(activity, phrase)]
        after = [german for german, phrase in phrases if not _precedes_place(activity, phrase)]
        english = [phrase.english for _, phrase in phrases]
        if activity.tool and not place and self._chance(0.5):
            self._record_complement(activity, activity.tool)
            tool = NounPhrase("a", (), activity.tool)
            after.append(prepositional("mit", DATIVE, tool))
            english.append(f"with {tool.english}")
        german_place, english_place = self._place_phrase(activity, place, subject) if place else ("", "")
        if "go" in activity.flags:
            after.append(german_place)
            german_place = ""
        return Clause(subject, activity.verb, join(*before), german_place, join(*after), join(*english), english_place)

    def _complements(self, activity: Activity, subject: Subject) -> list[tuple[str, NounPhrase]]:
        """Recipient and object, each as German text and as a phrase."""
        phrases = []
        if activity.recipients:
            recipient = self._object(activity, activity.recipients, subject, plural=False)
            phrases.append((recipient.german(DATIVE), recipient))
        if "bare" in activity.flags:
            music = NounPhrase("the", (), self._pick(activity.objects))
            self._record_complement(activity, music.noun)
            phrases.append((music.noun.singular, music))
        elif activity.objects:
            phrase = self._object(activity, activity.objects, subject, plural=not activity.recipients)
            preposition = activity.preposition
            german = prepositional(preposition, activity.case, phrase) if preposition else phrase.german(activity.case)
            phrases.append((german, phrase))
        return phrases

    def _object(self, activity: Activity, nouns: Sequence[Noun], subject: Subject, plural: bool) -> NounPhrase:
        noun = self._pick(nouns)
        self._record_complement(activity, noun)
        if "each" in activity.flags:
            if subject.many and not noun.plural:
                raise RejectedDraw
            determiners = ("",) if subject.many else ("a",) if "wear" in activity.flags else SINGULAR
            return self._phrase(self._pick(determiners), noun, plural=subject.many)
        if "own" in activity.flags and subject.owner and self._chance(0.35) and _can_own(subject, noun):
            return self._phrase(subject.owner, noun)
        if "unique" in noun.tags or "kin" in noun.tags:
            return self._phrase("the", noun)
        if plural and noun.plural and "one" not in activity.flags and self._chance(0.3):
            return self._phrase(self._pick(("", *PLURAL)), noun, plural=True)
        return self._phrase(self._pick(SINGULAR), noun)

    def _place_phrase(self, activity: Activity, place: Place, subject: Subject) -> tuple[str, str]:
        if subject.many and "small" in place.tags:
            raise RejectedDraw
        self._record_complement(activity, place.noun)
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
        self._record_subject(noun, activity)
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
            raise RejectedDraw
        self._record_subject(noun, activity)
        members = self._phrase("", noun, plural=True)
        german, english = f"eine Gruppe von {members.german(DATIVE)}", f"a group of {members.english}"
        return Subject(german, english, (noun,), plural=False, many=True)

    def _couple(self, activity: Activity, noun: Noun) -> Subject:
        nouns = (noun, self._pick(activity.subjects))
        kinds = {"animal" in noun.tags for noun in nouns}
        if nouns[0] is nouns[1] or len(kinds) == 2 or not all(noun.singular for noun in nouns):
            raise RejectedDraw
        for member in nouns:
            self._record_subject(member, activity)
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
        garment = self._pick(self._clothes["female" in subject.nouns[0].tags])
        if "hair" in garment.tags and "blond" in subject.english.split():
            raise RejectedDraw
        german, english = ("in", "in") if garment.tags.isdisjoint({"topwear", "hair"}) else ("mit", "with")
        if "hair" in garment.tags:
            phrase = self._phrase("", garment, plural=True, adjectives=1.0)
        else:
            phrase = self._phrase("" if subject.many else "a", garment, plural=subject.many, adjectives=0.7)
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
        candidates = self._lexicon.adjectives[noun]
        qualities = [adjective for adjective in candidates if not adjective.color]
        colors = [adjective for adjective in candidates if adjective.color]
        if qualities and colors and self._chance(0.15):
            return self._pick(qualities), self._pick(colors)
        return (self._pick(candidates),) if candidates else ()


def _precedes_place(activity: Activity, phrase: NounPhrase) -> bool:
    """Whether the phrase precedes the place in a German clause."""
    if activity.preposition or "bare" in activity.flags:
        return False
    indefinite = phrase.determiner in ("", "a", *INDEFINITE_PLURAL)
    return activity.case == DATIVE or phrase.noun in activity.recipients or not indefinite


def _can_own(subject: Subject, noun: Noun) -> bool:
    child = "child" in subject.nouns[0].tags
    own_children = noun.english in ("child", "baby")
    return own_children if not child and "person" in noun.tags else not (child and own_children)
