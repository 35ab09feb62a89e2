"""Marks follow the words that they are on, stay nested, and are never lost."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.marks import MAX_DEPTH, Mark, find_best_run, place_marks
from dragoman.text.link import Link
from dragoman.text.translation import Translation


class Edge(NamedTuple):
    """Where a mark opens or closes; a point opens and closes at once."""

    number: int
    opens: bool


def interleave(text: str, marks: Sequence[Mark]) -> Iterator[str | Edge]:
    """The text with the edges of marks, which are in the order in which they open."""
    position, opened = 0, list[Mark]()
    for mark in [*marks, Mark(len(text), len(text), -1)]:
        while opened and opened[-1].number != mark.parent:
            closing = opened.pop()
            yield text[position : closing.end]
            yield Edge(closing.number, opens=False)
            position = closing.end
        yield text[position : mark.start]
        position = mark.start
        if mark.number >= 0:
            yield Edge(mark.number, opens=True)
            opened.append(mark)


SOURCE = "Der rote Hund läuft schnell."


def translation(text: str, **pairs: str) -> Translation:
    """A translation with links between words, `source_word="target words"`."""
    links = [
        Link(SOURCE.index(ours), SOURCE.index(ours) + len(ours), text.index(word), text.index(word) + len(word))
        for ours, theirs in pairs.items()
        for word in theirs.split()
    ]
    return Translation(text, links=tuple(links))


def marked(text: str, number: int = 0, parent: int | None = None) -> Mark:
    start = SOURCE.index(text)
    return Mark(start, start + len(text), number, parent)


def written(text: str, marks: list[Mark]) -> str:
    return "".join(
        f"{'<' if each.opens else '>'}" if isinstance(each, Edge) else each for each in interleave(text, marks)
    )


ENGLISH = translation("Quickly runs the red dog.", schnell="Quickly", läuft="runs", Der="the", rote="red", Hund="dog")


def place(*marks: Mark, into: Translation = ENGLISH) -> str:
    return written(into.text, place_marks(marks, SOURCE, into))


def test_a_mark_follows_its_words() -> None:
    assert place(marked("rote")) == "Quickly runs the <red> dog."
    assert place(marked("rote Hund")) == "Quickly runs the <red dog>."
    assert place(marked("Der rote Hund läuft")) == "Quickly <runs the red dog>."
    assert place(marked("schnell")) == "<Quickly> runs the red dog."


def test_words_between_the_translations_of_marked_words_are_marked_if_most_words_are() -> None:
    text = translation("red a dog runs fast", rote="red", Hund="dog", läuft="a runs", schnell="fast")
    assert place(marked("rote Hund"), into=text) == "<red a dog> runs fast"
    assert place(marked("läuft"), into=text) == "red a dog <runs> fast"


def test_a_mark_around_everything_stays_around_everything() -> None:
    assert place(Mark(0, len(SOURCE), 0)) == "<Quickly runs the red dog.>"
    assert place(Mark(0, len(SOURCE), 0), Mark(0, len(SOURCE), 1, 0)) == "<<Quickly runs the red dog.>>"


def test_nested_marks_stay_nested_and_siblings_apart() -> None:
    assert place(marked("rote Hund", 0), marked("Hund", 1, 0)) == "Quickly runs the <red <dog>>."
    assert place(marked("rote", 0), marked("Hund", 1), marked("läuft", 2)) == "Quickly <runs> the <red> <dog>."


def test_points_stay_in_order_and_in_their_parents() -> None:
    end = len(SOURCE)
    assert place(Mark(0, 0, 0), Mark(end, end, 1)) == "<>Quickly runs the red dog.<>"
    placed = place_marks([marked("rote Hund", 0), Mark(9, 9, 1, 0), Mark(14, 14, 2)], SOURCE, ENGLISH)
    first, inner = (next(each for each in placed if each.number == number) for number in (0, 1))
    assert first.start <= inner.start == inner.end <= first.end
    assert ENGLISH.text[inner.start :].startswith("dog")


def test_deeper_marks_become_points() -> None:
    nested = [marked("rote Hund", number, number - 1 if number else None) for number in range(MAX_DEPTH + 20)]
    placed = place_marks(nested, SOURCE, ENGLISH)
    assert [each.number for each in placed] == list(range(MAX_DEPTH + 20))
    outer, inner = placed[:MAX_DEPTH], placed[MAX_DEPTH:]
    assert {ENGLISH.text[each.start : each.end] for each in outer} == {"red dog"}
    assert {(each.start, each.end) for each in inner} == {(outer[0].start, outer[0].start)}


def test_a_word_without_translation_keeps_its_mark() -> None:
    text = translation("Runs the dog.", läuft="Runs", Der="the", Hund="dog")
    assert place(marked("rote"), into=text).count("<") == 1


def test_part_of_a_copied_word_keeps_its_mark() -> None:
    copied = Translation("the H2O here", links=(Link(0, 4, 9, 13), Link(5, 8, 4, 7)))
    assert written(copied.text, place_marks([Mark(6, 7, 0)], "hier H2O", copied)) == "the H<2>O here"


def test_without_links_places_are_estimated() -> None:
    assert place(marked("Der"), into=Translation("The red dog runs.")) == "<The> red dog runs."
    assert place(marked("schnell."), into=Translation("The red dog runs.")) == "The red dog <runs.>"
    assert place(marked("rote"), into=Translation("")) == "<>"


@st.composite
def trees(draw: st.DrawFn) -> list[Mark]:
    """Nested marks on SOURCE, some of them points."""
    marks: list[Mark] = []

    def grow(start: int, end: int, parent: int | None, depth: int) -> None:
        while start <= end and draw(st.booleans()) and len(marks) < 12:
            first = draw(st.integers(start, end))
            last = draw(st.integers(first, end))
            marks.append(Mark(first, last, len(marks), parent))
            if depth:
                grow(first, last, len(marks) - 1, depth - 1)
            start = last

    grow(0, len(SOURCE), None, 3)
    return marks


@given(trees(), st.permutations([match.span() for match in re.finditer(r"\w+|\.", SOURCE)]), st.integers(0, 5))
def test_any_marks_stay_a_tree(marks: list[Mark], order: list[tuple[int, int]], dropped: int) -> None:
    text, links = "", []
    for start, end in order[dropped:]:
        links.append(Link(start, end, len(text), len(text) + end - start))
        text += SOURCE[start:end].upper() + " "
    placed = place_marks(marks, SOURCE, Translation(text, links=tuple(links)))
    assert sorted((each.number, each.parent) for each in placed) == sorted((each.number, each.parent) for each in marks)
    parents = {each.number: each for each in placed} | {None: Mark(0, len(text), -1)}
    last: dict[int | None, int] = {}
    for each in placed:
        parent = parents[each.parent]
        assert parent.start <= each.start <= each.end <= parent.end
        assert each.start >= last.get(each.parent, 0), "siblings do not overlap"
        last[each.parent] = each.end
    assert written(text, placed).replace("<", "").replace(">", "") == text


@given(trees())
def test_identical_text_keeps_marks_between_the_same_words(marks: list[Mark]) -> None:
    same = Translation(
        SOURCE, links=tuple(Link(*match.span(), *match.span()) for match in re.finditer(r"\w+|\.", SOURCE))
    )
    before = re.sub(" ", "", written(SOURCE, marks))
    assert re.sub(" ", "", written(SOURCE, place_marks(marks, SOURCE, same))) == before


@given(st.lists(st.integers(-5, 5), max_size=12), st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)))
def test_no_run_gains_more(values: list[int], gaining: set[int], forbidden: set[int]) -> None:
    gains = {index: float(value) for index, value in enumerate(values) if index in gaining}
    losses = [math.inf if index in forbidden else abs(value) for index, value in enumerate(values)]

    def loss(index: int) -> float:
        return losses[index] if index < len(values) else math.inf

    runs = [(first, last) for first in range(len(values)) for last in range(first, len(values))]
    sums = {run: sum(gains.get(index, -loss(index)) for index in range(run[0], run[1] + 1)) for run in runs}
    found = find_best_run(gains, loss)
    if found is None:
        assert all(total <= 0 for total in sums.values())
    else:
        assert sums[found] == pytest.approx(max(sums.values()))


def test_equal_runs_give_the_first() -> None:
    assert find_best_run({1: 2.0, 5: 2.0}, lambda index: 1.0) == (1, 1)
    assert find_best_run({1: 2.0, 3: 2.0}, lambda index: 1.0) == (1, 3)
    assert find_best_run({1: -1.0, 2: 0.0}, lambda index: 1.0) is None
