"""The report in a real browser: it fits, fetches nothing, and is readable in both themes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from metric_lines import (
    FACTS,
    FINISHED_RUN,
    RECIPE,
    analyzed_line,
    event_line,
    sample,
    scores_line,
    validation_line,
)

from dragoman.training.report.report import render_report

WIDE = [event_line("long" * 200), scores_line("wide:" * 50, samples=[sample("wide" * 200)], chrf_signature="|" * 200)]

WORDS = {
    "short": ["Ein", "Hund", "</s>"],
    "long": [f"Wort{number}" for number in range(40)],
    "long words": ["Donaudampfschifffahrtsgesellschaftskapitän" * 3, "x" * 200],
    "Arabic": ["القطة", "تجلس", "على", "السجادة", "الحمراء", "في", "البيت", "الكبير", "قرب", "النافذة"] * 4,
    "Devanagari": ["समुद्र", "तट", "पर", "एक", "आदमी", "घोड़े", "की", "सवारी", "कर", "रहा", "है"] * 3,
}
LARGE = (1_100_000, 1_200_000)

CUT = """figures => figures.flatMap((figure) => {
  const frame = figure.getBoundingClientRect();
  const isCut = ({ left, right }) => left < frame.left || right > frame.right;
  const parts = [...figure.querySelectorAll("path, text, use")].filter((part) => part.getClientRects().length);
  return parts.filter((part) => isCut(part.getBoundingClientRect())).map((part) => part.outerHTML);
})"""
"""The parts of figures that are not within their figure."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_report_fits_and_fetches_nothing(browser: Any, tmp_path: Path, width: int, scheme: Any) -> None:
    path = tmp_path / "report.html"
    facts = [*FACTS, ("wide", "wide" * 50)]
    metrics = [*FINISHED_RUN, *WIDE, analyzed_line("wide", "wide" * 100) | {"samples": []}]
    path.write_text(render_report(RECIPE, facts, metrics), encoding="utf-8")
    messages: list[str] = []
    requests: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    check_layout(page, width)
    assert contrast(page, "svg text", "figure") >= 4.5
    assert contrast(page, "td", ".scroll") >= 4.5
    page.close()
    assert messages == []
    assert requests == [path.as_uri()]


@pytest.mark.parametrize("name", WORDS)
def test_tables_maps_and_charts_are_not_cut(browser: Any, tmp_path: Path, name: str) -> None:
    words = WORDS[name]
    weights = [[(row + column) % 101 for column in range(len(words))] for row in range(len(words))]
    attention = [{"source": words, "translation": words, "weights": weights}]
    large = [validation_line(step, bleu=99.9, loss=12.345, perplexity=23456.78, seconds=39_999.0) for step in LARGE]
    metrics = [*FINISHED_RUN, *large, analyzed_line("map", " ".join(words)) | {"attention": attention}]
    path = tmp_path / "report.html"
    path.write_text(render_report(RECIPE, FACTS, metrics, Path("runs") / name), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for region in page.locator(".scroll").all():
            label = region.get_attribute("aria-label")
            assert region.evaluate("region => region.scrollWidth <= region.clientWidth"), label
        assert page.locator("figure").evaluate_all(CUT) == []
    page.close()


def check_layout(page: Any, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.get_by_text("a test").is_visible()
    assert page.get_by_role("img").count() == 7
    assert page.get_by_role("region", name="Events").evaluate("region => region.scrollWidth <= region.clientWidth")
    assert not page.get_by_text("learning_rate = 0.001").is_visible()
    page.get_by_text("All settings, including defaults").click()
    assert page.get_by_text("learning_rate = 0.001").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def contrast(page: Any, text: str, background: str) -> float:
    """The contrast ratio of a text to its background (WCAG 2.2)."""
    style = "element => { const s = getComputedStyle(element); return [s.fill, s.color, s.backgroundColor]; }"
    fill, color, _ = page.locator(text).first.evaluate(style)
    luminances = [luminance(fill if text.startswith("svg") else color)]
    luminances.append(luminance(page.locator(background).first.evaluate(style)[2]))
    return (max(luminances) + 0.05) / (min(luminances) + 0.05)


def luminance(color: str) -> float:
    channels = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
