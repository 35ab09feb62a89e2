"""The facts about a run that its report lists."""

from __future__ import annotations

import platform
from collections.abc import Sequence

import torch

from dragoman.doctor.data.cleaned_text import CleanedText
from dragoman.errors import counted
from dragoman.model.transformer import parameter_counts
from dragoman.system.progress import format_seconds
from dragoman.system.version import __version__
from dragoman.training.trainer import Trainer


def run_facts(
    trainer: Trainer, cleaned: CleanedText | None, stages: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Names and values.

    Args:
        trainer: The trainer after its last step.
        cleaned: The training text, if it was cleaned.
        stages: Facts about the stages before.
    """
    data, progress = trainer.data, trainer.state.progress
    by_size = sorted(parameter_counts(trainer.state.model).items(), key=lambda item: -item[1])
    return [
        *((f"Parameters, {part.replace('_', ' ')}", f"{number:,}") for part, number in by_size),
        ("Vocabulary", f"{len(data.source.vocabulary):,} source, {len(data.target.vocabulary):,} target"),
        ("Training pairs", f"{len(data.train):,} ({data.dropped:,} left out: too long, or text of validation pairs)"),
        *([("Cleaning", str(cleaned))] if cleaned else []),
        *stages,
        *([("Initial weights", start_from)] if (start_from := trainer.settings.start_from) else []),
        (
            "Training",
            f"{counted(progress.step, 'step')} in {format_seconds(progress.seconds)}, with validation, without tests",
        ),
        ("End of training", trainer.budget.reason_to_end(progress)),
        ("Machine", f"{trainer.state.device}, {counted(torch.get_num_threads(), 'thread')}, {platform.machine()}"),
        ("Versions", f"dragoman {__version__}, Python {platform.python_version()}, torch {torch.__version__}"),
    ]
