"""The items of a text with tags contain all of it, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from dragoman.markup.elements import HTML, STRINGS, VOID
from dragoman.markup.items import Fixed, Group, Item, TextItem, plain_text, raw_text, resolve_breaks, text_items, tidy
from dragoman.markup.tags import MAX_DEPTH, Event, Tag, fold_tags, string_items, tag_event

NAMES = ("a", "b", "i", "p", "br", "code", "kbd", "sup", "ruby", "rt", "img", "svg", "script", "pre", "x-y", "textarea")
ATTRIBUTES = ("", " title='Ein Hund'", " alt=Hund", " translate=no", " href='#n'", " class=notranslate")

text = st.sampled_from(("Hund ", "1", " ", "&amp;", " bellt. ", "+", "\n"))


@st.composite
def tag(draw: st.DrawFn) -> Tag:
    name, closes = draw(st.sampled_from(NAMES)), draw(st.booleans())
    raw = f"</{name}>" if closes else f"<{name}{draw(st.sampled_from(ATTRIBUTES))}>"
    return tag_event(raw, name, "single" if name in VOID else "closing" if closes else "opening", HTML)


events = st.lists(st.builds(text_items, text) | tag().map(lambda each: [each]), max_size=14).map(
    lambda lists: [each for part in lists for each in part]
)


def names() -> Iterator[str]:
    return (f"{{{number}}}" for number in count(1))


def raw_of(content: Sequence[Event]) -> str:
    return "".join(each.raw if isinstance(each, Tag) else raw_text([each]) for each in content)


@given(events)
def test_items_contain_everything_in_order(content: list[Event]) -> None:
    items = fold_tags(content)
    assert raw_text(items) == raw_of(content)
    assert raw_text(resolve_breaks(items)) == raw_of(content)
    assert raw_text(tidy(items, names())) == raw_of(content)


@given(events)
def test_text_has_no_two_spaces_in_different_items(content: list[Event]) -> None:
    items = tidy(fold_tags(content), names())
    assert "  " not in plain_text(items)


@given(st.lists(st.sampled_from(("<b>", "</b>", "<0>", "</0>", "<p>", "<br>", "a < b", "<!--", "-->", "x ", "&lt;"))))
def test_items_of_a_string_contain_all_of_it(parts: list[str]) -> None:
    string = "".join(parts)
    for is_html in (False, True):
        assert raw_text(string_items(string, lambda part: [TextItem(part, part)], STRINGS, is_html)) == string


def depth(items: Sequence[Item]) -> int:
    return max((1 + depth(item.items) for item in items if isinstance(item, Group)), default=0)


def test_deep_pairs_are_kept() -> None:
    opening, closing = tag_event("<b>", "b", "opening", HTML), tag_event("</b>", "b", "closing", HTML)
    content = [opening] * (MAX_DEPTH + 9) + [closing] * (MAX_DEPTH + 9)
    items = fold_tags(content)
    assert depth(items) == MAX_DEPTH
    assert raw_text(items) == raw_of(content)


def test_nothing_is_inside_of_what_is_kept() -> None:
    for name in ("code", "kbd", "rt"):
        content: list[Event] = [
            tag_event(f"<{name}>", name, "opening", HTML),
            tag_event("<b>", "b", "opening", HTML),
            TextItem("x", "x"),
            tag_event(f"</{name}>", name, "closing", HTML),
        ]
        (item,) = fold_tags(content)
        assert isinstance(item, Fixed)
        assert item.element == HTML.rows[name]
