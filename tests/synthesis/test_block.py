"""Blocks of synthetic pairs: stored one by one, never made twice, never of other text or settings."""

from __future__ import annotations

import os
import random
import select
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from dragoman.corpus.pair import Pair
from dragoman.errors import UserError
from dragoman.synthesis import block
from dragoman.synthesis.block import PairBlock, make_blocks
from dragoman.synthesis.write import write_synthetic
from dragoman.system.progress import Meter, no_update
from dragoman.system.resumable import delete_unfinished, unfinished_directory

LANGUAGES = ("de", "en")
METER = Meter(no_update, "test")


class Killed(BaseException):
    """The process was killed."""


class FakeMaker:
    """Makes upper-case sources, leaves out every seventh pair, and may be killed after a number of blocks."""

    def __init__(self, setting: str = "", kill_after: int = 10**9) -> None:
        self.identity: dict[str, Any] = {"setting": setting}
        self.kill_after, self.made = kill_after, 0

    def make(self, pairs: Sequence[Pair]) -> PairBlock:
        if self.made == self.kill_after:
            raise Killed
        self.made += 1
        kept = [
            Pair(pair.target.upper() + self.identity["setting"], pair.target)
            for pair in pairs
            if zlib.crc32(pair.target.encode()) % 7
        ]
        return PairBlock(kept, Counter({"unlucky": len(pairs) - len(kept)}))

    def compared_with(self, made: Sequence[Pair]) -> Callable[[Pair], Pair | str]:
        return lambda pair: pair


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block, "BLOCK", 10)


def mono(number: int) -> list[Pair]:
    return [Pair("", f"line {each}") for each in range(number)]


def write(maker: FakeMaker, output: Path, pairs: Sequence[Pair], limit: float | None = None) -> Any:
    written = write_synthetic(iter(pairs), maker, str(output), LANGUAGES, METER, limit)
    delete_unfinished(output)
    return written


@pytest.mark.parametrize("lines", [1, 10, 95])
def test_a_killed_process_is_continued(lines: int, tmp_path: Path) -> None:
    whole = write(FakeMaker(), tmp_path / "whole.tsv", mono(lines))
    generator, output, made = random.Random(lines), tmp_path / "killed.tsv", 0
    while not output.exists():
        maker = FakeMaker(kill_after=generator.randrange(4))
        try:
            again = write(maker, output, mono(lines))
        except Killed:
            assert not output.exists()
            assert unfinished_directory(output).is_dir() == (made + maker.made > 0)
        made += maker.made
    assert output.read_bytes() == (tmp_path / "whole.tsv").read_bytes()
    assert (again.pairs, again.left_out) == (whole.pairs, whole.left_out)
    assert again.pairs + sum(again.left_out.values()) == lines
    assert made == -(-lines // 10), "no block is made twice"
    assert not unfinished_directory(output).exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed.tsv", "whole.tsv"]


def test_blocks_of_other_text_or_settings_are_not_used(tmp_path: Path) -> None:
    output = tmp_path / "out.tsv"
    with pytest.raises(Killed):
        write(FakeMaker(kill_after=3), output, mono(50))
    other = [Pair("", "another line"), *mono(50)[1:]]
    maker = FakeMaker()
    write(maker, output, other)
    assert maker.made == 3, "the first block differs, and two were not made"
    output.unlink()
    with pytest.raises(Killed):
        write(FakeMaker(kill_after=3), output, mono(50))
    maker = FakeMaker("!")
    write(maker, output, mono(50))
    assert maker.made == 5
    assert all(line.split("\t")[0].endswith("!") for line in output.read_text().splitlines())


def test_a_damaged_block_is_made_again(tmp_path: Path) -> None:
    write(FakeMaker(), tmp_path / "whole.tsv", mono(50))
    output = tmp_path / "out.tsv"
    with pytest.raises(Killed):
        write(FakeMaker(kill_after=3), output, mono(50))
    first, second, _ = sorted(unfinished_directory(output).glob("*.json"))
    first.write_bytes(first.read_bytes()[:-20])
    second.write_text("{}")
    maker = FakeMaker()
    write(maker, output, mono(50))
    assert maker.made == 4
    assert output.read_bytes() == (tmp_path / "whole.tsv").read_bytes()


def test_a_limit_counts_the_time_before_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10**6))  # each block takes a second
    monkeypatch.setattr(
        "dragoman.synthesis.block.time.monotonic", lambda: float(next(clock))
    )  # each block takes a second
    whole = write(FakeMaker(), tmp_path / "whole.tsv", mono(95), limit=4.0)
    assert whole.seconds == 4
    with pytest.raises(Killed):
        write(FakeMaker(kill_after=3), tmp_path / "killed.tsv", mono(95), limit=4.0)
    write(maker := FakeMaker(), tmp_path / "killed.tsv", mono(95), limit=4.0)
    assert maker.made == 1
    assert (tmp_path / "killed.tsv").read_bytes() == (tmp_path / "whole.tsv").read_bytes()


def test_a_corpus_without_pairs_is_not_written(tmp_path: Path) -> None:
    text = [Pair("", "line 7")]
    made = write(FakeMaker(), tmp_path / "out.tsv", text)
    assert (made.pairs, made.left_out) == (0, {"unlucky": 1})
    assert not list(tmp_path.iterdir())


def test_the_reader_of_a_pipe_sees_the_end_of_a_corpus_without_pairs(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "out.tsv")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    poll = select.poll()
    poll.register(reader, select.POLLHUP)
    write(FakeMaker(), pipe, [Pair("", "line 7")])
    assert [event for _, event in poll.poll(0)] == [select.POLLHUP], "a writer was there, and has closed it"
    os.close(reader)


def test_an_existing_corpus_is_kept(tmp_path: Path) -> None:
    (tmp_path / "out.tsv").write_text("mine")
    with pytest.raises(UserError, match="already exists"):
        write(FakeMaker(), tmp_path / "out.tsv", mono(5))
    assert (tmp_path / "out.tsv").read_text() == "mine"


def test_blocks_that_are_not_stored_are_the_same(tmp_path: Path) -> None:
    write(FakeMaker(), tmp_path / "out.tsv", mono(33))
    made = chain.from_iterable(each.result.pairs for each in make_blocks(iter(mono(33)), FakeMaker(), METER))
    assert [f"{pair.source}\t{pair.target}" for pair in made] == (tmp_path / "out.tsv").read_text().splitlines()


def test_blocks_are_smaller_if_there_is_little_time(tmp_path: Path) -> None:
    """So that a text does not take much more than its time."""
    blocks = {}
    for limit in (None, 1000.0, 10.0):
        maker = FakeMaker()
        write(maker, tmp_path / f"{limit}.tsv", mono(40), limit)
        blocks[limit] = maker.made
    assert blocks == {None: 4, 1000.0: 4, 10.0: 20}
