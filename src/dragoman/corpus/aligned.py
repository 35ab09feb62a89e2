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
from dragoman.corpus.references import as_corpus_file, describe_reference, file_name, has_suffix, refuse_settings
from dragoman.errors import UserError, counted
from dragoman.settings import CorpusReference, FilePair

SYNTAX = "a path with {lang} in place of the language code"

_NOT_LINES = {
    (".srt", ".vtt", ".ass", ".ssa"): "a file of subtitles, with numbers and times between the texts",
    (".docx", ".odt", ".doc", ".rtf", ".pptx", ".ppt", ".epub", ".pdf"): "a document",
    (".html", ".htm", ".xhtml"): "a page with tags between the texts",
    (".ods", ".xls"): "a spreadsheet",
}
"""What a file with such a name contains in place of one sentence per line."""


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


def open_files(name: str, source: str, target: str, encoding: str | None = None) -> Corpus:
    """The corpus in a source and a target file; UserError if one is missing, or its name is not that of a text file."""
    files = existing_file(source), existing_file(target)
    for file in files:
        _refuse_documents(file)
    return Corpus(name, partial(_read, *files, encoding), files, aligned=encoding is None)


def _refuse_documents(file: Path) -> None:
    """Refuse a file whose name says that its lines are not sentences: markup and times would be read as text."""
    for suffixes, content in _NOT_LINES.items():
        if has_suffix(str(file), *suffixes):
            raise UserError(
                f"{file}: is {content}; copy the sentences to a text file with one per line, or to a table with the "
                "source in one column and the target in the other (.csv or .xlsx)"
            )


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
