"""Blocks of synthetic pairs: made one after another, each stored in a file before the next one is made."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from dragoman.corpus.pair import Pair
from dragoman.errors import UserError
from dragoman.system.build_cache import digest
from dragoman.system.files import read_json, write_json
from dragoman.system.progress import Meter

BLOCK = 500
"""Pairs in a block: some seconds of work, the most that a killed process can lose."""

SHORT_TIME = 120
"""Below this limit in seconds, blocks are a fifth as large, because a block is never interrupted."""


@dataclass(frozen=True)
class PairBlock:
    """Synthetic pairs, how many pairs were left out for which reason, and how long it took to make them."""

    pairs: list[Pair]
    left_out: Counter[str]
    seconds: float = 0.0

    def save(self, path: Path) -> None:
        """Write the block completely or not at all; raises UserError if the disk is full."""
        pairs = [[pair.source, pair.target] for pair in self.pairs]
        write_json(path, {"pairs": pairs, "left_out": self.left_out, "seconds": self.seconds})

    @classmethod
    def load(cls, path: Path) -> PairBlock:
        """Read what `save` wrote."""
        stored = read_json(path)
        pairs = [Pair(source, target) for source, target in stored["pairs"]]
        return cls(pairs, Counter(stored["left_out"]), stored["seconds"])


class BlockMaker(Protocol):
    """Makes blocks."""

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that decides what is made of given pairs, as plain data."""
        ...

    def make(self, pairs: Sequence[Pair]) -> PairBlock:
        """What is made of some pairs."""
        ...


def made_blocks(pairs: Iterable[Pair], maker: BlockMaker, meter: Meter) -> Iterator[PairBlock]:
    """Make the blocks of some pairs, and store none."""
    for group in _groups(pairs, BLOCK):
        yield _make_timed(maker, group)
        meter.advance(len(group))


def stored_blocks(
    pairs: Iterable[Pair], maker: BlockMaker, directory: Path, meter: Meter, limit: float | None = None
) -> Iterator[Path]:
    """Make the blocks that a directory does not contain yet; returns the file of each block, in order.

    The name of a file depends on the number and the content of the pairs, and on the identity of the maker. So a block
    that was made of other text, or with other settings, is never used. One that cannot be read is made again.

    Args:
        pairs: What the blocks are made of.
        maker: Makes a block.
        directory: Where blocks are stored.
        meter: Receives the number of pairs.
        limit: No more blocks are made once all blocks together have taken this many seconds, without interruptions.
    """
    identity, seconds = maker.identity, 0.0
    size = BLOCK if limit is None or limit >= SHORT_TIME else BLOCK // 5
    for number, group in enumerate(_groups(pairs, size)):
        if limit is not None and seconds >= limit:
            return
        texts = [[pair.source, pair.target] for pair in group]
        path = directory / f"{number:06}-{digest([identity, texts])}.json"
        stored = path.is_file() and _is_intact(path)
        if not stored:
            _make_timed(maker, group).save(path)
        if limit is not None:
            seconds += PairBlock.load(path).seconds
        meter.advance(len(group), skipped=stored)
        yield path


def _is_intact(path: Path) -> bool:
    """Whether a block can be read; a disk may have lost a part of it."""
    try:
        PairBlock.load(path)
    except (UserError, KeyError, TypeError, ValueError):
        return False
    return True


def _groups(pairs: Iterable[Pair], size: int) -> Iterator[list[Pair]]:
    remaining = iter(pairs)
    while group := list(islice(remaining, size)):
        yield group


def _make_timed(maker: BlockMaker, pairs: Sequence[Pair]) -> PairBlock:
    started = time.monotonic()
    block = maker.make(pairs)
    return replace(block, seconds=time.monotonic() - started)
