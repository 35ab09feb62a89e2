"""Line-aligned text files: each line of the target file translates the same line of the source file."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path

from dragoman.corpus.checks import existing_file, require_text
from dragoman.corpus.lines import open_binary, read_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import as_corpus_file, describe_reference, file_name, refuse_settings
from dragoman.errors import UserError, counted
from dragoman.markup.file_kinds import find_file_kind, find_keys
from dragoman.settings import CorpusReference, FilePair

SYNTAX = "a path with {lang} in place of the language code"

_HEAD_BYTES = 65_536


def recognizes(reference: CorpusReference) -> bool:
    """Whether this is a `FilePair`, or a path with ``{lang}``."""
    return isinstance(reference, FilePair) or "{lang}" in file_name(reference)


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The corpus in these two files; UserError if one is missing."""
    name = describe_reference(reference)
    if isinstance(reference, FilePair):
        return open_files(name, reference.source, reference.target, reference.encoding)
    refuse_settings(reference, "delimiter", "columns", "header", "quotes")
    pattern = as_corpus_file(reference)
    source, target = (pattern.file.replace("{lang}", language) for language in languages)
    return open_files(name, source, target, pattern.encoding)


def languages_with_files(pattern: str, languages: Iterable[str]) -> list[str]:
    """Those of some languages for which there is a file; UserError if there are fewer than two."""
    files = {language: pattern.replace("{lang}", language) for language in languages}
    found = [language for language, file in files.items() if os.path.exists(os.path.expanduser(file))]
    if len(found) < 2:
        list(map(existing_file, files.values()))
    return found


def open_files(name: str, source: str, target: str, encoding: str | None = None) -> Corpus:
    """The corpus in a source and a target file; UserError if one is missing, or its name is not that of a text file."""
    files = existing_file(source), existing_file(target)
    heads = [refuse_other_content(file) for file in files]
    if kind := find_keys(heads[0], heads[1]):
        raise UserError(f"{files[0]}: is {kind.content}; {kind.remedy}")
    return Corpus(name, partial(_read, *files, encoding), files, aligned=encoding is None)


def refuse_other_content(file: Path) -> bytes:
    """Check that the lines of a file can be sentences; returns how it starts, or nothing for a pipe.

    Raises:
        UserError: Its name or its content says that they are not, see `find_file_kind`.
    """
    head = b""
    if file.is_file():
        with suppress(OSError, EOFError, zlib.error), open_binary(file) as stream:  # reading its lines reports this
            head = stream.read(_HEAD_BYTES)
    if kind := find_file_kind(str(file), head):
        raise UserError(f"{file}: is {kind.content}; {kind.remedy}")
    return head


def _read(source: Path, target: Path, encoding: str | None) -> Iterator[Pair]:
    return require_text(_align(source, target, encoding), str(source), (str(source), str(target)))


def _align(source: Path, target: Path, encoding: str | None) -> Iterator[Pair]:
    with closing(read_lines(source, encoding)) as sources, closing(read_lines(target, encoding)) as targets:
        for before, (source_line, target_line) in enumerate(zip_longest(sources, targets)):
            if source_line is None or target_line is None:
                longer, has_text = before, False
                for line in chain([source_line or target_line or ""], sources, targets):
                    longer, has_text = longer + 1, has_text or bool(line.strip())
                if not has_text:
                    return  # blank lines at the end
                lengths = (before, longer) if source_line is None else (longer, before)
                raise UserError(
                    f"files of different length: {source} has {counted(lengths[0], 'line')}, {target} has "
                    f"{counted(lengths[1], 'line')}; from line {before + 1:,} on, one side is missing; dragoman "
                    "doctor data finds where they diverge"
                )
            yield Pair(source_line, target_line)
