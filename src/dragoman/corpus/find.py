"""Corpora as streams of sentence pairs, whatever they are kept in."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from dragoman.corpus.catalog import CATALOG, DataFile, Dataset, find_dataset
from dragoman.corpus.download import find_file, obtain, obtain_hub
from dragoman.corpus.hub import hub_texts, load_hub
from dragoman.corpus.lines import read_lines
from dragoman.corpus.rows import ROW_FORMATS, RowParser
from dragoman.errors import UserError, nearest
from dragoman.settings import CorpusReference, FilePair

_CATALOG_SPLIT = re.compile(r"(?!hf:)([\w.-]+):([\w.-]+)")
_HUB_SPLIT = re.compile(r"hf:([^:]+)(?::([^:]+))?:([^:]+)")


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation."""

    source: str
    target: str

    @property
    def complete(self) -> bool:
        """Whether both sides hold text: readers keep blank sides, so that lines stay aligned; training skips them."""
        return bool(self.source.strip() and self.target.strip())


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus that was found but not read: `read` gives its pairs from the first on, as often as it is called."""

    name: str
    read: Callable[[], Iterator[Pair]]
    files: tuple[Path, ...] = ()  # that hold the pairs; none if dragoman makes them itself


def find_corpora(
    references: Iterable[CorpusReference],
    *,
    source_language: str,
    target_language: str,
    data_directory: Path | None = None,
) -> list[Corpus]:
    """Several corpora, looked up but not read, see `read_corpus`."""
    languages = (source_language, target_language)
    return [_find_corpus(reference, languages, data_directory) for reference in references]


def read_corpora(
    references: Iterable[CorpusReference],
    *,
    source_language: str,
    target_language: str,
    data_directory: Path | None = None,
) -> Iterator[Pair]:
    """The pairs of several corpora, one corpus after the other; all are looked up before the first pair."""
    corpora = find_corpora(
        references, source_language=source_language, target_language=target_language, data_directory=data_directory
    )
    return chain.from_iterable(corpus.read() for corpus in corpora)


def read_corpus(
    reference: CorpusReference, *, source_language: str, target_language: str, data_directory: Path | None = None
) -> Iterator[Pair]:
    """The pairs of a corpus, read as they are asked for; sides may be blank (`Pair.complete`).

    The reference is a catalog split ``NAME:SPLIT``; ``hf:NAME:SPLIT`` or ``hf:NAME:CONFIGURATION:SPLIT`` (a dataset
    of the Hugging Face hub with a translation column); a path with ``{lang}`` for the language code; a ``.tsv`` file
    (source, tab, target); a ``.jsonl`` file (objects with the language codes as keys, bare or under "translation", or
    with "source" and "target"); or a `FilePair`. Any file may be gzip (``.gz``). Relative paths start at the current
    directory. Named datasets are looked for in `data_directory` (else ``$DRAGOMAN_DATA``) and the cache, then
    downloaded.

    Raises:
        UserError: At once if there is no such corpus or language, or a file is missing; while reading, with file and
            line, for files of different length, text that `read_lines` refuses, malformed rows, or no text at all.
    """
    return _find_corpus(reference, (source_language, target_language), data_directory).read()


def read_texts(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """The two sides of a pair of line-aligned files, whatever their languages; errors as of `read_corpus`."""
    pairs = list(_aligned(f"{source} and {target}", str(source), str(target)).read())
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def _find_corpus(reference: CorpusReference, languages: tuple[str, str], data_directory: Path | None) -> Corpus:
    if isinstance(reference, FilePair):
        return _aligned(f"{reference.source} and {reference.target}", reference.source, reference.target)
    if "{lang}" in reference:
        return _aligned(reference, *(reference.replace("{lang}", language) for language in languages))
    for suffix, parse in ROW_FORMATS.items():
        if reference.endswith((suffix, f"{suffix}.gz")):
            path = _existing(reference)
            return Corpus(reference, partial(_read_rows, path, parse, languages), (path,))
    if match := _HUB_SPLIT.fullmatch(reference):
        name, configuration, split = match.groups()
        return _records(reference, load_hub(name, configuration, split), name, languages)
    if match := _CATALOG_SPLIT.fullmatch(reference):
        return _find_named(find_dataset(match[1]), match[2], languages, data_directory)
    raise UserError(_unknown_reference(reference))


def aligned_files(
    reference: CorpusReference, *, source_language: str, target_language: str, data_directory: Path | None = None
) -> tuple[Path, Path] | None:
    """The two line-aligned files of a corpus, or None if its pairs are kept otherwise: rows, the hub, built in.

    Raises:
        UserError: If there is no such corpus or language, or a file is missing.
    """
    languages = (source_language, target_language)
    if isinstance(reference, FilePair):
        return _existing(reference.source), _existing(reference.target)
    if "{lang}" in reference:
        source, target = (_existing(reference.replace("{lang}", language)) for language in languages)
        return source, target
    match = _CATALOG_SPLIT.fullmatch(reference)
    if match is None:
        return None
    dataset = find_dataset(match[1])
    dataset.check(match[2], languages)
    files = [dataset.file(match[2], language) for language in languages] if not dataset.built_in else []
    if not files or (dataset.hub and any(find_file(file, data_directory) is None for file in files)):
        return None
    source, target = obtain(dataset, files, data_directory)
    return source, target


@dataclass(frozen=True, slots=True)
class Description:
    """What `describe` found: a dataset, where its files lie on this machine (None: nowhere), its first pairs."""

    dataset: Dataset
    files: tuple[tuple[DataFile, Path | None], ...]
    examples: tuple[Pair, ...]


def describe(name: str, *, data_directory: Path | None = None) -> Description:
    """A named dataset with its first three pairs in its first two languages, if they are on this machine.

    Raises:
        UserError: If there is no such dataset, or one of its files is damaged.
    """
    dataset = find_dataset(name)
    files = tuple((file, find_file(file, data_directory)) for file in dataset.files)
    split, languages = dataset.splits[0], (dataset.languages[0], dataset.languages[1])
    present = {(file.split, file.language) for file, path in files if path is not None}
    examples: tuple[Pair, ...] = ()
    if dataset.built_in or all((split, language) in present for language in languages):
        examples = tuple(islice(_find_named(dataset, split, languages, data_directory).read(), 3))
    return Description(dataset, files, examples)


def _aligned(name: str, source_path: str, target_path: str) -> Corpus:
    source, target = _existing(source_path), _existing(target_path)
    return Corpus(name, partial(_read_aligned, source, target), (source, target))


def _read_aligned(source: Path, target: Path) -> Iterator[Pair]:
    return _with_text(_align(source, target), str(source), str(target))


def _align(source: Path, target: Path) -> Iterator[Pair]:
    with closing(read_lines(source)) as sources, closing(read_lines(target)) as targets:
        for before, (source_line, target_line) in enumerate(zip_longest(sources, targets)):
            if source_line is None or target_line is None:
                longer = before + 1 + sum(1 for _ in chain(sources, targets))
                lengths = (before, longer) if source_line is None else (longer, before)
                raise UserError(
                    f"files of different length: {source} has {lengths[0]:,} lines, {target} has {lengths[1]:,} lines; "
                    f"from line {before + 1} on there is nothing to pair"
                )
            yield Pair(source_line, target_line)


def _read_rows(path: Path, parse: RowParser, languages: tuple[str, str]) -> Iterator[Pair]:
    return _with_text(_parse_rows(path, parse, languages), f"source side of {path}", f"target side of {path}")


def _parse_rows(path: Path, parse: RowParser, languages: tuple[str, str]) -> Iterator[Pair]:
    with closing(read_lines(path)) as lines:
        for number, line in enumerate(lines, start=1):
            yield Pair(*parse(line, str(path), number, languages))


def _find_named(dataset: Dataset, split: str, languages: tuple[str, str], data_directory: Path | None) -> Corpus:
    name = f"{dataset.name}:{split}"
    dataset.check(split, languages)
    if dataset.built_in:
        return Corpus(name, partial(BUILT_IN[dataset.name], split, languages))
    files = [dataset.file(split, language) for language in languages]
    if dataset.hub and any(find_file(file, data_directory) is None for file in files):
        return _records(name, obtain_hub(dataset, split, data_directory), dataset.hub, languages)
    return _aligned(name, *map(str, obtain(dataset, files, data_directory)))


def _read_captions(split: str, languages: tuple[str, str]) -> Iterator[Pair]:
    from dragoman.corpus.synthetic.captions import captions

    texts = ({"de": german, "en": english} for german, english in captions(split))
    return (Pair(pair[languages[0]], pair[languages[1]]) for pair in texts)


def _read_copying(split: str, languages: tuple[str, str]) -> Iterator[Pair]:
    from dragoman.corpus.synthetic.copy_task import copying

    return (Pair(words, words) for words in copying(split))


BUILT_IN: dict[str, Callable[[str, tuple[str, str]], Iterator[Pair]]] = {
    "captions": _read_captions,
    "copy": _read_copying,
}
"""Datasets that dragoman makes itself, by name."""


def _records(name: str, records: Any, dataset: str, languages: tuple[str, str]) -> Corpus:
    files = tuple(Path(file["filename"]) for file in records.cache_files)
    return Corpus(name, partial(_pair_records, records, dataset, languages), files)


def _pair_records(records: Any, name: str, languages: tuple[str, str]) -> Iterator[Pair]:
    pairs = (Pair(*texts) for texts in hub_texts(records, name, *languages))
    return _with_text(pairs, f"source side of {name}", f"target side of {name}")


def _with_text(pairs: Iterator[Pair], source_name: str, target_name: str) -> Iterator[Pair]:
    """Pass the pairs on, and refuse a corpus without any text on one side once that is known."""
    number = 0
    source_has_text = target_has_text = False
    for pair in pairs:
        number += 1
        source_has_text = source_has_text or bool(pair.source.strip())
        target_has_text = target_has_text or bool(pair.target.strip())
        yield pair
    for has_text, name in ((source_has_text, source_name), (target_has_text, target_name)):
        if not has_text:
            raise UserError(f"{name}: " + (f"only empty lines ({number:,})" if number else "empty file"))


def _existing(text: str) -> Path:
    path = Path(text).expanduser()
    if path.is_dir():
        raise UserError(f"{path}: a directory, not a file")
    if not os.path.exists(path):
        siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        raise UserError(f"{path}: no such file{nearest(path.name, siblings)}")
    return path


def _unknown_reference(reference: str) -> str:
    if reference in CATALOG:
        splits = ", ".join(f"'{reference}:{split}'" for split in CATALOG[reference].splits)
        return f"corpus {reference!r}: say which split: {splits}"
    return (
        f"corpus {reference!r}: expected a catalog split such as 'multi30k:train', 'hf:NAME:SPLIT', a path with "
        f"{{lang}} for the language code, or a .tsv or .jsonl file (or .gz of these)"
        f"{nearest(reference, CATALOG)}"
    )
