"""Line-aligned text files: each line of the target file translates the same line of the source file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path

from dragoman.corpus.checks import existing_file, require_text
from dragoman.corpus.lines import read_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.errors import UserError, counted
from dragoman.settings import CorpusReference, FilePair

SYNTAX = "a path with {lang} in place of the language code"


def recognizes(reference: CorpusReference) -> bool:
    """Whether this is a `FilePair`, or a path with ``{lang}``."""
    return isinstance(reference, FilePair) or "{lang}" in reference


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The corpus in these two files; UserError if one is missing."""
    if isinstance(reference, FilePair):
        return open_files(f"{reference.source} and {reference.target}", reference.source, reference.target)
    return open_files(reference, *(reference.replace("{lang}", language) for language in languages))


def open_files(name: str, source: str, target: str) -> Corpus:
    """The corpus in a source and a target file; UserError if one is missing."""
    files = existing_file(source), existing_file(target)
    return Corpus(name, partial(_read, *files), files, aligned=True)


def _read(source: Path, target: Path) -> Iterator[Pair]:
    return require_text(_align(source, target), str(source), str(target))


def _align(source: Path, target: Path) -> Iterator[Pair]:
    with closing(read_lines(source)) as sources, closing(read_lines(target)) as targets:
        for before, (source_line, target_line) in enumerate(zip_longest(sources, targets)):
            if source_line is None or target_line is None:
                longer = before + 1 + sum(1 for _ in chain(sources, targets))
                lengths = (before, longer) if source_line is None else (longer, before)
                raise UserError(
                    f"files of different length: {source} has {counted(lengths[0], 'line')}, {target} has "
                    f"{counted(lengths[1], 'line')}; from line {before + 1:,} on there is nothing to pair"
                )
            yield Pair(source_line, target_line)
