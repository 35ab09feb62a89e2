"""report.html of a training run: scores, curves, sample translations and the recipe, on one page without network."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tomli_w
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dragoman.settings import Recipe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Metrics = Sequence[dict[str, Any]]

POINTS = 300  # of a curve; more would cost bytes and show nothing on 300 pixels
HIGHEST = 1e9  # value that is drawn: those of runs that diverged know no bounds
PERPLEXITY = "Perplexity, logarithmic"
STAGES = 8  # validations at which the growth of one sample translation is shown

NO_BREAKDOWN: dict[str, Any] = {"best": [], "worst": [], "by_length": [], "by_rarest_word": [], "attention": []}
"""What lines of tests in older runs lack."""

# matplotlib writes colours as numbers; these stand for the page's own, which differ between light and dark.
COLOURS = {
    "#00aa01": "var(--muted)",
    "#00aa02": "var(--rule)",
    "#00aa03": "var(--first)",
    "#00aa04": "var(--second)",
}
INK, RULE, *SERIES = COLOURS


class Curve(NamedTuple):
    """One curve of a chart: the values of `key` in those `lines` that have it, over their steps."""

    name: str
    lines: Metrics
    key: str
    marked: bool = False


class Chart(NamedTuple):
    """A drawn chart: its title, the names of its curves in the order of their colours, and the drawing."""

    title: str
    names: list[str]
    drawing: Markup


class Growth(NamedTuple):
    """How the translation of one sentence changed as training went on."""

    source: str
    reference: str
    stages: list[tuple[int, str]]  # (step, translation)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a metrics.jsonl.

    A torn last line (the run was killed while writing it) is skipped; so is a damaged one elsewhere, with a warning.
    """
    lines = path.read_bytes().splitlines()
    metrics: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        try:
            metric = json.loads(line)
        except ValueError:
            metric = None
        if isinstance(metric, dict):
            metrics.append(metric)
        elif number < len(lines):
            warnings.warn(f"{path} line {number}: damaged (not a JSON object); skipped", stacklevel=2)
    return metrics


def render_report(recipe: Recipe, facts: Sequence[tuple[str, str]], metrics: Metrics) -> str:
    """The report as one HTML page that needs no network and no script.

    Args:
        recipe: what was trained.
        facts: labels and values of the run, such as ("Parameters", "7,612,416"), in the order to show them.
        metrics: the lines of metrics.jsonl so far; any kind of line may still be missing.
    """
    train, validations = current_lines(metrics, "train"), current_lines(metrics, "validation")
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["duration"] = _duration
    return environment.get_template("report.html.j2").render(
        recipe=recipe,
        recipe_text=tomli_w.dumps(recipe.to_dict()),
        facts=facts,
        latest=max([*train, *validations], key=lambda line: (line["step"], line["seconds"]), default=None),
        tests=list({line["name"]: NO_BREAKDOWN | line for line in metrics if line["kind"] == "test"}.values()),
        validations=validations,
        best=next((line for line in reversed(validations) if line["best"]), None),
        charts=_charts(train, validations),
        growths=_growths(validations),
        events=[line for line in metrics if line["kind"] == "event"],
    )


def current_lines(metrics: Metrics, kind: str) -> list[dict[str, Any]]:
    """Lines of one kind in order of their steps; steps done again after a resume replace the first attempt."""
    current: list[dict[str, Any]] = []
    for line in metrics:
        if line["kind"] == kind:
            while current and current[-1]["step"] >= line["step"]:
                current.pop()
            current.append(line)
    return current


def _growths(validations: Metrics) -> list[Growth]:
    """For every sample that several validations translated, its translations at some of them, the last included."""
    stages = min(STAGES, len(validations))
    growths: dict[str, Growth] = {}
    for index in np.linspace(0, len(validations) - 1, stages).astype(int):
        validation = validations[index]
        for sample in validation["samples"]:
            growth = growths.setdefault(sample["source"], Growth(sample["source"], sample["reference"], []))
            growth.stages.append((validation["step"], sample["translation"]))
    return [growth for growth in growths.values() if len(growth.stages) > 1]


