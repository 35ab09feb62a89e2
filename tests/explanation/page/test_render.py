"""The page is self-contained, small, and escapes all text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from dragoman.bundle import Bundle
from dragoman.explanation.explain import Explanation
from dragoman.explanation.page.data import page_data
from dragoman.explanation.page.render import render_page
from dragoman.model.build import build_model
from dragoman.model.capture import KINDS
from dragoman.settings import Decoding, Model
from dragoman.translator import Translator

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
TEXT = "Ein kleiner Junge spielt im Park mit einem Hund."


@pytest.fixture(scope="module")
def explanation(translator: Translator) -> Explanation:
    return translator.explain(TEXT)


@pytest.fixture(scope="module")
def page_source(translator: Translator, explanation: Explanation) -> str:
    return render_page([page_data(translator.bundle, translator.decoding, TEXT, explanation)])


class Elements(HTMLParser):
    """The tags and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def embedded_data(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    data: dict[str, Any] = json.loads(match[1])
    return data


@pytest.fixture(scope="module")
def large(translator: Translator) -> Translator:
    """A random model of 6 layers and 8 heads with the tokenizers of the tiny run."""
    recipe = translator.bundle.recipe
    settings = Model(d_model=32, heads=8, d_ff=32, encoder_layers=6, decoder_layers=6, max_length=64)
    source, target = translator.bundle.source, translator.bundle.target
    model = build_model(settings, len(source.vocabulary), len(target.vocabulary), source.vocabulary.pad, seed=1).eval()
    changed = recipe.model_copy(update={"model": settings})
    return Translator(Bundle(changed, model, source, target), Decoding(beam_size=5, max_length=41))


def test_a_page_of_forty_tokens_is_self_contained_and_small(large: Translator) -> None:
    text = " ".join(f"der Hund und die Katze {number}" for number in range(20))
    ids = large.bundle.source.encode([text])[0][:40]
    explanation = large.explain(large.bundle.source.decode(ids))
    assert [len(explanation.attention.queries(kind).tokens) for kind in KINDS] == [41, 41, 41]
    page = render_page([page_data(large.bundle, large.decoding, text, explanation)])
    assert len(page.encode()) < 2_000_000
    addresses = re.findall(r"""(?:src|href|action)\s*=\s*["']?([^"'\s>]*)|url\(([^)]*)\)""", page)
    assert {address for pair in addresses for address in pair if address} <= {"data:,"}
    assert set(Elements(page).tags).isdisjoint({"iframe", "object", "embed", "img"})
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_hostile_text_is_escaped(translator: Translator, explanation: Explanation, page_source: str) -> None:
    translation = replace(explanation.translation, text=HOSTILE)
    alternatives = [[(HOSTILE, 0.5)]] * len(explanation.alternatives)
    changed = replace(explanation, translation=translation, alternatives=alternatives)
    page = render_page([page_data(translator.bundle, translator.decoding, HOSTILE, changed)])
    hostile = Elements(page)
    assert hostile.tags == Elements(page_source).tags
    assert hostile.texts.count(HOSTILE) == 2
    assert embedded_data(page)["explanations"][0]["output"][0]["alternatives"][0][0].removeprefix("·") == HOSTILE


def test_a_truncated_text_has_a_warning(translator: Translator, explanation: Explanation, page_source: str) -> None:
    truncated = replace(explanation, translation=replace(explanation.translation, truncated=True))
    hidden = 'id="truncated" hidden>The text is longer'
    assert hidden not in render_page([page_data(translator.bundle, translator.decoding, "x", truncated)])
    assert hidden in page_source
