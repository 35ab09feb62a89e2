"""Blocks of synthetic pairs: made one after another, each stored in a file before the next one is made."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from dragoman.corpus.pair import Pair
from dragoman.errors import UserError
from dragoman.system.files import read_json, write_json
from dragoman.system.progress import Meter
from dragoman.system.resumable import BlockStore, FinishedBlock, grouped, run_blocks

BLOCK = 500
"""Pairs in a block: some seconds of work, the most that a killed process can lose."""

SHORT_TIMES = (120, 10)
"""Below each of these limits in seconds, blocks are a fifth as large, because a block is never interrupted."""


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

    def compared_with(self, made: Sequence[Pair]) -> Callable[[Pair], Pair | str]:
        """What finishes a pair, or says why it is left out, compared with others that were made."""
        ...


def make_blocks(
    pairs: Iterable[Pair],
    maker: BlockMaker,
    meter: Meter,
    directory: Path | None = None,
    limit: float | None = None,
) -> Iterator[FinishedBlock[list[Pair], PairBlock]]:
    """Make the blocks of some pairs, in order.

    Args:
        pairs: What the blocks are made of.
        maker: Makes a block.
        meter: Receives the number of pairs.
        directory: Where blocks are stored, so that those that it contains are not made again; None to store none.
        limit: No more blocks are made once all blocks together have taken this many seconds, without interruptions.
    """
    store = BlockStore(directory, maker.identity, _save, _load) if directory else None
    size = max(1, BLOCK // 5 ** sum(limit is not None and limit < seconds for seconds in SHORT_TIMES))
    blocks, seconds = run_blocks(partial(_make_timed, maker), grouped(pairs, size), store=store, meter=meter), 0.0
    while limit is None or seconds < limit:
        if (block := next(blocks, None)) is None:
            return
        seconds += block.result.seconds
        yield block


def _save(path: Path, block: PairBlock) -> None:
    block.save(path)


def _load(path: Path) -> PairBlock | None:
    try:
        return PairBlock.load(path)
    except (UserError, KeyError, TypeError, ValueError):
        return None


def _make_timed(maker: BlockMaker, pairs: Sequence[Pair]) -> PairBlock:
    started = time.monotonic()
    block = maker.make(pairs)
    return replace(block, seconds=time.monotonic() - started)
