"""Answers of language models: what is wrong is repaired or rejected with its reason, and right answers remain."""

from __future__ import annotations

import pytest
from teacher_faults import FAULTS, as_json, prepare

from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Pair
from dragoman.synthesis import answer_checks, pair_checks
from dragoman.synthesis.answer_checks import SAME, Rejections, SameAnswers, check_answers
from dragoman.synthesis.answers import Rejected, read_answer, repair
from dragoman.synthesis.pair_checks import PairFilter

LANGUAGES = ("de", "en")
FOREIGN = [
    "Un perro negro corre por la playa con una pelota roja en la boca.",
    "Deux petites filles jouent dans le jardin derrière la maison.",
    "Muž v modré košili stojí na ulici a prodává zmrzlinu dětem.",
]
SIZE, ANSWERS = 10, 3


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    corpus = read_corpus("captions:train", source_language="de", target_language="en")
    return [pair for pair, _ in zip(corpus, range(1500), strict=False)]


@pytest.fixture(scope="module")
def pair_filter(pairs: list[Pair]) -> PairFilter:
    return PairFilter.compared_with(pairs, LANGUAGES)


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_repaired_or_rejected(name: str, pairs: list[Pair], pair_filter: PairFilter) -> None:
    for index in range(ANSWERS):
        part, place = pairs[SIZE * index : SIZE * (index + 1)], (4 * index + 1) % SIZE
        sources, targets = prepare(name, [pair.source for pair in part], [pair.target for pair in part], place)
        answer = FAULTS[name](sources, targets, place, FOREIGN[index])
        found = check_answers(sources, read_answer(answer.text, sources, cut=answer.cut), pair_filter)
        for read, target, fate in zip(found, targets, answer.fates, strict=True):
            assert read.reason in fate if isinstance(read, Rejected) else not fate and read == target, (read, fate)


def test_right_answers_remain(pairs: list[Pair], pair_filter: PairFilter) -> None:
    rejections = Rejections()
    for start in range(0, len(pairs), SIZE):
        part = pairs[start : start + SIZE]
        sources, targets = [pair.source for pair in part], [pair.target for pair in part]
        found = check_answers(sources, read_answer(as_json(targets), sources), pair_filter)
        for source, target, read in zip(sources, targets, found, strict=True):
            rejections.add(source, read)
            assert isinstance(read, Rejected) or read == target
    assert rejections.share < 0.01, rejections.table()


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Es tut mir leid, aber ich kann nicht kommen.", "I'm sorry, but I can't come."),
        ("Hier ist die Übersetzung: Hund.", "Here is the translation: dog."),
        ("»Er ist da«, sagte sie.", "“He is there,” she said."),
        ("Der Hund (ein Dackel) bellt (laut).", "The dog (a dachshund) barks (loudly)."),
        ("**Wichtig:** Nicht öffnen.", "**Important:** Do not open."),
        ("1. Öffnen Sie die Datei.", "1. Open the file."),
        ("# Überschrift", "# Heading"),
        ("- ein Punkt", "- an item"),
        ("Ich kann diesen Satz nicht übersetzen.", "I cannot translate this sentence."),
        ("Hinweis: Es regnet.", "Note: It rains."),
        ("A &amp; B", "A &amp; B"),
        ("Ja / Nein", "Yes / No"),
        ("Englisch: eine Sprache", "English: a language"),
        ("Sagen Sie mir, ob Sie etwas brauchen.", "Let me know if you need anything."),
        ("Er rief: Halt!", "He called: Stop!"),
        ("Er sagte „Hallo“.", 'He said "hello".'),
        ("Natürlich, sagte ich, geh.", "Of course I said: go."),
        ("Aus dem Englischen von John Smith", "Translated by John Smith"),
        ("Die Übersetzerin sagte, sie komme.", "The translator said: I come."),
        ("Alle # Objekte löschen", "# objects to delete"),
        ("„Komm“, sagte er.", "– Come, he said."),
        ("„Komm“, sagte er.", "- Come, he said."),
        ("_ Projekt", "प्रोजेक्ट (_ P)"),
        ("Ein <s>alter</s> Hund", "An <s>old</s> dog"),
        ("Ich kann diese Anfrage nicht bearbeiten.", "I cannot process this request."),
        ("Ich spreche die Sprache nicht.", "I don't speak the language."),
        ("Englisch als Sprache", "English as a language"),
        ("Die Richtlinie verbietet Hunde.", "The policy prohibits dogs."),
    ],
)
def test_what_the_source_has_is_no_addition(source: str, target: str) -> None:
    assert repair(source, target, 3, LANGUAGES) == target


