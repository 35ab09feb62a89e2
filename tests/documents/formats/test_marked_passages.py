"""Passages with any marks in any translation: nothing is lost, and groups stay nested."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.documents.formats.file import PassageDocument
from dragoman.documents.passage import Writing, to_parts
from dragoman.markup.elements import BREAK, CLINGING, CODE, DIVIDER, OBJECT, WORD
from dragoman.markup.items import Fixed, Group, Item, TextItem
from dragoman.text.link import Link
from dragoman.text.translation import Translation

WORDS = ["Hund ", "läuft ", "nach", " Hause. ", "Er ", "bellt.", " ", ", "]
WRITING = Writing("de", lambda text: text)
STYLES = [("", ""), ("«", "»"), ("‹", "›")]

words = st.builds(
    lambda text, style: TextItem(f"{style[0]}{text}{style[1]}", text, style),
    st.sampled_from(WORDS),
    st.sampled_from(STYLES),
)
fixed = st.builds(
    lambda element: Fixed(("#",), element),
    st.sampled_from([BREAK, CLINGING, CODE, DIVIDER, DIVIDER, OBJECT, WORD, WORD]),
)
items = st.lists(
    st.recursive(
        words | fixed,
        lambda inner: st.builds(lambda each: Group(("(",), (")",), tuple(each)), st.lists(inner, max_size=4)),
        max_leaves=6,
    ),
    min_size=1,
    max_size=6,
)


def document(content: Sequence[Item]) -> PassageDocument:
    return PassageDocument(to_parts(content, WRITING), str.encode)


@st.composite
def translations(draw: st.DrawFn) -> tuple[PassageDocument, list[Translation]]:
    """A document, and translations with random words and links, with or without its placeholders."""
    opened = document(draw(items))
    found = []
    for segment in opened.segments:
        sources = [match.span() for match in re.finditer(r"\S+", segment.text)]
        chosen = draw(st.lists(st.sampled_from(sources), max_size=6))
        text, links = "", []
        for start, end in chosen:
            word = segment.text[start:end] if draw(st.booleans()) else "X"
            if draw(st.booleans()):
                links.append(Link(start, end, len(text), len(text) + len(word)))
            text += f"{word} "
        found.append(Translation(text.rstrip(), links=tuple(links)))
    return opened, found


@given(items)
@settings(max_examples=100)
def test_unchanged_sentences_give_the_file(content: list[Item]) -> None:
    opened = document(content)
    raw = "".join(_raw(item) for item in content)
    assert opened.assemble([Translation(each.text) for each in opened.segments]).decode() == raw


def _raw(item: Item) -> str:
    if isinstance(item, Group):
        return "".join(map(str, item.start)) + "".join(map(_raw, item.items)) + "".join(map(str, item.end))
    return item.raw if isinstance(item, TextItem) else "".join(map(str, item.pieces))


@given(translations())
@settings(max_examples=200)
def test_no_group_and_nothing_fixed_is_lost(case: tuple[PassageDocument, list[Translation]]) -> None:
    opened, translated = case
    before = opened.assemble([Translation(each.text) for each in opened.segments]).decode()
    after = opened.assemble(translated).decode()
    assert [Counter(before)[each] for each in "()#"] == [Counter(after)[each] for each in "()#"]
    reduced = re.sub(r"[^()«»‹›]", "", after)
    while (shorter := re.sub(r"\(\)|«»|‹›", "", reduced)) != reduced:
        reduced = shorter
    assert reduced == "", "everything that is opened is closed in order"


@given(translations())
@settings(max_examples=100)
def test_every_character_of_a_translation_is_written(case: tuple[PassageDocument, list[Translation]]) -> None:
    opened, translated = case
    after = re.sub(r"[()«»‹›# ]", "", opened.assemble(translated).decode())  # a mark may have a space, or stand for one
    position = 0
    for each in translated:
        text = re.sub(r"\{\d\}| ", "", each.text)
        position = after.index(text, position) + len(text)


def test_group_of_two_sentences_repeats_no_word_if_words_change_their_order() -> None:
    group = Group(("(",), (")",), (TextItem(" Hause. ", " Hause. "), TextItem("Hund ", "Hund ")))
    styled = TextItem("«Hund »", "Hund ", ("«", "»"))
    opened = document([group, Group(("(",), (")",), ()), TextItem("Hund ", "Hund "), styled])
    crossed = Translation("X X X X", links=(Link(10, 14, 2, 3), Link(0, 4, 4, 5)))
    assert [segment.text for segment in opened.segments] == ["Hause.", "Hund Hund Hund"]
    after = opened.assemble([Translation(""), crossed]).decode()
    assert after.count("X") == 4
    assert Counter(after)["("] == Counter(after)[")"] == 2


def test_group_of_two_sentences_does_not_swallow_or_repeat_a_word_that_moves_into_it() -> None:
    """The group surrounds the end of the first sentence, and the bold word before it moves behind it."""
    bold = TextItem("«Hund»", "Hund", STYLES[1])
    group = Group(("(",), (")",), (TextItem("läuft. Er bellt", "läuft. Er bellt"),))
    opened = document([bold, TextItem(" ", " "), group, TextItem(" laut.", " laut.")])
    assert [each.text for each in opened.segments] == ["Hund läuft.", "Er bellt laut."]
    first = Translation("RUNS. DOG.", links=(Link(5, 11, 0, 5), Link(0, 4, 6, 9)))
    second = Translation("IT BARKS LOUDLY.", links=(Link(0, 2, 0, 2), Link(3, 8, 3, 8), Link(9, 14, 9, 16)))
    after = opened.assemble([first, second]).decode()
    assert re.sub("[()«»]", "", after) == "RUNS. DOG. IT BARKS LOUDLY."
    assert "«DOG»" in after
    assert after.count("(") == after.count(")") == 1


def test_added_point_is_inside_the_group_of_its_sentence() -> None:
    """The translation of the first sentence lost its point, which is added because another sentence follows."""
    dog, cat = (TextItem(text, text) for text in ("Der Hund bellt.", "Die Katze schläft."))
    for links in ((), (Link(4, 8, 4, 7), Link(9, 14, 8, 13))):
        opened = document([Group(("(",), (")",), (dog,)), TextItem(" ", " "), cat])
        after = opened.assemble([Translation("The dog barks", links=links), Translation("The cat sleeps")])
        assert after.decode() == "(The dog barks.) The cat sleeps"
