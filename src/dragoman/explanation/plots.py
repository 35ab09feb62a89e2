"""Attention heat maps as PNG and SVG files."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from dragoman.errors import UserError
from dragoman.explanation.attention_map import AttentionMap, Weights
from dragoman.explanation.capture import KINDS, AttentionKind
from dragoman.explanation.fonts import choose_fonts
from dragoman.explanation.labels import sequence_labels
from dragoman.explanation.token_sequence import TokenSequence
from dragoman.system.files import write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

CELL = 0.27  # inches per row and column
HEADER = 0.5  # inches above the first row of heat maps
FOOTER = 0.4  # inches below the last one
COLOR_BAR = 0.15  # inches, its width
RESOLUTION = 150.0  # dots per inch of a PNG file
MAX_SIDE = 32_000  # dots; matplotlib and many viewers support no more than 2^15 or 2^16
MAX_DOTS = 40_000_000  # in total; larger pictures need much time and memory, and some viewers refuse them
READABLE = 60.0  # dots per inch; below that, labels are illegible
TITLES = {"encoder": "encoder self-attention", "decoder": "decoder masked self-attention", "cross": "cross-attention"}


def save_heat_maps(attention: AttentionMap, directory: Path) -> list[Path]:
    """Draw the last layers: every head of the cross-attention, and the mean over the heads of all three kinds.

    PNG files of long sentences have a lower resolution, and a warning says so if their labels are illegible.

    Returns:
        The files: each picture as PNG and as SVG. The text of an SVG is rendered with the fonts of the viewer.

    Raises:
        UserError: The files cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{directory}: cannot create the directory: {error.strerror}") from error
    sequences = (attention.source, attention.target_input, attention.target_output)
    families = choose_fonts(label for sequence in sequences for label in sequence_labels(sequence))
    style: dict[Any, Any] = {"font.family": families, "svg.fonttype": "none", "font.size": 10}
    style["text.parse_math"] = False  # a token such as $x$ is not a formula
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # choose_fonts has warned already
        return [
            *_save(draw_heads(attention), directory / "cross-attention-heads"),
            *_save(draw_kinds(attention), directory / "attention-kinds"),
        ]


def draw_heads(attention: AttentionMap) -> Figure:
    """The cross-attention of the last decoder layer, with one heat map per head, from top to bottom."""
    heads = attention.weights["cross"][-1]  # (heads, query, key)
    left, top = _label_length(attention.target_output), _label_length(attention.source)
    rows, columns = (CELL * size for size in heads.shape[1:])
    width, height = left + columns + top + 1.2, HEADER + len(heads) * (top + rows + 0.6)
    figure = Figure(figsize=(width, height))
    _add_title(figure, f"cross-attention, decoder layer {len(attention.weights['cross'])}")
    for index, weights in enumerate(heads):
        bottom = height - HEADER - (index + 1) * (top + rows + 0.6)
        axes = _add_axes(figure, (left, bottom, columns, rows))
        image = _draw(axes, attention, "cross", weights, f"head {index + 1}")
        if index == 0:
            bar = _add_axes(figure, (left + columns + top + 0.4, bottom, COLOR_BAR, rows))
            figure.colorbar(image, cax=bar)
    return figure


def draw_kinds(attention: AttentionMap) -> Figure:
    """The mean over the heads of the last layer, with one heat map per kind of attention, from left to right."""
    highest = max(CELL * len(attention.queries(kind).tokens) for kind in KINDS)
    top = max(map(_label_length, (attention.source, attention.target_input)))
    lefts = [_label_length(attention.queries(kind)) for kind in KINDS]
    widths = [CELL * len(attention.keys(kind).tokens) for kind in KINDS]
    figure = Figure(figsize=(sum(lefts) + sum(widths) + 3 * top + 0.9, highest + top + 0.8))
    _add_title(figure, "attention of the last layers, mean over the heads")
    x = 0.0
    for kind, left, columns in zip(KINDS, lefts, widths, strict=True):
        weights = attention.mean(kind)[-1]
        rows = CELL * len(weights)
        axes = _add_axes(figure, (x + left, FOOTER + highest - rows, columns, rows))
        image = _draw(axes, attention, kind, weights, TITLES[kind])
        x += left + columns + top
    figure.colorbar(image, cax=_add_axes(figure, (x + 0.2, FOOTER, COLOR_BAR, highest)))
    return figure


def _label_length(sequence: TokenSequence) -> float:
    """An upper bound on the length of the labels in inches; measuring them with matplotlib is much slower."""
    return 0.25 + 0.1 * max(map(len, sequence_labels(sequence)))


def _add_title(figure: Figure, title: str) -> None:
    width, height = figure.get_size_inches()
    figure.text(0.1 / width, 1 - 0.3 / height, title)


def _add_axes(figure: Figure, box: tuple[float, float, float, float]) -> Axes:
    """Axes at left, bottom, width and height in inches."""
    width, height = figure.get_size_inches()
    left, bottom, columns, rows = box
    return figure.add_axes((left / width, bottom / height, columns / width, rows / height))


def _draw(axes: Axes, attention: AttentionMap, kind: AttentionKind, weights: Weights, title: str) -> AxesImage:
    # the square root makes small weights visible
    # "none" stores one pixel per weight in SVG files, independent of the size of the picture
    image = axes.imshow(weights, cmap="Blues", norm=PowerNorm(0.5, 0.0, 1.0), interpolation="none")
    keys, queries = sequence_labels(attention.keys(kind)), sequence_labels(attention.queries(kind))
    axes.set_xlabel(title)
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(keys)), keys, rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(queries)), queries)
    axes.tick_params(length=0)
    return image


def _save(figure: Figure, path: Path) -> list[Path]:
    png, svg = path.with_suffix(".png"), path.with_suffix(".svg")
    stream = io.StringIO()
    figure.savefig(stream, format="svg")
    write_text(svg, stream.getvalue())
    resolution = _resolution(*figure.get_size_inches())
    if resolution < READABLE:
        warnings.warn(f"{png}: the sentence is too long for legible labels; use {svg.name} or the page", stacklevel=3)
    try:
        figure.savefig(png, dpi=resolution)
    except OSError as error:
        raise UserError(f"{png}: cannot write the file: {error.strerror or error}") from error
    return [png, svg]


def _resolution(width: float, height: float) -> float:
    """The dots per inch of a PNG file of this size in inches."""
    return float(min(RESOLUTION, MAX_SIDE / max(width, height), (MAX_DOTS / (width * height)) ** 0.5))
