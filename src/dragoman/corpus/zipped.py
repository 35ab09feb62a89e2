"""ZIP archives as OPUS offers them: two line-aligned files, or a translation memory."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path, PurePosixPath

from dragoman.corpus.archive import open_archive
from dragoman.corpus.checks import existing_file
from dragoman.corpus.columns import refuse_variants
from dragoman.corpus.lines import decode_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import as_corpus_file, file_name
from dragoman.corpus.rows import open_without_columns
from dragoman.corpus.tmx import memory_languages, read_tmx
from dragoman.errors import OtherLanguagesError, UserError
from dragoman.languages.codes import language_variants, looks_like_tag
from dragoman.settings import CorpusReference

SYNTAX = "a .zip file"
SUFFIXES = (".zip",)

MAX_BYTES = 200_000_000_000  # of the content, which is streamed
_OTHER = {"txt", "xml", "ids", "tmx", "md"}  # suffixes that are no languages
_SHOWN = 10  # names in a message


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The two line-aligned files, or else the .tmx file, in this archive; UserError if it is missing."""
    return open_without_columns(reference, languages, _read)


def stated_languages(reference: CorpusReference) -> list[str]:
    """The suffixes of two files with the same name, or else the languages of the .tmx file."""
    path = existing_file(file_name(reference))
    with open_archive(path, MAX_BYTES) as archive:
        names = _file_names(archive)
        by_stem = [
            [tag for tag in files if looks_like_tag(tag) and tag not in _OTHER] for files in _by_stem(names).values()
        ]
        for tags in by_stem:
            if len(tags) == 2:
                return tags
        for name in _memories(names)[:1]:
            with archive.open(name) as stream:
                return memory_languages(stream, f"{path}:{name}", as_corpus_file(reference).encoding)
    return []


def _file_names(archive: zipfile.ZipFile) -> list[str]:
    """The names of the files, without those that macOS adds, which are no text."""
    names = (entry.filename for entry in archive.infolist() if not entry.is_dir())
    return [name for name in names if not (name.startswith("__MACOSX/") or PurePosixPath(name).name.startswith("._"))]


def _memories(names: list[str]) -> list[str]:
    return [name for name in names if name.lower().endswith(".tmx")]


def _by_stem(names: list[str]) -> dict[PurePosixPath, dict[str, str]]:
    """The files whose names are equal except for the suffix, by suffix."""
    by_stem: dict[PurePosixPath, dict[str, str]] = {}
    for name in names:
        file = PurePosixPath(name)
        by_stem.setdefault(file.with_suffix(""), {})[file.suffix[1:]] = name
    return by_stem


def _read(path: Path, encoding: str | None, languages: Languages) -> Iterator[Pair]:
    with open_archive(path, MAX_BYTES) as archive:
        names = _file_names(archive)
        if sides := _find_sides(names, languages, path):
            yield from _align(archive, path, sides, encoding)
            return
        memories = _memories(names)
        if len(memories) != 1:
            shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
            raise OtherLanguagesError(
                f"{path}: expected two files that end in .{languages[0]} and .{languages[1]}, or one .tmx file, but it "
                f"contains {shown or 'no files'}; extract the right ones"
            )
        with archive.open(memories[0]) as stream:
            yield from read_tmx(stream, f"{path}:{memories[0]}", encoding, languages)


def _find_sides(names: list[str], languages: Languages, path: Path) -> tuple[str, str] | None:
    """The files whose suffixes are the languages and whose names are equal otherwise."""
    found = []
    for files in _by_stem(names).values():
        sources, targets = (language_variants(language, files) for language in languages)
        if sources and targets and sources != targets:
            refuse_variants(list(files), languages, str(path))
            found.append((files[sources[0]], files[targets[0]]))
    if len(found) > 1:
        shown = ", ".join(source for source, _ in sorted(found)[:_SHOWN])
        raise UserError(f"{path}: contains several corpora ({shown}); extract it and list those to use")
    return found[0] if found else None


def _align(archive: zipfile.ZipFile, path: Path, names: tuple[str, str], encoding: str | None) -> Iterator[Pair]:
    """The pairs of two files. Control characters become spaces: users cannot fix a public corpus."""
    source_name, target_name = (f"{path}:{name}" for name in names)
    with archive.open(names[0]) as sources, archive.open(names[1]) as targets:
        source_lines = decode_lines(sources, source_name, encoding, replace_controls=True)
        target_lines = decode_lines(targets, target_name, encoding, replace_controls=True)
        for number, (source, target) in enumerate(zip_longest(source_lines, target_lines), start=1):
            if source is None or target is None:
                shorter = source_name if source is None else target_name
                raise UserError(f"files of different length: {shorter} ends before line {number:,} of the other")
            yield Pair(source, target)