def _charts(train: Metrics, validations: Metrics) -> list[Chart]:
    planned = {
        "Loss (nats a token)": [
            Curve("training, label-smoothed", train, "loss"),
            Curve("validation", validations, "loss", marked=True),
        ],
        PERPLEXITY: [
            Curve("training", train, "perplexity"),
            Curve("validation", validations, "perplexity", marked=True),
        ],
        "Validation scores": [
            Curve("BLEU", validations, "bleu", marked=True),
            Curve("chrF", validations, "chrf", marked=True),
        ],
        "Teacher-forced BLEU of tokens": [Curve("validation", validations, "teacher_forced_bleu", marked=True)],
        "Length of translations": [
            Curve("share of the references' tokens", validations, "length_ratio", marked=True),
        ],
        "Learning rate": [Curve("as scheduled", train, "learning_rate")],
        "Teacher forcing": [Curve("share of batches", validations, "teacher_forced", marked=True)],
        "Gradient norm": [Curve("over all parameters", train, "gradient_norm")],
        "Speed": [Curve("target tokens a second", train, "tokens_per_second")],
        "Padding": [Curve("share of a batch", train, "padding")],
    }
    return [_chart(title, present) for title, curves in planned.items() if (present := _present(curves))]


def _present(curves: Sequence[Curve]) -> list[Curve]:
    """Curves that have points, those only: lines of older runs lack some values."""
    kept = [curve._replace(lines=[line for line in curve.lines if curve.key in line]) for curve in curves]
    return [curve for curve in kept if curve.lines]


def _chart(title: str, curves: Sequence[Curve]) -> Chart:
    import matplotlib
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {
        "svg.fonttype": "none",  # letters stay letters: small, and set in the page's font
        "svg.hashsalt": title,  # ids that differ between charts, and not between runs
        "font.size": 9,
        "text.color": INK,
        "axes.edgecolor": RULE,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": RULE,
    }
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(3.8, 2.2))
        axes = figure.add_axes((0.15, 0.19, 0.83, 0.78))
        for colour, curve in zip(SERIES, curves, strict=False):
            steps, values = _thin(curve)
            alone = curve.marked or len(steps) == 1
            axes.plot(steps, values, color=colour, linewidth=1.6, marker="o" if alone else None, markersize=4)
        _dress(axes, logarithmic=title == PERPLEXITY)
        stream = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(stream, format="svg", transparent=True, metadata=nothing)
    words = f"{title}: {'; '.join(map(_in_words, curves))}"
    return Chart(title, [curve.name for curve in curves], _inline(stream.getvalue(), words))


def _dress(axes: Axes, logarithmic: bool) -> None:
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
        axes.set_ylim(bottom=0)  # what looks like a big change is one
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1000 else f"{value:g}")


def _thin(curve: Curve) -> tuple[list[float], list[float]]:
    """Steps and values of a curve, neighbours averaged where there are more than POINTS."""
    values = [(line["step"], min(line[curve.key], HIGHEST)) for line in curve.lines]
    points = np.array(values, dtype=float).reshape(-1, 2)
    if len(points) > POINTS:
        points = np.array([group.mean(axis=0) for group in np.array_split(points, POINTS)])
    return points[:, 0].tolist(), points[:, 1].tolist()


def _in_words(curve: Curve) -> str:
    """A curve for those who do not see it."""
    first, last = curve.lines[0], curve.lines[-1]
    start, end = (f"{line[curve.key]:.4g} at step {line['step']}" for line in (first, last))
    return f"{curve.name} from {start} to {end}"


def _inline(svg: str, words: str) -> Markup:
    """An SVG file as an element of a page: no prolog, no ids that other charts have too, the page's colours."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r' id="[\w.]+_\d+"', "", svg)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{words}" ', 1)
    for colour, variable in COLOURS.items():
        svg = svg.replace(colour, variable)
    return Markup(svg)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
