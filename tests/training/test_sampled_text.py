"""If there is no time to translate all of a text, a sample of all its parts is translated."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.corpus.corpus import read_texts
from dragoman.corpus.pair import Pair
from dragoman.synthesis import block
from dragoman.synthesis.block import PairBlock
from dragoman.system.progress import ProgressLine
from dragoman.training.stages import pairs
from dragoman.training.stages.pairs import SyntheticCorpus, read_in_random_order

LINES = 2000


class Interrupted(BaseException):
    """The process was killed."""


class SlowTeacher:
    """Copies texts. A block takes a second of its clock; it may be killed after a number of blocks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kill_after: int = 10**9) -> None:
        self.identity: dict[str, Any] = {"teacher": "slow"}
        self.kill_after, self.made, self.now = kill_after, 0, 0.0
        monkeypatch.setattr("dragoman.synthesis.block.time.monotonic", lambda: self.now)

    def make(self, pairs: Sequence[Pair]) -> PairBlock:
        if self.made == self.kill_after:
            raise Interrupted
        self.made, self.now = self.made + 1, self.now + 1
        return PairBlock([Pair(pair.target, pair.target) for pair in pairs], Counter())

    def compared_with(self, made: Sequence[Pair]) -> Callable[[Pair], Pair | str]:
        return lambda pair: pair


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block, "BLOCK", 100)


def read(count: int = LINES) -> Iterator[Pair]:
    return (Pair("", f"line {number}") for number in range(count))


def translate(teacher: SlowTeacher, path: Path, seed: int | None, limit: float | None) -> list[int]:
    """The numbers of the lines that are translated, in order."""
    corpus = SyntheticCorpus("monolingual text", path, read, lambda: teacher, 1.0, seed=seed)
    with ProgressLine("train", quiet=True) as line:
        corpus.make(line, limit, lambda: None)
    _, targets = read_texts(Path(f"{path}.source"), Path(f"{path}.target"))
    return [int(target.split()[1]) for target in targets]


def test_a_limit_of_time_leaves_a_sample_of_all_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = translate(SlowTeacher(monkeypatch), tmp_path / "limited", seed=1, limit=10)
    assert len(found) == len(set(found)) == 200, "ten small blocks"
    parts = Counter(number // (LINES // 10) for number in found)
    assert len(parts) == 10
    assert max(parts.values()) < 3 * min(parts.values())
    assert translate(SlowTeacher(monkeypatch), tmp_path / "again", seed=1, limit=10) == found
    assert set(translate(SlowTeacher(monkeypatch), tmp_path / "other", seed=2, limit=10)) != set(found)
    more = translate(SlowTeacher(monkeypatch), tmp_path / "more", seed=1, limit=20)
    assert more[: len(found)] == found


def test_an_interruption_does_not_change_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = translate(SlowTeacher(monkeypatch), tmp_path / "whole", seed=1, limit=10)
    with pytest.raises(Interrupted):
        translate(SlowTeacher(monkeypatch, kill_after=4), tmp_path / "killed", seed=1, limit=10)
    assert translate(teacher := SlowTeacher(monkeypatch), tmp_path / "killed", seed=1, limit=10) == found
    assert teacher.made == 6


def test_blocks_in_another_order_are_not_mixed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as those of a run that was started by an earlier version, in the order of the text."""
    found = translate(SlowTeacher(monkeypatch), tmp_path / "whole", seed=1, limit=10)
    with pytest.raises(Interrupted):
        translate(SlowTeacher(monkeypatch, kill_after=4), tmp_path / "killed", seed=None, limit=10)
    assert translate(SlowTeacher(monkeypatch), tmp_path / "killed", seed=1, limit=10) == found


def test_text_without_a_limit_is_translated_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert translate(SlowTeacher(monkeypatch), tmp_path / "all", seed=None, limit=None) == list(range(LINES))


@pytest.mark.parametrize("count", [0, 1, LINES])
def test_the_order_does_not_depend_on_the_memory(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(read_in_random_order(lambda: read(count), count, seed=1))
    assert sorted(whole) == sorted(read(count))
    monkeypatch.setattr(pairs, "SORTED_PAIRS", 70)
    assert list(read_in_random_order(lambda: read(count), count, seed=1)) == whole


def test_long_text_is_not_in_memory_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is released before the next one is read."""

    def peak() -> int:
        tracemalloc.start()
        for _ in read_in_random_order(lambda: read(20 * LINES), 20 * LINES, seed=1):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    whole = peak()
    monkeypatch.setattr(pairs, "SORTED_PAIRS", 2 * LINES)
    assert peak() < whole / 7
