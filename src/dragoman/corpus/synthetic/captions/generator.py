"""Random captions: the sentence patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dragoman.corpus.synthetic.captions.grammar import NounPhrase, Subject
from dragoman.corpus.synthetic.captions.lexicon import NOMINATIVE, Activity, Noun, Place
from dragoman.corpus.synthetic.captions.phrases import (
    INDEFINITE_PLURAL,
    PLURAL,
    SINGULAR,
    PhraseGenerator,
    RejectedDraw,
)

_LENGTHS = range(3, 21)  # words
_TIMES = (("Am Morgen", "In the morning"), ("Am Nachmittag", "In the afternoon"), ("Am Abend", "In the evening"))

_Pair = tuple[str, str]


class CaptionGenerator(PhraseGenerator):
    """Draws random captions; `combinations` contains the word combinations of the latest one."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._thing_activities = self._flagged("thing")
        self._activities = [one for one in self._lexicon.activities if one not in self._thing_activities]
        self._attempts = self._flagged("try")
        self._by_flag = {flag: self._flagged(flag) for flag in ("wear", "posture", "seated", "busy")}
        weights: dict[Callable[[], _Pair], int] = {
            self._plain: 10,
            self._place_first: 8,
            self._time_first: 3,
            self._relative_clause: 6,
            self._while_clause: 7,
            self._attempt: 2,
            self._thing: 2,
            self._predicate: 2,
        }
        self._patterns = [pattern for pattern, weight in weights.items() for _ in range(weight)]

    def sentence(self) -> _Pair:
        """A random German sentence and its English translation."""
        while True:
            self.combinations = []
            try:
                pair = self._pick(self._patterns)()
            except RejectedDraw:
                continue
            if all(len(text.split()) in _LENGTHS for text in pair):
                german, english = (text[0].upper() + text[1:] + "." for text in pair)
                return german, english

    def _flagged(self, flag: str) -> list[Activity]:
        return [activity for activity in self._lexicon.activities if flag in activity.flags]

    def _plain(self) -> _Pair:
        activity = self._pick(self._activities)
        clause = self._clause(activity, self._subject(activity), self._place(activity, 0.5))
        return clause.german(), clause.english()

    def _place_first(self) -> _Pair:
        activity = self._pick(self._activities)
        if "go" in activity.flags or not activity.places:
            raise RejectedDraw
        clause = self._clause(activity, self._subject(activity), self._place(activity, 1.0))
        german_place, english_place = clause.place, clause.english_place
        clause = replace(clause, place="", english_place="")
        return clause.german_fronted(german_place), f"{english_place}, {clause.english()}"

    def _time_first(self) -> _Pair:
        activity = self._pick(self._activities)
        clause = self._clause(activity, self._subject(activity), self._place(activity, 0.4))
        german, english = self._pick(_TIMES)
        return clause.german_fronted(german), f"{english}, {clause.english()}"

    def _relative_clause(self) -> _Pair:
        main = self._pick(self._activities)
        subject = self._single(main, self._pick(main.subjects))
        flag, main_place, relative_place = self._choose_relative(main)
        relative = self._pick([choice for choice in self._by_flag[flag] if subject.nouns[0] in choice.subjects])
        if relative is main or flag in main.flags or (flag == "wear" and "unclothed" in main.flags):
            raise RejectedDraw
        self._record_subject(subject.nouns[0], relative)
        inner = self._clause(relative, subject, self._place(relative, relative_place))
        german, english = subject.relative_pronouns
        whole = replace(
            subject,
            german=f"{subject.german}, {inner.german_verb_final(german)},",
            english=f"{subject.english} {inner.english(english)}",
        )
        clause = self._clause(main, whole, self._place(main, main_place))
        return clause.german(), clause.english()

    def _choose_relative(self, main: Activity) -> tuple[str, float, float]:
        """The flag of the activity in the relative clause, and the probabilities of a place in main and relative."""
        if "idle" in main.flags and self._chance(0.5):
            return "busy", 1.0, 0.0
        if "posture" in main.flags and self._chance(0.7):
            return "seated", 1.0, 0.0
        if "seated" in main.flags and self._chance(0.7):
            return "posture", 0.0, 1.0
        return "wear", 0.5, 0.0

    def _while_clause(self) -> _Pair:
        first, second = self._pick(self._activities), self._pick(self._activities)
        if "wear" in first.flags or "wear" in second.flags:
            raise RejectedDraw
        place = self._place(first, 0.3)
        if not _share_place((place,) if place else first.places, second.places) or "short" not in second.flags:
            raise RejectedDraw
        subjects = [self._single(activity, self._pick(activity.subjects)) for activity in (first, second)]
        one, other = self._clause(first, subjects[0], place), self._clause(second, subjects[1], None)
        if _mentions(one.english(), subjects[1].nouns[0]) or _mentions(other.english(), subjects[0].nouns[0]):
            raise RejectedDraw
        if self._chance(0.5):
            german = f"{one.german()}, {other.german_verb_final('während ' + subjects[1].german)}"
            return german, f"{one.english()} while {other.english()}"
        german = f"{one.german_verb_final('während ' + subjects[0].german)}, {other.german_fronted('')}"
        return german, f"while {one.english()}, {other.english()}"

    def _attempt(self) -> _Pair:
        activity = self._pick(self._attempts)
        front = self._place(activity, 1.0) if activity.places and self._chance(0.4) else None
        clause = self._clause(activity, self._subject(activity), front)
        if not front:
            return clause.german_attempt(""), clause.english_attempt()
        return clause.german_attempt(clause.place), f"{clause.english_place}, {clause.english_attempt()}"

    def _thing(self) -> _Pair:
        activity = self._pick(self._thing_activities)
        noun = self._pick(activity.subjects)
        plural = self._chance(0.4)
        there = self._chance(0.6)  # "there is a …"
        determiners = (INDEFINITE_PLURAL if plural else ("a",)) if there else (PLURAL if plural else SINGULAR)
        self._record_subject(noun, activity)
        phrase = self._phrase(self._pick(determiners), noun, plural, adjectives=0.6)
        subject = Subject(phrase.german(NOMINATIVE), phrase.english, (noun,), plural, many=False)
        clause = self._clause(activity, subject, self._place(activity, 1.0))
        if not there:
            return clause.german(), clause.english()
        german = replace(clause, place="").german_fronted(clause.place)
        be = "are" if plural else "is"
        return german, f"there {be} {phrase.english} {activity.verb.participle} {clause.english_place}"

    def _predicate(self) -> _Pair:
        noun = self._pick([noun for noun in self._lexicon.nouns if noun.singular and noun.plural])
        candidates = self._lexicon.adjectives[noun]
        plural = self._chance(0.4)
        has_color = self._chance(0.4)
        quality = self._pick([choice for choice in candidates if not choice.color and choice.german[-2:] != "nd"])
        colors = tuple(choice for choice in candidates if choice.color)
        attributes = (self._pick(colors),) if has_color else ()
        determiner = self._pick(("the", "the two", "the three") if plural else ("the",))
        phrase = NounPhrase(determiner, attributes, noun, plural)
        self.combinations += [(adjective.english, noun.english) for adjective in (quality, *attributes)]
        verbs = ("sind", "are") if plural else ("ist", "is")
        return (
            f"{phrase.german(NOMINATIVE)} {verbs[0]} {quality.german}",
            f"{phrase.english} {verbs[1]} {quality.english}",
        )


def _share_place(places: Sequence[Place], others: Sequence[Place]) -> bool:
    return not places or not others or any(place in others for place in places)


def _mentions(english: str, noun: Noun) -> bool:
    return not {noun.english, noun.english_plural}.isdisjoint(english.split())
