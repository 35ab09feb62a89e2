"""The charts of the report, as SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from markupsafe import Markup

from dragoman.training.run.log import Metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_POINTS = 300  # per curve; the drawing is about 300 pixels wide
MAX_VALUE = 1e9  # drawn for higher values; those of diverged runs can be arbitrarily large

# matplotlib needs fixed colors. These are replaced by the colors of the page, which has a light and a dark theme.
COLORS = {
    "#00aa01": "var(--muted)",
    "#00aa02": "var(--rule)",
    "#00aa03": "var(--first)",
    "#00aa04": "var(--second)",
}
TEXT, RULE, *CURVES = COLORS

STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text, in the font of the page
    "font.size": 9,
    "text.color": TEXT,
    "axes.edgecolor": RULE,
    "axes.labelcolor": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "grid.color": RULE,
}


class Series(NamedTuple):
    """The points of a curve; if it is marked, each has a dot."""

    name: str
    steps: list[int]
    values: list[float]
    marked: bool


def draw_svg(title: str, series: Sequence[Series], *, logarithmic: bool) -> Markup:
    """Draw curves over steps.

    Args:
        title: The title of the chart; it is part of the description for screen readers, not of the drawing.
        series: Curves with at least one point each, at most as many as there are colors.
        logarithmic: Whether the scale of the values is logarithmic.
    """
    import matplotlib
    from matplotlib.figure import Figure

    style: Any = STYLE | {"svg.hashsalt": title}  # ids differ between charts, but not between runs
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(3.8, 2.2))
        axes = figure.add_axes((0.15, 0.19, 0.83, 0.78))
        for color, each in zip(CURVES, series, strict=False):
            steps, values = _average_neighbors(each)
            marker = "o" if each.marked or len(steps) == 1 else None
            # neither clipping nor the axis should hide half of the markers at the maximum and at 0
            whole: dict[str, Any] = {"clip_on": False, "zorder": 3}
            axes.plot(steps, values, color=color, linewidth=1.6, marker=marker, markersize=4, **whole)
        _format_axes(axes, logarithmic=logarithmic)
        stream = io.StringIO()
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(stream, format="svg", transparent=True, metadata=no_metadata)
    return _inline(stream.getvalue(), f"{title}: {'; '.join(map(_describe, series))}")


def _average_neighbors(series: Series) -> tuple[list[float], list[float]]:
    """Steps and values of at most MAX_POINTS points, each the mean of neighboring points."""
    points = np.array([series.steps, np.minimum(series.values, MAX_VALUE)], dtype=float).T  # (points, 2)
    if len(points) > MAX_POINTS:
        points = np.array([group.mean(axis=0) for group in np.array_split(points, MAX_POINTS)])
    return points[:, 0].tolist(), points[:, 1].tolist()


def _format_axes(axes: Axes, *, logarithmic: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)
    axes.grid(axis="y", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("step")
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True, steps=[1, 2, 5, 10]))
    if logarithmic:
        axes.set_yscale("log")
        axes.minorticks_off()
    else:
        axes.set_ylim(bottom=0)  # so that small changes do not look large
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if 1000 <= value < 1e6 else f"{value:g}")


def _describe(series: Series) -> str:
    """A curve in words, for screen readers."""
    start, end = (f"{series.values[index]:.4g} at step {series.steps[index]}" for index in (0, -1))
    return f"{series.name} from {start} to {end}"


def _inline(svg: str, description: str) -> Markup:
    """An SVG file as an element of a page: without prolog and ids that other charts also have, in the page's colors."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r' id="[\w.]+_\d+"', "", svg)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{description}" ', 1)
    for color, variable in COLORS.items():
        svg = svg.replace(color, variable)
    return Markup(svg)


class Curve(NamedTuple):
    """One curve of a chart: the values of `key` in the lines of one kind, or of a direction in them."""

    name: str
    kind: Literal["train", "validation"]
    key: str
    direction: str | None = None


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
    for chart in (*CHARTS, *_charts_of_directions(lines["validation"])):
        series = [each for curve in chart.curves if (each := _series(curve, lines[curve.kind])).steps]
        if series:
            svg = draw_svg(chart.title, series, logarithmic=chart.logarithmic)
            charts.append(DrawnChart(chart.title, [each.name for each in series], svg))
    return charts


def _charts_of_directions(validations: Metrics) -> list[Chart]:
    """The validation scores of each direction of a model with several."""
    names = dict.fromkeys(name for line in validations for name in line.get("directions", ()))
    return [
        Chart(
            f"{name}: validation scores",
            (Curve("BLEU", "validation", "bleu", name), Curve("chrF", "validation", "chrf", name)),
        )
        for name in names
    ]


def _series(curve: Curve, lines: Metrics) -> Series:
    if curve.direction:
        lines = [{"step": line["step"]} | line.get("directions", {}).get(curve.direction, {}) for line in lines]
    present = [line for line in lines if _is_number(line.get(curve.key))]
    steps, values = [line["step"] for line in present], [line[curve.key] for line in present]
    return Series(curve.name, steps, values, marked=curve.kind == "validation")


def _is_number(value: object) -> bool:
    return isinstance(value, float) or (type(value) is int and abs(value) < 2**53)
