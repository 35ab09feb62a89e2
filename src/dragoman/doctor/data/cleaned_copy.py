"""The pairs of a corpus without those that are marked, and a list of what was left out and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dragoman.doctor.data.chunked_reader import Chunk
from dragoman.doctor.data.corpus_statistics import Marks
from dragoman.errors import UserError
from dragoman.system.files import atomic_directory

DROPPED = "dropped.tsv"


class Cleaned:
    """Files of a directory being written: the two sides, and dropped.tsv."""

    def __init__(self, source: IO[str], target: IO[str], dropped: IO[str]) -> None:
        self.source, self.target, self.dropped = source, target, dropped
        self.dropped.write("corpus\tline\treasons\tsource\ttarget\n")

    def add(self, corpus: str, chunk: Chunk, marks: Mapping[str, Marks]) -> None:
        """Write the pairs of a chunk; `marks` has one value a pair for each reason to leave it out."""
        reasons = {code: set(values.nonzero()[0].tolist()) for code, values in marks.items() if values.any()}
        for place, pair in enumerate(zip(chunk.sources, chunk.targets, strict=True)):
            why = [code for code, places in reasons.items() if place in places]
            source, target = (" ".join(text.split()) if why else text for text in pair)
            if why:
                self.dropped.write(f"{corpus}\t{chunk.first + place}\t{','.join(why)}\t{source}\t{target}\n")
            else:
                self.source.write(source + "\n")
                self.target.write(target + "\n")


@contextmanager
def cleaned(directory: Path, names: tuple[str, str]) -> Iterator[Cleaned]:
    """A new directory with files of these names, which is there only if all went well.

    Raises:
        UserError: There is something in it already, or it cannot be written.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UserError(f"{directory}: not empty; choose another directory to write to")
    with (
        atomic_directory(directory) as temporary,
        (temporary / names[0]).open("w", encoding="utf-8") as source,
        (temporary / names[1]).open("w", encoding="utf-8") as target,
        (temporary / DROPPED).open("w", encoding="utf-8", errors="replace") as dropped,
    ):
        yield Cleaned(source, target, dropped)
