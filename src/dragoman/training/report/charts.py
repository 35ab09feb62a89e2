"""The charts of the report: which metrics they show, and their drawing."""

from __future__ import annotations

from typing import Literal, NamedTuple

from markupsafe import Markup

from dragoman.training.report.svg import Series, draw_svg
from dragoman.training.run.metrics_file import Metrics


class Curve(NamedTuple):
    """One curve of a chart: the values of `key` in the lines of one kind."""

    name: str
    kind: Literal["train", "validation"]
    key: str


class Chart(NamedTuple):
    """One chart with up to two curves."""

    title: str
    curves: tuple[Curve, ...]
    logarithmic: bool = False


CHARTS = (
    Chart(
        "Loss (nats per token)",
        (Curve("training, label-smoothed", "train", "loss"), Curve("validation", "validation", "loss")),
    ),
    Chart(
        "Perplexity (logarithmic scale)",
        (Curve("training", "train", "perplexity"), Curve("validation", "validation", "perplexity")),
        logarithmic=True,
    ),
    Chart("Validation scores", (Curve("BLEU", "validation", "bleu"), Curve("chrF", "validation", "chrf"))),
    Chart("Token accuracy", (Curve("next token, given the reference before it", "validation", "token_accuracy"),)),
    Chart("Teacher-forced token BLEU", (Curve("validation", "validation", "teacher_forced_bleu"),)),
    Chart("Length ratio", (Curve("translation tokens / reference tokens", "validation", "length_ratio"),)),
    Chart("Learning rate", (Curve("as scheduled", "train", "learning_rate"),)),
    Chart("Teacher forcing", (Curve("fraction of batches", "validation", "teacher_forced"),)),
    Chart("Gradient norm", (Curve("over all parameters", "train", "gradient_norm"),)),
    Chart("Speed", (Curve("target tokens per second", "train", "tokens_per_second"),)),
    Chart("Padding", (Curve("fraction of a batch", "train", "padding"),)),
)
"""All charts, in the order in which the report shows them."""


class DrawnChart(NamedTuple):
    """A chart with its title, the names of its curves in the order of their colors, and the drawing."""

    title: str
    names: list[str]
    svg: Markup


def draw_charts(train: Metrics, validations: Metrics) -> list[DrawnChart]:
    """Draw all charts that have data; lines of older runs lack some values.

    Args:
        train: Lines of training steps, each step once.
        validations: Lines of validations, each step once.
    """
    lines = {"train": train, "validation": validations}
    charts = []
    for chart in CHARTS:
        series = [each for curve in chart.curves if (each := _series(curve, lines[curve.kind])).steps]
        if series:
            svg = draw_svg(chart.title, series, logarithmic=chart.logarithmic)
            charts.append(DrawnChart(chart.title, [each.name for each in series], svg))
    return charts


def _series(curve: Curve, lines: Metrics) -> Series:
    present = [line for line in lines if _is_number(line.get(curve.key))]
    steps, values = [line["step"] for line in present], [line[curve.key] for line in present]
    return Series(curve.name, steps, values, marked=curve.kind == "validation")


def _is_number(value: object) -> bool:
    return isinstance(value, float) or (type(value) is int and abs(value) < 2**53)
