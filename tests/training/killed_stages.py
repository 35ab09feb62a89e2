"""Kills a run with several stages."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.synthesis import block
from dragoman.training.loop.trainer import Trainer
from dragoman.training.stages import pairs, stages


class Killed(BaseException):
    """The process was killed."""


def kill_at(monkeypatch: pytest.MonkeyPatch, moment: int) -> None:
    """Kill the process at a step of a training, or before a block is stored, counted over all stages."""
    moments = iter(range(moment))

    def killing(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def count(*arguments: Any, **named: Any) -> Any:
            if next(moments, None) is None:
                raise Killed
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, count)

    killing(Trainer, "take_step")
    killing(block.PairBlock, "save")
    killing(pairs, "delete_unfinished")
    killing(stages, "make_corpora")
    killing(stages, "final_recipe")
