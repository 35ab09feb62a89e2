"""Writing synthetic pairs to a corpus; their blocks are kept next to it until it is complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

from pydantic import Field

from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.writers import check_output, write_corpus
from dragoman.errors import counted
from dragoman.synthesis.block import BlockMaker, PairBlock, make_blocks
from dragoman.synthesis.pair_checks import DESCRIBED_PAIRS
from dragoman.system.progress import Meter
from dragoman.system.resumable import only_writer


@dataclass(frozen=True)
class Synthesized:
    """Pairs that were made of lines.

    Attributes:
        pairs: How many were written.
        left_out: How many lines were left out, by reason.
        seconds: How long it took to make them.
        share: The share of the lines that there was time for.
    """

    pairs: int
    left_out: dict[str, int]
    seconds: float
    share: Annotated[float, Field(ge=0, le=1)] = 1.0

    @property
    def lines(self) -> int:
        """How many lines they were made of."""
        return self.pairs + sum(self.left_out.values())

    def __str__(self) -> str:
        reasons = sorted(self.left_out.items(), key=lambda item: -item[1])
        shown = ", ".join(f"{reason} {number:,}" for reason, number in reasons)
        left_out = f"; left out: {shown}" if shown else ""
        late = f"; there was time to translate {100 * self.share:.3g}% of the text" if self.share < 1 else ""
        more = f", and all of it needs {1 / self.share:.1f} times as many minutes" if 0 < self.share < 1 else ""
        return f"{counted(self.pairs, 'pair')} from {counted(self.lines, 'line')}{left_out}{late}{more}"


def write_synthetic(
    pairs: Iterable[Pair],
    maker: BlockMaker,
    output: str,
    languages: Languages,
    meter: Meter,
    limit: float | None = None,
) -> Synthesized:
    """Write what a maker makes of pairs to a corpus, which appears only once it is complete.

    It does not appear if no pair is left.

    A process that is killed at any moment loses at most one block. The next one continues after the last stored block,
    with the same result. The blocks stay, until the caller no longer needs them and calls `delete_unfinished`.

    Args:
        pairs: What the synthetic pairs are made of.
        maker: Makes them.
        output: A path or pattern as for `write_corpus`.
        languages: Those of source and target.
        meter: Receives the number of pairs.
        limit: See `make_blocks`.

    Raises:
        UserError: The output exists or cannot be written, or another process writes it.
    """
    check_output(output, languages)
    with only_writer(output) as directory:
        check_output(output, languages)  # another process may have finished it before this one had the lock
        paths, left_out, seconds = list[Path](), Counter[str](), 0.0
        for block in make_blocks(pairs, maker, meter, directory, limit):
            assert block.path
            paths.append(block.path)
            left_out += block.result.left_out
            seconds += block.result.seconds
        finished = _finish_pairs(maker, paths, left_out)
        first = next(finished, None)
        count = 0
        if first or Path(output).is_fifo():  # whose reader waits for its end
            count, _ = write_corpus(chain([first] if first else [], finished), output, languages)
    return Synthesized(count, dict(left_out), seconds)


def _finish_pairs(maker: BlockMaker, paths: Sequence[Path], left_out: Counter[str]) -> Iterator[Pair]:
    """The pairs of blocks as they are written; counts those that are left out."""

    def made() -> Iterator[Pair]:
        return chain.from_iterable(PairBlock.load(path).pairs for path in paths)

    finish = maker.compared_with(list(islice(made(), DESCRIBED_PAIRS)))
    for pair in made():
        finished = finish(pair)
        if isinstance(finished, str):
            left_out[finished] += 1
        else:
            yield finished
