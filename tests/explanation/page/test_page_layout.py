"""The page fits on a phone and on a desktop, with short and long sentences in any script."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.bundle import Bundle
from dragoman.explanation.attention_map import AttentionMap
from dragoman.explanation.explain import Explanation, ModelInput
from dragoman.explanation.page.data import page_data
from dragoman.explanation.page.render import render_page
from dragoman.explanation.tokens import TokenSequence, Word
from dragoman.model.capture import KINDS
from dragoman.search.hypothesis import Candidate
from dragoman.text.translation import Translation
from dragoman.translator import Translator

SENTENCES = {
    "short": ["Ein", "Hund"],
    "long": [f"Wort{number}" for number in range(100)],
    "long words": ["Donaudampfschifffahrtsgesellschaftskapitän" * 3, "x" * 200, "$\\frac$"],
    "Arabic": ["القطة", "تجلس", "على", "السجادة", "الحمراء", "في", "البيت", "الكبير", "قرب", "النافذة"] * 5,
    "Devanagari": ["समुद्र", "तट", "पर", "एक", "आदमी", "घोड़े", "की", "सवारी", "कर", "रहा", "है"] * 5,
}
OVERLAPS = """(selector) => {
  const boxes = [...document.querySelectorAll(selector)].map((each) => each.getBoundingClientRect());
  const meet = (one, other, blank) => one.top < other.bottom - blank && one.bottom > other.top + blank
    && one.left < other.right - 1 && one.right > other.left + 1;
  return boxes.filter((box, index) => index && meet(box, boxes[index - 1], 4)).length;
}"""
"""How many elements overlap the previous one by more than the blank part of a line."""


def sequence(tokens: list[str]) -> TokenSequence:
    return TokenSequence([f"▁{each}" for each in tokens], [Word(each, i, i + 1) for i, each in enumerate(tokens)])


def explanation_of(words: list[str], bundle: Bundle) -> Explanation:
    """A translation of words into themselves by three layers with two heads."""
    size, random = len(words) + 1, np.random.default_rng(1)
    after, before = sequence([*words, "</s>"]), sequence(["<s>", *words])
    weights = {kind: random.dirichlet(np.ones(size) / 5, (3, 2, size)).astype(np.float32) for kind in KINDS}
    tokens = [tuple(range(5, 5 + length)) for length in range(1, size + 1)]
    steps = [[Candidate(each, -0.1, -0.1 * len(each), "kept")] for each in tokens[:-1]]
    steps.append([Candidate(tokens[-1], -0.1, -0.1 * size, "ended", -0.1)])
    alternatives = [[(f"▁{word}", 0.9), ("▁other", 0.05)] for word in [*words, "</s>"]]
    translation = Translation(" ".join(words), words, [-0.1] * size)
    return Explanation(
        translation, AttentionMap(after, before, after, weights), alternatives, steps, ModelInput(bundle, [], [])
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", SENTENCES)
def test_nothing_is_cut_and_no_labels_overlap(
    browser: Any, translator: Translator, tmp_path: Path, name: str, width: int
) -> None:
    words, path = SENTENCES[name], tmp_path / "page.html"
    text = " ".join(words)
    path.write_text(
        render_page(
            [page_data(translator.bundle, translator.decoding, text, explanation_of(words, translator.bundle))]
        ),
        encoding="utf-8",
    )
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="light")
    page.goto(path.as_uri())
    for key in ("1", "2", "3"):
        page.keyboard.press(key)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("#heat-map").evaluate("map => map.scrollWidth <= map.clientWidth")
        assert page.evaluate(OVERLAPS, "#heat-map text.query") == 0
        check_labels(page, len(words) + 1)
    assert page.locator("#hypotheses").evaluate(
        "table => table.parentElement.scrollWidth <= table.parentElement.clientWidth"
    )
    assert page.evaluate(OVERLAPS, ".chip") == 0
    page.close()


def check_labels(page: Any, keys: int) -> None:
    """All labels are inside the drawing, also that of the last, selected key; neighbors are not too close."""
    page.locator("#keys .chip").nth(keys - 1).focus()
    frame = page.locator("#heat-map svg").bounding_box()
    assert page.locator("#heat-map text.key.marked:visible").count() == 1
    for label in page.locator("#heat-map text:visible").all()[:: max(1, keys // 10)]:
        box = label.bounding_box()
        assert box["x"] >= frame["x"] - 1
        assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
        assert box["y"] >= frame["y"] - 1
    lefts = [label.bounding_box()["x"] for label in page.locator("#heat-map text.key:visible").all()]
    assert all(second - first >= 10 for first, second in pairwise(lefts))
