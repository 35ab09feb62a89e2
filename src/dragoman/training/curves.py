"""curves.svg of a training run: perplexity and scores of its validations over epochs, as a picture to pass on."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.system.files import write_text

HIGHEST = 1e9  # perplexity that is drawn: those of runs that diverged know no bounds


def draw_curves(name: str, train: Sequence[dict[str, Any]], validations: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the validations of a run; without any, nothing.

    Args:
        name: Title of the picture.
        train: Lines of metrics.jsonl of training steps, each step once.
        validations: Those of validations.
        path: Where to write the picture, .svg.
    """
    if not validations:
        return
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    epochs = [line["epoch"] for line in validations]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    figure.suptitle(name)
    perplexity, scores = figure.subplots(1, 2)
    for lines, label, marker in ((train, "training", None), (validations, "validation", "o")):
        values = [min(line["perplexity"], HIGHEST) for line in lines]
        perplexity.plot([line["epoch"] for line in lines], values, marker=marker, label=label)
    perplexity.set_yscale("log")
    perplexity.set_title("perplexity")
    for key, label in (("bleu", "BLEU"), ("chrf", "chrF"), ("teacher_forced_bleu", "teacher-forced BLEU of tokens")):
        scores.plot(epochs, [line[key] for line in validations], marker="o", label=label)
    scores.set_title("validation scores")
    scores.set_ylim(bottom=0)
    for axes in (perplexity, scores):
        axes.set_xlabel("epoch")
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=epochs[-1] > 2))
        axes.grid(linewidth=0.4)
        axes.legend()
    picture = io.StringIO()
    figure.savefig(picture, format="svg")
    write_text(path, picture.getvalue())
