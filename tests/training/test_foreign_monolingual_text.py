"""Monolingual text in another language than a teacher reads is reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.corpus.pair import Pair
from dragoman.doctor.input import OTHER_LANGUAGE
from dragoman.synthesis.block import PairBlock
from dragoman.system.progress import ProgressLine
from dragoman.training.stages.pairs import SyntheticCorpus


class ForeignText:
    """Leaves out the first pairs of each block, because they are in another language."""

    def __init__(self, foreign: int) -> None:
        self.foreign = foreign
        self.identity: dict[str, Any] = {"foreign": foreign}

    def make(self, pairs: Sequence[Pair]) -> PairBlock:
        kept = [Pair(pair.source, pair.source) for pair in pairs[self.foreign :]]
        return PairBlock(kept, Counter({OTHER_LANGUAGE: self.foreign}))

    def compared_with(self, made: Sequence[Pair]) -> Callable[[Pair], Pair | str]:
        return lambda pair: pair


@pytest.mark.parametrize(("foreign", "is_reported"), [(0, False), (5, False), (6, True), (10, True)])
def test_most_of_the_text_must_be_in_the_language_of_the_teacher(
    foreign: int, is_reported: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [Pair(f"Text {number}", "") for number in range(10)]
    teacher = ForeignText(foreign)
    corpus = SyntheticCorpus("monolingual text", tmp_path / "mono", lambda: iter(texts), lambda: teacher, 1.0)
    with ProgressLine("train") as line:
        corpus.make(line, None, lambda: None)
    assert (
        "most of the monolingual text is not in the source language of the teacher" in capsys.readouterr().err
    ) == is_reported
