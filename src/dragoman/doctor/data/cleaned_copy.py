"""A copy of a corpus without the pairs that have problems, and a list of the pairs that were left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from dragoman.doctor.data.chunked_reader import Chunk
from dragoman.doctor.data.line_statistics import Flags
from dragoman.errors import UserError
from dragoman.system.files import atomic_directory, is_unused
from dragoman.text.normalization import remove_invisible

DROPPED = "dropped.tsv"


class CleanedCopy:
    """The files of a cleaned copy while it is written: the two sides, and the list of dropped pairs."""

    def __init__(self, source: IO[str], target: IO[str], dropped: IO[str]) -> None:
        self._source, self._target, self._dropped = source, target, dropped
        self._dropped.write("corpus\tline\treasons\tsource\ttarget\n")

    def add(self, corpus: str, chunk: Chunk, flags: Mapping[str, Flags]) -> None:
        """Write the pairs of a chunk, without invisible characters, which translators remove from what they translate.

        Args:
            corpus: Name of the corpus.
            chunk: Pairs of the corpus.
            flags: For each code of a finding, the pairs of the chunk that have the problem.
        """
        flagged = np.zeros(len(chunk), np.bool_)
        for values in flags.values():
            flagged |= values
        for stream, texts in ((self._source, chunk.sources), (self._target, chunk.targets)):
            stream.writelines(f"{remove_invisible(texts[index])}\n" for index in (~flagged).nonzero()[0].tolist())
        for index in flagged.nonzero()[0].tolist():
            reasons = ",".join(code for code, values in flags.items() if values[index])
            texts = [" ".join(side[index].split()) for side in (chunk.sources, chunk.targets)]
            self._dropped.write("\t".join([corpus, str(chunk.first_line + index), reasons, *texts]) + "\n")


@contextmanager
def write_cleaned_copy(directory: Path, file_names: tuple[str, str]) -> Iterator[CleanedCopy]:
    """A cleaned copy to write to; its directory appears only if everything succeeds.

    Args:
        directory: The directory to create.
        file_names: Names of the files with the sources and the targets.

    Raises:
        UserError: The directory exists and is not empty, or it cannot be written.
    """
    if not is_unused(directory):
        raise UserError(f"{directory}: not empty; choose a new directory for --write")
    with (
        atomic_directory(directory) as temporary,
        (temporary / file_names[0]).open("w", encoding="utf-8") as source,
        (temporary / file_names[1]).open("w", encoding="utf-8") as target,
        (temporary / DROPPED).open("w", encoding="utf-8", errors="replace") as dropped,
    ):
        yield CleanedCopy(source, target, dropped)
