"""The page of a comparison: self-contained, complete, and readable on a phone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dragoman.evaluation.evaluate import Report
from dragoman.evaluation.page.render import SENTENCES, ComparedTranslator, mark_changes, render_comparison
from dragoman.evaluation.significance import Comparison, SentenceDifference, Significance, describe_comparison
from dragoman.settings import Data, Recipe, Training

RECIPE = Recipe(
    name="little-run",
    data=Data(source_language="de", target_language="ar", train=("pairs.tsv",)),
    training=Training(steps=1000),
)
FIRST, SECOND = (ComparedTranslator(Path("runs") / name, RECIPE) for name in ("old", "new" * 60))
REPORT = Report(1000, 30.0, 50.0, "nrefs:1", "nrefs:1", 1.0, 1.5, 4.5, 0.1, 0.7, None, "greedy")
HOSTILE = "</dd><script>alert(1)</script>"
TEXTS = {
    "short": "Ein Hund läuft.",
    "long": " ".join(f"Wort{number}" for number in range(100)),
    "one word": "x" * 500,
    "Arabic": "القطة تجلس على السجادة الحمراء " * 12,
    "Devanagari": "समुद्र तट पर एक आदमी घोड़े की सवारी कर रहा है " * 12,
}


def comparison(*differences: SentenceDifference) -> Comparison:
    tests = [
        Significance(metric, "paired bootstrap", 30.0, 32.5, 0.001, "nrefs:1|bs:1000", (28.7, 31.2), (31.1, 33.8))
        for metric in ("BLEU", "chrF2")
    ]
    return Comparison(REPORT, replace(REPORT, bleu=32.5), tests if differences else [], list(differences))


def difference(text: str) -> SentenceDifference:
    return SentenceDifference(text, f"{text} reference", f"{text} one", f"{text} two", 40.0, 70.0)


def test_the_page_shows_verdict_scores_intervals_and_sentences() -> None:
    compared = comparison(difference("Ein Hund"), difference("Zwei Hunde"))
    page = render_comparison(compared, FIRST, SECOND)
    for shown in (*describe_comparison(compared), "28.70 to 31.20", "31.10 to 33.80", "p = 0.0010", "runs/old"):
        assert shown in page
    for each in compared.differences:
        assert each.source in page
        assert each.reference in page
    assert "<mark>one</mark>" in page
    assert "<mark>two</mark>" in page


def test_only_the_sentences_that_differ_most_are_on_the_page() -> None:
    page = render_comparison(comparison(*(difference(f"Satz {n}.") for n in range(SENTENCES + 5))), FIRST, SECOND)
    assert f"Satz {SENTENCES - 1}." in page
    assert f"Satz {SENTENCES}." not in page
    assert f"The {SENTENCES} of {SENTENCES + 5} sentences" in " ".join(page.split())


def test_equal_translators_have_a_page() -> None:
    assert "equally good" in render_comparison(comparison(), FIRST, SECOND)


def test_text_is_escaped_and_nothing_is_fetched() -> None:
    page = render_comparison(comparison(difference(HOSTILE)), FIRST, SECOND)
    assert "<script" not in page
    addresses = re.findall(r"""(?:src|href|action)\s*=\s*["']?([^"'\s>]*)|url\(([^)]*)\)""", page)
    assert all(address == "data:," for pair in addresses for address in pair if address)


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("a red dog", "a dog", [("a", False), ("red", True), ("dog", False)]),
        ("same text", "same text", [("same text", False)]),
        ("", "a dog", []),
        ("one", "two", [("one", True)]),
    ],
)
def test_words_that_the_other_text_lacks_are_marked(text: str, other: str, expected: list[tuple[str, bool]]) -> None:
    assert mark_changes(text, other) == expected


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_and_fetches_nothing(browser: Any, tmp_path: Path, width: int, scheme: Any) -> None:
    path, messages, requests = tmp_path / "page.html", [], []
    compared = comparison(*map(difference, TEXTS.values()), difference(""))
    path.write_text(render_comparison(compared, FIRST, SECOND), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.on("console", lambda message: messages.append(message.text))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    first, second = (page.locator(f".pair {side}").first.bounding_box() for side in (".A", ".B"))
    assert (first["y"] == second["y"]) == (width == 1280), "side by side if there is room"
    for box in page.locator(".card").all():
        assert box.evaluate("card => card.scrollWidth <= card.clientWidth")
    page.close()
    assert messages == []
    assert requests == [path.as_uri()]
