"""Heat maps of attention as pictures to pass on, PNG and SVG."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from dragoman.errors import UserError
from dragoman.explanation.attention_map import AttentionMap, Side, Weights
from dragoman.explanation.capture import KINDS, Kind
from dragoman.explanation.fonts import choose_fonts
from dragoman.explanation.labels import labels
from dragoman.system.files import write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

CELL = 0.27  # inches
TITLES = {"encoder": "encoder self-attention", "decoder": "decoder masked self-attention", "cross": "cross-attention"}


def save_heat_maps(attention: AttentionMap, directory: Path) -> list[Path]:
    """Draw the last layers: cross-attention with one row a head, and the heads' mean of all three kinds.

    Returns:
        The files, each picture as PNG and as SVG. The letters of an SVG are set by whoever shows it.

    Raises:
        UserError: They cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{directory}: cannot be made: {error.strerror}") from error
    sides = (attention.source, attention.read, attention.predicted)
    families = choose_fonts(token for side in sides for token in labels(side))
    style: dict[Any, Any] = {"font.family": families, "svg.fonttype": "none", "font.size": 10}
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # which choose_fonts has told better
        return [
            *_save(draw_heads(attention), directory / "cross-attention-heads"),
            *_save(draw_kinds(attention), directory / "attention-kinds"),
        ]


def draw_heads(attention: AttentionMap) -> Figure:
    """Cross-attention of the last decoder layer, one row a head."""
    heads = attention.weights["cross"][-1]  # (heads, query, key)
    left, top = _room(attention.predicted), _room(attention.source)
    rows, columns = (CELL * size for size in heads.shape[1:])
    width, height = left + columns + top + 1.2, 0.5 + len(heads) * (top + rows + 0.6)
    figure = Figure(figsize=(width, height))
    figure.text(0.1 / width, 1 - 0.3 / height, f"cross-attention, decoder layer {len(attention.weights['cross'])}")
    for index, weights in enumerate(heads):
        bottom = height - 0.5 - (index + 1) * (top + rows + 0.6)
        axes = figure.add_axes((left / width, bottom / height, columns / width, rows / height))
        image = _draw(axes, attention, "cross", weights, f"head {index + 1}")
        if index == 0:
            place = ((left + columns + top + 0.4) / width, bottom / height, 0.15 / width, rows / height)
            figure.colorbar(image, cax=figure.add_axes(place))
    return figure


def draw_kinds(attention: AttentionMap) -> Figure:
    """The mean over the heads of the last layer, for all three kinds of attention."""
    tallest = max(CELL * len(attention.queries(kind).tokens) for kind in KINDS)
    top = max(map(_room, (attention.source, attention.read)))
    lefts = [_room(attention.queries(kind)) for kind in KINDS]
    widths = [CELL * len(attention.keys(kind).tokens) for kind in KINDS]
    width, height = sum(lefts) + sum(widths) + 3 * top + 0.9, tallest + top + 0.8
    figure, x = Figure(figsize=(width, height)), 0.0
    figure.text(0.1 / width, 1 - 0.3 / height, "attention of the last layers, mean over their heads")
    for kind, left, columns in zip(KINDS, lefts, widths, strict=True):
        weights = attention.mean(kind)[-1]
        rows = CELL * len(weights)
        x += left
        axes = figure.add_axes((x / width, (0.4 + tallest - rows) / height, columns / width, rows / height))
        image = _draw(axes, attention, kind, weights, TITLES[kind])
        x += columns + top
    figure.colorbar(image, cax=figure.add_axes(((x + 0.2) / width, 0.4 / height, 0.15 / width, tallest / height)))
    return figure


def _room(side: Side) -> float:
    """Inches that the labels of a side may need; far quicker than to have matplotlib measure them."""
    return 0.25 + 0.1 * max(map(len, labels(side)))


def _draw(axes: Axes, attention: AttentionMap, kind: Kind, weights: Weights, title: str) -> AxesImage:
    # by square roots, as small weights are many and worth seeing
    image = axes.imshow(weights, cmap="Blues", norm=PowerNorm(0.5, 0.0, 1.0))
    keys, queries = labels(attention.keys(kind)), labels(attention.queries(kind))
    axes.set_xlabel(title)
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(keys)), keys, rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(queries)), queries)
    axes.tick_params(length=0)
    return image


def _save(figure: Figure, path: Path) -> list[Path]:
    picture, drawing = path.with_suffix(".png"), path.with_suffix(".svg")
    stream = io.StringIO()
    figure.savefig(stream, format="svg")
    write_text(drawing, stream.getvalue())
    try:
        figure.savefig(picture, dpi=150)
    except OSError as error:
        raise UserError(f"{picture}: could not be saved: {error.strerror or error}") from error
    return [picture, drawing]
