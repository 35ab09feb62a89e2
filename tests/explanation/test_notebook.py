"""What notebooks show of translations and explanations, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import log
from typing import Any

import numpy as np
import pytest

from dragoman.explanation.explain import Explanation
from dragoman.explanation.tokens import sequence_labels
from dragoman.text.translation import Translation
from dragoman.translator import Translator

MARKUP = "<img src=x onerror=\"document.title='run'\"> & 'quoted' <script>document.title='run'</script>"


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    opened = browser.new_page()
    messages: list[str] = []
    opened.on("console", lambda message: messages.append(message.text))
    opened.on("request", lambda request: messages.append(request.url))
    yield opened
    opened.close()
    assert messages == [], "nothing is loaded, and nothing fails"


@pytest.fixture(scope="module")
def explanation(translator: Translator) -> Explanation:
    return translator.explain("Ein kleiner Junge spielt im Park.")


def opacity(cell: Any) -> float:
    """The opacity of an element's background."""
    color = cell.evaluate("element => getComputedStyle(element).backgroundColor")
    match = re.fullmatch(r"rgba?\(\d+, \d+, \d+(?:, ([\d.]+))?\)", color)
    assert match, color
    return float(match[1] or 1)


def test_markup_in_a_translation_is_shown_as_text(page: Any) -> None:
    other = Translation(f"other {MARKUP}", score=-2.0)
    tokens, values = ["▁a", MARKUP, "▁"], [log(0.9), log(0.1), log(0.5), log(0.5)]
    shown = Translation(MARKUP, tokens, values, -1.5, truncated=True, alternatives=[other])
    page.set_content(shown._repr_html_())
    assert page.title() == ""
    assert page.locator("img, script").count() == 0
    assert page.locator("strong").inner_text() == MARKUP
    assert [cell.inner_text() for cell in page.locator("td").all()] == ["-1.500", MARKUP, "-2.000", f"other {MARKUP}"]
    spans = page.locator("span").all()
    assert [span.inner_text() for span in spans] == ["a", MARKUP, "▁"]
    assert [span.get_attribute("title") for span in spans] == ["90.0%", "10.0%", "50.0%"]
    assert opacity(spans[0]) < opacity(spans[2]) < opacity(spans[1])
    assert "Only the beginning" in page.locator("body").inner_text()


def test_an_empty_translation_has_html(page: Any) -> None:
    page.set_content(Translation("")._repr_html_())
    assert page.locator("body").inner_text().strip() == ""


def test_an_explanation_shows_its_attention_map(page: Any, explanation: Explanation) -> None:
    page.set_content(explanation._repr_html_())
    attention = explanation.attention
    weights = attention.mean("cross")[-1]  # (target, source)
    assert page.locator("strong").inner_text() == explanation.translation.text
    columns, rows = page.locator("th[scope=col]"), page.locator("th[scope=row]")
    assert columns.all_inner_texts() == sequence_labels(attention.source)
    assert rows.all_inner_texts() == sequence_labels(attention.target_output)
    boxes = page.locator("td[title]").all()
    found = np.array([opacity(cell) for cell in boxes]).reshape(weights.shape) ** 2
    np.testing.assert_allclose(found, weights, atol=0.02)
    best = int(weights[0].argmax())
    assert boxes[best].get_attribute("title").endswith(f"{weights[0, best]:.1%}")
    assert all(cell.bounding_box()["width"] >= 10 for cell in boxes[:5])


def test_attention_maps_have_html_by_token_and_by_word(page: Any, explanation: Explanation) -> None:
    for attention in (explanation.attention, explanation.attention.by_word()):
        page.set_content(attention._repr_html_())
        assert page.locator("td[title]").count() == attention.mean("cross")[-1].size
