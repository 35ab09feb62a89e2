"""Finding and reading corpora in any format."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from dragoman.corpus.catalog import CATALOG
from dragoman.corpus.formats import FORMATS
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import UndeclaredError, file_name
from dragoman.errors import UserError, nearest
from dragoman.settings import CorpusReference, FilePair


def find_corpora(
    references: Iterable[CorpusReference],
    *,
    source_language: str,
    target_language: str,
    data_directory: Path | None = None,
) -> list[Corpus]:
    """Find several corpora without reading them, see `read_corpus`."""
    languages = (source_language, target_language)
    return [_find_corpus(reference, languages, data_directory) for reference in references]


def read_corpus(
    reference: CorpusReference, *, source_language: str, target_language: str, data_directory: Path | None = None
) -> Iterator[Pair]:
    """The pairs of a corpus, read lazily; sides may be blank (`Pair.complete`).

    Args:
        reference: One of

            - a split from the catalog, ``NAME:SPLIT``;
            - a dataset on the Hugging Face hub with a translation column, ``hf:NAME:SPLIT`` or
              ``hf:NAME:CONFIGURATION:SPLIT``;
            - a path with ``{lang}`` in place of the language code, for two line-aligned files, or a `FilePair`;
            - a ``.tsv`` file (source, tab, target);
            - a ``.csv`` or ``.xlsx`` file with two columns, or others if a `CorpusFile` chooses two of them;
            - a ``.jsonl`` file (objects with the language codes as keys, at the top level or under "translation", or
              with "source" and "target");
            - a ``.tmx``, ``.xliff`` or ``.po`` file;
            - a ``.zip`` file with two line-aligned files whose suffixes are the languages, or with a ``.tmx`` file.

            Text files may be gzip-compressed (``.gz``). Relative paths start at the current directory.
        source_language: Its code.
        target_language: Its code.
        data_directory: Where files of the catalog are looked for (default: ``$DRAGOMAN_DATA``), then in the cache;
            what is in neither is downloaded.

    Raises:
        UserError: Immediately if there is no such corpus or language, or a file is missing; while reading, with file
            and line, for files of different length, text that `read_lines` rejects, invalid rows, damaged files, or no
            text at all.
    """
    return _find_corpus(reference, (source_language, target_language), data_directory).read()


def read_texts(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """The two sides of a pair of line-aligned files in any languages; errors as from `read_corpus`."""
    files = FilePair(source=str(source), target=str(target))
    pairs = list(read_corpus(files, source_language="source", target_language="target"))
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def aligned_files(
    reference: CorpusReference, *, source_language: str, target_language: str, data_directory: Path | None = None
) -> tuple[Path, Path] | None:
    """The two line-aligned files of a corpus, or None if its pairs are stored in another way.

    Raises:
        UserError: There is no such corpus or language, or a file is missing.
    """
    corpus = _find_corpus(reference, (source_language, target_language), data_directory)
    return (corpus.files[0], corpus.files[1]) if corpus.aligned else None


def is_recognized(reference: CorpusReference) -> bool:
    """Whether some format recognizes a reference; a text file alone is no corpus."""
    return any(corpus_format.recognizes(reference) for corpus_format in FORMATS)


def _find_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    if isinstance(reference, FilePair):
        for file in (reference.source, reference.target):
            refuse_other_formats(file)
    for corpus_format in FORMATS:
        if corpus_format.recognizes(reference):
            corpus = corpus_format.open_corpus(reference, languages, data_directory)
            return replace(corpus, read=partial(_read_with_remedy, corpus, reference, languages))
    expected = ", ".join(corpus_format.SYNTAX for corpus_format in FORMATS)
    name = file_name(reference)
    hint = nearest(name, CATALOG)
    raise UserError(f"corpus {name!r}: expected one of: {expected}; files may be gzip-compressed (.gz){hint}")


def refuse_other_formats(file: str) -> None:
    """Check that a file contains one sentence per line.

    Raises:
        UserError: Its name is that of a corpus of pairs.
    """
    if is_recognized(file):
        raise UserError(
            f"{file}: expected a text file with one sentence per line; to get two such files, run "
            f"dragoman convert {shlex.quote(file)} 'converted.{{lang}}' --languages SOURCE-TARGET"
        )


def _read_with_remedy(corpus: Corpus, reference: CorpusReference, languages: Languages) -> Iterator[Pair]:
    """The pairs of a corpus. Formats know what a file looks like; how to declare it depends on the reference."""
    try:
        yield from corpus.read()
    except UndeclaredError as error:
        raise error.of_corpus(reference, languages) from None
