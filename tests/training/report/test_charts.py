"""The charts show what is in the metrics, and only that."""

from __future__ import annotations

import random
import re
from typing import Any

from metric_lines import train_line, validation_line

from dragoman.training.report.charts import CHARTS, MAX_POINTS, DrawnChart, draw_charts

NAN, INFINITY = float("nan"), float("inf")


def draw(*lines: dict[str, Any]) -> dict[str, DrawnChart]:
    """Charts by title."""
    kinds = ([line for line in lines if line["kind"] == kind] for kind in ("train", "validation"))
    return {chart.title: chart for chart in draw_charts(*kinds)}


def test_only_charts_with_data_are_drawn() -> None:
    assert draw() == {}
    assert list(draw(train_line(50, perplexity=30.0))) == [
        chart.title
        for chart in CHARTS
        if any(curve.kind == "train" and curve.key in train_line(50, perplexity=30.0) for curve in chart.curves)
    ]
    assert "Teacher forcing" not in draw(validation_line(50), validation_line(100))
    assert "Teacher forcing" in draw(validation_line(50, teacher_forced=0.9), validation_line(100, teacher_forced=0.5))
    assert "Length ratio" in draw(validation_line(50), validation_line(100, length_ratio=0.98))


def test_a_chart_names_only_the_curves_that_have_data() -> None:
    assert draw(validation_line(50))["Loss (nats per token)"].names == ["validation"]
    both = draw(train_line(50), validation_line(50))["Loss (nats per token)"]
    assert both.names == ["training, label-smoothed", "validation"]


def test_the_description_has_the_first_and_the_last_value() -> None:
    svg = draw(train_line(50), train_line(75), train_line(100))["Loss (nats per token)"].svg
    assert 'aria-label="Loss (nats per token): training, label-smoothed from 12 at step 50 to 7 at step 100"' in svg


def test_drawings_use_the_colors_of_the_page() -> None:
    svg = draw(train_line(50), validation_line(50))["Loss (nats per token)"].svg
    assert {"var(--muted)", "var(--rule)", "var(--first)", "var(--second)"} <= set(re.findall(r"var\([\w-]+\)", svg))
    assert "#00aa0" not in svg


def test_markers_at_the_maximum_are_not_clipped() -> None:
    svg = draw(*(validation_line(step, bleu=99.9) for step in (900, 950, 1000)))["Validation scores"].svg
    assert "<use" in svg, "markers"
    assert not re.search(r"<g[^>]*clip-path[^>]*>\s*<use", svg)
    assert not re.search(r"<path[^>]*clip-path[^>]*var\(--first\)", svg)


def test_teacher_forced_bleu_is_drawn_only_if_it_was_computed() -> None:
    title = "Teacher-forced token BLEU"
    assert title not in draw(validation_line(50, teacher_forced_bleu=None, token_accuracy=0.5))
    assert title in draw(validation_line(50, teacher_forced_bleu=12.0))


def test_long_curves_are_averaged() -> None:
    def points(count: int) -> int:
        noise = random.Random(1).random  # matplotlib draws fewer points of a smooth curve
        svg = draw(*(train_line(step, loss=noise()) for step in range(1, count + 1)))["Loss (nats per token)"].svg
        return max(len(re.findall("[ML]", path)) for path in re.findall(r'<path d="([^"]*)"', svg))

    assert points(20) == 20
    assert points(10_000) <= MAX_POINTS


def test_metrics_of_a_diverged_run_can_be_drawn() -> None:
    lines = [train_line(50, loss=NAN, gradient_norm=INFINITY), train_line(100, loss=NAN)]
    lines += [train_line(150, loss=INFINITY), validation_line(150, loss=NAN, perplexity=INFINITY, bleu=0.0)]
    assert len(draw(*lines)) == 7