def test_what_depends_on_no_other_answer_is_checked_once(pairs: list[Pair], pair_filter: PairFilter) -> None:
    """To learn what is usual, to watch the first answers, and to write: the same answers are checked three times."""
    sources, targets = [pair.source for pair in pairs[-50:]], [f"{pair.target} Indeed." for pair in pairs[-50:]]
    functions = answer_checks.remember_repair, pair_checks.quantity_problems, pair_checks.is_improbable
    before = [function.cache_info().misses for function in functions]
    for each in (PairFilter(LANGUAGES), pair_filter, PairFilter(LANGUAGES)):
        check_answers(sources, targets, each)
    calls = [function.cache_info().misses - number for function, number in zip(functions, before, strict=True)]
    assert max(calls[:2]) <= len(sources)
    assert min(calls) > 0.8 * len(sources)
    assert calls[2] <= 2 * len(sources), "of both sides"


def test_one_answer_for_many_sentences_is_no_translation(pairs: list[Pair]) -> None:
    """Few different sentences may have the same translation, and one sentence may occur often."""
    same = SameAnswers()
    for number, pair in enumerate(pairs[:500]):
        same.add(pair.source, pair.target)
        same.add("Ja.", "Yes.")
        same.add(f"Was {number}?", "What?")
        same.add(f"Was ist es {number % 10}?", "What is it?")
        assert not same.found
    for number, pair in enumerate(pairs[500:511]):
        same.add(pair.source, Rejected("too short", "Buy more.") if number % 2 else "Buy more.")
    assert same.found == {"Buy more."}
    for number in range(11):  # a whole sentence has few letters in Chinese
        same.add(f"他今天买了{number}本书", "You have reached the limit of your plan.")
    assert same.found == {"Buy more.", "You have reached the limit of your plan."}
    assert same.reject("Buy more.") == Rejected(SAME, "Buy more.")


def test_one_sentence_needs_no_number() -> None:
    assert read_answer("A dog runs.", ["Ein Hund läuft."]) == ["A dog runs."]
    assert read_answer("A dog runs.", ["Ein Hund läuft.", "Eine Katze schläft."])[0] == Rejected(
        "unreadable", "A dog runs."
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"1": "one", "2": "two"}',
        '["one", "two"]',
        '[{"id": 1, "text": "one"}, {"id": 2, "text": "two"}]',
        '{"translations": [{"translation": "two", "number": 2}, {"number": "1", "translation": "one"}]}',
        "1. one\n2. two",
        "1) one\n\n2) two",
        "**1.** one\n**2.** two",
        "[1] one\n[2] two",
        "| x |\n```\n1: one\n2: two\n```",
    ],
)
def test_forms_of_answers(text: str) -> None:
    assert read_answer(text, ["eins", "zwei"]) == ["one", "two"]


FENCED = '{"translations": [{"number": 1, "translation": "a ``` b"}, {"number": 2, "translation": "two"}]}'


@pytest.mark.parametrize(
    ("text", "sources", "expected"),
    [
        ('["one"]', ["eins", "zwei"], ["left out"] * 2),
        ('{"translations": ["one", "a", "b"]}', ["eins", "zwei"], ["split"] * 2),
        ('{"translation": "one"}', ["eins"], ["one"]),
        ('{"translation": "one"}', ["eins", "zwei"], ["left out"] * 2),
        ('[{"translation": "one"}, {"translation": "two"}]', ["eins", "zwei"], ["one", "two"]),
        ("1. <s>one</s>\n2. two", ["<s>eins</s>", "zwei"], ["<s>one</s>", "two"]),
        (FENCED, ["a ``` b", "zwei"], ["a ``` b", "two"]),
        (f"Sure:\n```json\n{FENCED}\n```\nDone.", ["a ``` b", "zwei"], ["a ``` b", "two"]),
        ("[" * 100_000, ["eins", "zwei"], ["unreadable"] * 2),
        ('[{"number": 1e999, "translation": "one"}]', ["eins"], ["unreadable"]),
        (f'{{"{"9" * 6000}": "one"}}', ["eins"], ["unreadable"]),
    ],
)
def test_a_translation_never_gets_to_a_neighbor(text: str, sources: list[str], expected: list[str]) -> None:
    read = read_answer(text, sources)
    assert [each.reason if isinstance(each, Rejected) else each for each in read] == expected
