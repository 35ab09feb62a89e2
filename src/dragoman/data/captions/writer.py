"""Sentences of the built-in corpus, drawn one after another from the lexicon and the grammar."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from dragoman.data.captions.grammar import Clause, NounPhrase, Subject, join, prepositional
from dragoman.data.captions.lexicon import (
    DATIVE,
    NOMINATIVE,
    Activity,
    Adjective,
    Noun,
    Place,
    lexicon,
)

_WORDS = range(4, 21)
_TIMES = (("Am Morgen", "In the morning"), ("Am Nachmittag", "In the afternoon"), ("Am Abend", "In the evening"))
_SINGULAR = ("a", "a", "the")
_PLURAL = ("two", "three", "four", "five", "some", "many", "the", "the", "the two", "the three")

_Item = TypeVar("_Item")
_Pair = tuple[str, str]


class _Unfit(Exception):  # noqa: N818 (no error: the draw is thrown away)
    """This draw makes no sensible sentence."""


class Writer:
    """Draws sentences; `combinations` are the word combinations of the latest one.

    A combination is an adjective with its noun, a subject with its verb, or a verb with a noun after it
    (object, recipient, tool or place), named in English.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random  # the one method whose numbers are the same in every version
        self._lexicon = lexicon()
        self._states = self._flagged("thing")
        self._activities = [activity for activity in self._lexicon.activities if activity not in self._states]
        self._attempts = self._flagged("try")
        self._clothes = [
            [noun for noun in self._lexicon.nouns if not noun.tags.isdisjoint(tags)]
            for tags in (("bodywear", "topwear", "hair"), ("bodywear", "topwear", "hair", "womenswear"))
        ]
        self._companions = {flag: self._flagged(flag) for flag in ("wear", "posture", "seated", "busy")}
        weights: dict[Callable[[], _Pair], int] = {
            self._plain: 10,
            self._fronted: 8,
            self._timed: 3,
            self._relative: 6,
            self._while: 7,
            self._attempt: 2,
            self._thing: 2,
            self._predicate: 2,
        }
        self._patterns = [pattern for pattern, weight in weights.items() for _ in range(weight)]
        self.combinations: list[tuple[str, str]] = []

    def sentence(self) -> _Pair:
        """A German sentence and its translation."""
        while True:
            self.combinations = []
            try:
                pair = self._pick(self._patterns)()
            except _Unfit:
                continue
            if all(len(text.split()) in _WORDS for text in pair):
                german, english = (text[0].upper() + text[1:] + "." for text in pair)
                return german, english

    def _flagged(self, flag: str) -> list[Activity]:
        return [activity for activity in self._lexicon.activities if flag in activity.flags]

    def _pick(self, items: Sequence[_Item]) -> _Item:
        if not items:
            raise _Unfit
        return items[int(self._random() * len(items))]

    def _chance(self, probability: float) -> bool:
        return self._random() < probability

    def _note(self, activity: Activity, noun: Noun) -> None:
        self.combinations.append((activity.verb.participle.split()[0], noun.english))

    # Sentences

    def _plain(self) -> _Pair:
        activity = self._pick(self._activities)
        clause = self._clause(activity, self._subject(activity), self._place(activity, 0.5))
        return clause.german(), clause.english()

    def _fronted(self) -> _Pair:
        activity = self._pick(self._activities)
        if "go" in activity.flags or not activity.places:
            raise _Unfit
        clause = self._clause(activity, self._subject(activity), self._place(activity, 1.0))
        german_place, english_place = clause.place, clause.english_place
        clause = replace(clause, place="", english_place="")
        return clause.german_after(german_place), f"{english_place}, {clause.english()}"

    def _timed(self) -> _Pair:
        activity = self._pick(self._activities)
        clause = self._clause(activity, self._subject(activity), self._place(activity, 0.4))
        german, english = self._pick(_TIMES)
        return clause.german_after(german), f"{english}, {clause.english()}"

    def _relative(self) -> _Pair:
        main = self._pick(self._activities)
        subject = self._single(main, self._pick(main.subjects))
        flag, main_place, relative_place = "wear", 0.5, 0.0
        if "idle" in main.flags and self._chance(0.5):
            flag, main_place = "busy", 1.0
        elif "posture" in main.flags and self._chance(0.7):
            flag, main_place = "seated", 1.0
        elif "seated" in main.flags and self._chance(0.7):
            flag, main_place, relative_place = "posture", 0.0, 1.0
        relative = self._pick([choice for choice in self._companions[flag] if subject.nouns[0] in choice.subjects])
        if relative is main or flag in main.flags or (flag == "wear" and "unclothed" in main.flags):
            raise _Unfit
        self.combinations.append((subject.nouns[0].english, relative.verb.participle.split()[0]))
        inner = self._clause(relative, subject, self._place(relative, relative_place))
        german, english = subject.relative_pronouns
        whole = replace(
            subject,
            german=f"{subject.german}, {inner.german_final(german)},",
            english=f"{subject.english} {inner.english(english)}",
        )
        clause = self._clause(main, whole, self._place(main, main_place))
        return clause.german(), clause.english()

    def _while(self) -> _Pair:
        first, second = self._pick(self._activities), self._pick(self._activities)
        if "wear" in first.flags or "wear" in second.flags:
            raise _Unfit
        place = self._place(first, 0.3)
        settings = (place,) if place else first.places
        if not _meet(settings, second.places) or "short" not in second.flags:
            raise _Unfit
        subjects = [self._single(activity, self._pick(activity.subjects)) for activity in (first, second)]
        if subjects[0].nouns == subjects[1].nouns:
            raise _Unfit
        one, other = self._clause(first, subjects[0], place), self._clause(second, subjects[1], None)
        if self._chance(0.5):
            german = f"{one.german()}, {other.german_final('während ' + subjects[1].german)}"
            return german, f"{one.english()} while {other.english()}"
        german = f"{one.german_final('während ' + subjects[0].german)}, {other.german_after('')}"
        return german, f"while {one.english()}, {other.english()}"

    def _attempt(self) -> _Pair:
        activity = self._pick(self._attempts)
        front = self._place(activity, 1.0) if activity.places and self._chance(0.4) else None
        clause = self._clause(activity, self._subject(activity), front)
        if not front:
            return clause.german_attempt(""), clause.english_attempt()
        return clause.german_attempt(clause.place), f"{clause.english_place}, {clause.english_attempt()}"

    def _thing(self) -> _Pair:
        activity = self._pick(self._states)
        noun = self._pick(activity.subjects)
        plural = self._chance(0.4)
        there = self._chance(0.6)
        determiners = (_PLURAL[:6] if plural else _SINGULAR[:1]) if there else (_PLURAL if plural else _SINGULAR)
        self.combinations.append((noun.english, activity.verb.participle))
        phrase = self._phrase(self._pick(determiners), noun, plural, adjectives=0.6)
        subject = Subject(phrase.german(NOMINATIVE), phrase.english, (noun,), plural, many=False)
        clause = self._clause(activity, subject, self._place(activity, 1.0))
        if not there:
            return clause.german(), clause.english()
        german = replace(clause, place="").german_after(clause.place)
        be = "are" if plural else "is"
        return german, f"there {be} {phrase.english} {activity.verb.participle} {clause.english_place}"

    def _predicate(self) -> _Pair:
        noun = self._pick([noun for noun in self._lexicon.nouns if noun.singular and noun.plural])
        fitting = self._lexicon.adjectives[noun]
        plural = self._chance(0.4)
        color = self._chance(0.4)
        quality = self._pick([choice for choice in fitting if not choice.color and choice.german[-2:] != "nd"])
        colors = tuple(choice for choice in fitting if choice.color)
        inside = (self._pick(colors),) if color else ()
        phrase = NounPhrase(self._pick(("the", "the two", "the three") if plural else ("the",)), inside, noun, plural)
        self.combinations += [(adjective.english, noun.english) for adjective in (quality, *inside)]
        verbs = ("sind", "are") if plural else ("ist", "is")
        return (
            f"{phrase.german(NOMINATIVE)} {verbs[0]} {quality.german}",
            f"{phrase.english} {verbs[1]} {quality.english}",
        )

    # Clauses

    def _place(self, activity: Activity, probability: float) -> Place | None:
        """A place, with this probability where the activity can do without."""
        wanted = "short" not in activity.flags or self._chance(probability)
        return self._pick(activity.places) if wanted and activity.places else None

    def _clause(self, activity: Activity, subject: Subject, place: Place | None) -> Clause:
        if "dull" in activity.flags and not {"laughing", "smiling"}.isdisjoint(subject.english.split()):
            raise _Unfit
        phrases = self._complements(activity, subject)
        nouns = [*subject.nouns, *(phrase.noun for _, phrase in phrases), *([place.noun] if place else [])]
        if len(set(nouns)) < len(nouns):
            raise _Unfit
        early = [german for german, phrase in phrases if _is_early(activity, phrase)]
        late = [german for german, phrase in phrases if not _is_early(activity, phrase)]
        english = [phrase.english for _, phrase in phrases]
        if activity.tool and not place and self._chance(0.5):
            self._note(activity, activity.tool)
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
            self._note(activity, music.noun)
            phrases.append((music.noun.singular, music))
        elif activity.objects:
            phrase = self._object(activity, activity.objects, subject, plural=not activity.recipients)
            preposition = activity.preposition
            german = prepositional(preposition, activity.case, phrase) if preposition else phrase.german(activity.case)
            phrases.append((german, phrase))
        return phrases

    def _object(self, activity: Activity, nouns: Sequence[Noun], subject: Subject, plural: bool) -> NounPhrase:
        noun = self._pick(nouns)
        self._note(activity, noun)
        if "each" in activity.flags:
            if subject.many and not noun.plural:
                raise _Unfit
            determiners = ("",) if subject.many else ("a",) if "wear" in activity.flags else _SINGULAR
            return self._phrase(self._pick(determiners), noun, plural=subject.many)
        if "own" in activity.flags and subject.owner and self._chance(0.35) and _may_own(subject, noun):
            return self._phrase(subject.owner, noun)
        if "unique" in noun.tags or "kin" in noun.tags:
            return self._phrase("the", noun)
        if plural and noun.plural and "one" not in activity.flags and self._chance(0.3):
            return self._phrase(self._pick(("", *_PLURAL)), noun, plural=True)
        return self._phrase(self._pick(_SINGULAR), noun)

    def _located(self, activity: Activity, place: Place, subject: Subject) -> _Pair:
        if subject.many and "small" in place.tags:
            raise _Unfit
        self._note(activity, place.noun)
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
        self.combinations.append((noun.english, activity.verb.participle.split()[0]))
        plural = not noun.singular or self._chance(0.32)
        phrase = self._phrase(self._pick(_PLURAL if plural else _SINGULAR), noun, plural)
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
            raise _Unfit
        self.combinations.append((noun.english, activity.verb.participle.split()[0]))
        members = self._phrase("", noun, plural=True)
        german, english = f"eine Gruppe von {members.german(DATIVE)}", f"a group of {members.english}"
        return Subject(german, english, (noun,), plural=False, many=True)

    def _couple(self, activity: Activity, noun: Noun) -> Subject:
        nouns = (noun, self._pick(activity.subjects))
        kinds = {"animal" in noun.tags for noun in nouns}
        if nouns[0] is nouns[1] or len(kinds) == 2 or not all(noun.singular for noun in nouns):
            raise _Unfit
        self.combinations += [(noun.english, activity.verb.participle.split()[0]) for noun in nouns]
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
            raise _Unfit
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
    indefinite = phrase.determiner in ("", "a", "some", "many", "two", "three", "four", "five")
    return activity.case == DATIVE or phrase.noun in activity.recipients or not indefinite


def _may_own(subject: Subject, noun: Noun) -> bool:
    child = "child" in subject.nouns[0].tags
    return noun.english == "child" if not child and "person" in noun.tags else noun.english != "child"


def _meet(places: Sequence[Place], others: Sequence[Place]) -> bool:
    return not places or not others or any(place in others for place in places)
