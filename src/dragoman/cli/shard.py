"""The option --shard: one of several parts of a file."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dragoman.cli.standard_streams import DASH
from dragoman.errors import UserError


@dataclass(frozen=True)
class Shard:
    """One of several parts of the lines of a file. Parts are contiguous, and differ by at most one line.

    Args:
        number: Which part, from 1.
        count: How many parts there are, at most 99,999.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The part that ``NUMBER/COUNT`` names.

        Raises:
            UserError: There is no such part.
        """
        match = re.fullmatch(r"([0-9]{1,5})/([0-9]{1,5})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UserError(
                f"--shard {text}: expected NUMBER/COUNT, such as 1/8 for the first of 8 parts, of at most 99999"
            )
        return cls(int(match[1]), int(match[2]))

    def name_part(self, output: Path) -> Path:
        """The file of this part: ``out.txt`` becomes ``out.00001-of-00008.txt``. Names are in the order of the parts.

        Raises:
            UserError: The output is a directory.
        """
        if output.is_dir():
            raise UserError(f"--output {output}: is a directory; name a file in it, such as {output / 'part.txt'}")
        suffix = "".join(output.suffixes[-2:]) if output.suffix == ".gz" else output.suffix
        name = f"{output.name.removesuffix(suffix)}.{self.number:05}-of-{self.count:05}{suffix}"
        return output.with_name(name)

    def read(self, file: Path) -> Iterator[tuple[int, str]]:
        """The lines of this part with their numbers in the file. The whole file is checked before the first one.

        Raises:
            UserError: The file is not text.
        """
        from dragoman.corpus.lines import read_lines

        total = sum(1 for _ in read_lines(file, replace_controls=True))
        lines = self.lines_of(total)
        return islice(enumerate(read_lines(file, replace_controls=True), start=1), lines.start, lines.stop)

    def lines_of(self, total: int) -> range:
        """The indices of its lines in a file with this number of lines."""
        return range(total * (self.number - 1) // self.count, total * self.number // self.count)


def part_of_output(shard: Shard, source: Path | None, output: Path | None, option: str = "--input") -> Path:
    """The file that a part is written to; `option` names the source.

    Raises:
        UserError: The input or the output is not a file.
    """
    if source in (None, DASH) or output in (None, DASH):
        raise UserError(
            f"--shard divides the lines of a file; name the file with {option}, and the parts with --output"
        )
    if not source.is_file():  # a pipe cannot be read twice
        problem = "is not a regular file" if source.exists() else "no such file"
        raise UserError(f"{source}: {problem}")
    return shard.name_part(output)


def skip_part(output: Path, source: Path) -> bool:
    """Whether a part is newer than what it is made of, so that it is not made again; a message says so."""
    if not output.is_file() or output.stat().st_mtime < source.stat().st_mtime:
        return False
    print(f"dragoman: {output}: newer than {source}, so it is not translated again", file=sys.stderr)
    return True
