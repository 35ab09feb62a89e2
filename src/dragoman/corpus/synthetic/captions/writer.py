"""Sentences of the built-in corpus, drawn one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dragoman.corpus.synthetic.captions.grammar import NounPhrase, Subject
from dragoman.corpus.synthetic.captions.lexicon import NOMINATIVE, Activity, Noun, Place
from dragoman.corpus.synthetic.captions.phrases import INDEFINITE_PLURAL, PLURAL, SINGULAR, PhraseWriter, Unfit

_WORDS = range(4, 21)
_TIMES = (("Am Morgen", "In the morning"), ("Am Nachmittag", "In the afternoon"), ("Am Abend", "In the evening"))

_Pair = tuple[str, str]


class Writer(PhraseWriter):
    """Draws sentences; `combinations` are the word combinations of the latest one."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._states = self._flagged("thing")
        self._activities = [activity for activity in self._lexicon.activities if activity not in self._states]
        self._attempts = self._flagged("try")
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

    def sentence(self) -> _Pair:
        """A German sentence and its translation."""
        while True:
            self.combinations = []
            try:
                pair = self._pick(self._patterns)()
            except Unfit:
                continue
            if all(len(text.split()) in _WORDS for text in pair):
                german, english = (text[0].upper() + text[1:] + "." for text in pair)
                return german, english

    def _flagged(self, flag: str) -> list[Activity]:
        return [activity for activity in self._lexicon.activities if flag in activity.flags]

    def _plain(self) -> _Pair:
        activity = self._pick(self._activities)
        clause = self._clause(activity, self._subject(activity), self._place(activity, 0.5))
        return clause.german(), clause.english()

    def _fronted(self) -> _Pair:
        activity = self._pick(self._activities)
        if "go" in activity.flags or not activity.places:
            raise Unfit
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
            raise Unfit
        self._note_subject(subject.nouns[0], relative)
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
            raise Unfit
        place = self._place(first, 0.3)
        settings = (place,) if place else first.places
        if not _meet(settings, second.places) or "short" not in second.flags:
            raise Unfit
        subjects = [self._single(activity, self._pick(activity.subjects)) for activity in (first, second)]
        one, other = self._clause(first, subjects[0], place), self._clause(second, subjects[1], None)
        if _mentions(one.english(), subjects[1].nouns[0]) or _mentions(other.english(), subjects[0].nouns[0]):
            raise Unfit
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
        determiners = (INDEFINITE_PLURAL if plural else ("a",)) if there else (PLURAL if plural else SINGULAR)
        self._note_subject(noun, activity)
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


def _meet(places: Sequence[Place], others: Sequence[Place]) -> bool:
    return not places or not others or any(place in others for place in places)


def _mentions(english: str, noun: Noun) -> bool:
    return not {noun.english, noun.english_plural}.isdisjoint(english.split())
