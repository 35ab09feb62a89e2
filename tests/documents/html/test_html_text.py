"""HTML keeps its tags and everything that is not text, and its text never becomes markup."""

from __future__ import annotations

import re
from collections import Counter

from html_samples import StrictParser, broken, in_capitals, shuffled, translate, unchanged, well_formed
from hypothesis import given
from hypothesis import strategies as st

any_html = st.one_of(well_formed, broken(), st.text(alphabet="<>/&;!-ab \"'=é1\n", max_size=40))
SEEDS = st.integers(0, 100)


def tags(html: str) -> list[str]:
    """The tags of a document without the values that are translated."""
    return [re.sub(r"(alt|title)=(\"[^\"]*\"|'[^']*')", r"\1", tag) for tag in StrictParser(html).tags]


@given(any_html)
def test_unchanged_segments_give_the_same_document(html: str) -> None:
    assert translate(html, unchanged) == html


@given(well_formed, SEEDS)
def test_each_tag_occurs_once_and_elements_stay_closed(html: str, seed: int) -> None:
    before, after = StrictParser(html), StrictParser(result := translate(html, shuffled(seed)))
    assert before.well_formed
    assert after.well_formed, result
    assert Counter(tags(result)) == Counter(tags(html))


@given(broken(), SEEDS)
def test_each_tag_of_broken_html_occurs_once(html: str, seed: int) -> None:
    result = translate(html, shuffled(seed))
    pattern = r"<[/a-z][^<>\"']*>"
    assert Counter(re.findall(pattern, result)) == Counter(re.findall(pattern, html)), result


@given(well_formed)
def test_words_in_the_same_order_keep_all_tags_in_place(html: str) -> None:
    assert tags(translate(html, in_capitals)) == tags(html)


@given(well_formed, SEEDS)
def test_text_is_that_of_the_translations(html: str, seed: int) -> None:
    def words(text: str) -> Counter[str]:
        return Counter("".join(text.split()).upper())

    assert words(StrictParser(translate(html, shuffled(seed))).text) == words(StrictParser(html).text)
