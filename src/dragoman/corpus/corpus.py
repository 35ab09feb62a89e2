"""Finding and reading corpora in any format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from dragoman.corpus.aligned import open_files
from dragoman.corpus.catalog import CATALOG
from dragoman.corpus.formats import FORMATS
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.errors import UserError, nearest
from dragoman.settings import CorpusReference


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
            - a ``.jsonl`` file (objects with the language codes as keys, at the top level or under "translation", or
              with "source" and "target").

            Files may be gzip-compressed (``.gz``). Relative paths start at the current directory.
        source_language: Its code.
        target_language: Its code.
        data_directory: Where files of the catalog are looked for (default: ``$DRAGOMAN_DATA``), then in the cache;
            what is in neither is downloaded.

    Raises:
        UserError: Immediately if there is no such corpus or language, or a file is missing; while reading, with file
            and line, for files of different length, text that `read_lines` rejects, invalid rows, or no text at all.
    """
    return _find_corpus(reference, (source_language, target_language), data_directory).read()


def read_texts(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """The two sides of a pair of line-aligned files in any languages; errors as from `read_corpus`."""
    pairs = list(open_files(f"{source} and {target}", str(source), str(target)).read())
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


def _find_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    for corpus_format in FORMATS:
        if corpus_format.recognizes(reference):
            return corpus_format.open_corpus(reference, languages, data_directory)
    expected = ", ".join(corpus_format.SYNTAX for corpus_format in FORMATS)
    hint = nearest(str(reference), CATALOG)
    raise UserError(f"corpus {reference!r}: expected one of: {expected}; files may be gzip-compressed (.gz){hint}")
