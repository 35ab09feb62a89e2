"""The words of the captions: parses `tables` and links the words to each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from dragoman.corpus.synthetic.captions.tables import ACTIVITIES, COLORS, NOUNS, PLACES, QUALITIES

NOMINATIVE, ACCUSATIVE, DATIVE = range(3)


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun in both languages; a singular or plural that the captions never use is empty."""

    gender: str  # m, f or n
    singular: str
    oblique: str  # accusative and dative singular; differs from `singular` in weak nouns
    plural: str
    english: str
    english_plural: str
    tags: frozenset[str]


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective: its predicative form, the stem for endings, and its translation."""

    german: str
    stem: str
    english: str
    color: bool


@dataclass(frozen=True, eq=False)
class Place:
    """A preposition with its case and noun: a location or a direction."""

    preposition: str
    case: int
    noun: Noun
    english: str
    definite: bool
    tags: frozenset[str]


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb in the forms that captions use; `particle` is empty unless the verb is separable."""

    infinitive: str  # also third person plural
    singular: str
    particle: str
    participle: str  # English: "picking up"
    base: str  # English: "pick up", or empty


@dataclass(frozen=True, eq=False)
class Activity:
    """A verb with the words that it can be combined with."""

    verb: Verb
    subjects: tuple[Noun, ...]
    preposition: str
    case: int
    objects: tuple[Noun, ...]
    recipients: tuple[Noun, ...]
    tool: Noun | None
    places: tuple[Place, ...]
    flags: frozenset[str]


@dataclass(frozen=True)
class Lexicon:
    """All words, linked to each other."""

    nouns: tuple[Noun, ...]
    adjectives: dict[Noun, tuple[Adjective, ...]]
    activities: tuple[Activity, ...]


def _noun(line: str) -> Noun:
    german, _, rest = line.partition(" = ")
    english, _, tags = rest.partition(" : ")
    article, forms, plural = german.split()
    singular, _, oblique = forms.strip("-").partition("/")
    word, *irregular = english.split()
    gender = {"der": "m", "die": "f", "das": "n"}[article]
    return Noun(
        gender=gender,
        singular=singular,
        oblique=oblique or singular,
        plural=plural.strip("-"),
        english=word,
        english_plural=irregular[0] if irregular else word + "s",
        tags=frozenset([word, *tags.split()]),
    )


def _adjectives(nouns: tuple[Noun, ...]) -> dict[Noun, tuple[Adjective, ...]]:
    by_noun: dict[Noun, tuple[Adjective, ...]] = dict.fromkeys(nouns, ())
    for table in (QUALITIES, COLORS):
        for line in table.strip().splitlines():
            words, _, tags = line.partition(" : ")
            german, english = words.split()
            base, _, stem = german.partition("/")
            adjective = Adjective(base, stem or base, english, color=table is COLORS)
            for noun in _tagged(nouns, tags):
                by_noun[noun] += (adjective,)
    return by_noun


def _tagged(nouns: tuple[Noun, ...], tags: str) -> tuple[Noun, ...]:
    wanted = tags.split()
    return tuple(noun for noun in nouns if not noun.tags.isdisjoint(wanted))


def _place(line: str, nouns: dict[str, Noun]) -> Place:
    german, _, rest = line.partition(" = ")
    english, _, tags = rest.partition(" : ")
    preposition, noun = german.lstrip("!>").split()
    accusative = german.startswith(">") or preposition in ("durch", "um")
    moves = accusative or preposition in ("aus", "von", "zu")
    return Place(
        preposition=preposition,
        case=ACCUSATIVE if accusative else DATIVE,
        noun=nouns[noun],
        english=english,
        definite=german.startswith("!") or "unique" in nouns[noun].tags,
        tags=frozenset([*tags.split(), *([] if moves else [noun])]),
    )


def _activity(line: str, nouns: tuple[Noun, ...], places: tuple[Place, ...]) -> Activity:
    subjects, verb, around, where, flags = (cell.strip() for cell in line.split("|"))
    german, _, english = verb.partition(" = ")
    infinitive, singular, *particle = german.split()
    participle, _, base = english.partition(", ")
    around, _, tool = around.partition(" + ")
    kind, _, objects = around.partition(" ")
    preposition, _, case = kind.rpartition("+")
    objects, _, recipients = objects.partition(" to ")
    return Activity(
        verb=Verb(infinitive, singular, "".join(particle).replace("_", " "), participle, base),
        subjects=_tagged(nouns, subjects),
        preposition=preposition,
        case=DATIVE if case == "dat" else ACCUSATIVE,
        objects=_tagged(nouns, objects),
        recipients=_tagged(nouns, recipients),
        tool=next((noun for noun in nouns if noun.english == tool), None),
        places=tuple(place for place in places if not place.tags.isdisjoint(where.split())),
        flags=frozenset([kind, *flags.split()]),
    )


@cache
def lexicon() -> Lexicon:
    """The lexicon; the tables are parsed once."""
    nouns = tuple(_noun(line) for line in NOUNS.strip().splitlines() if line)
    by_name = {noun.english: noun for noun in nouns}
    assert len(by_name) == len(nouns), "English singulars identify the nouns"
    places = tuple(_place(line, by_name) for line in PLACES.strip().splitlines())
    activities = tuple(_activity(line, nouns, places) for line in ACTIVITIES.strip().splitlines())
    return Lexicon(nouns, _adjectives(nouns), activities)
