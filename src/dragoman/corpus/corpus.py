"""Corpora in any format: finding and reading them, and the languages that their names or their content state.

To add a format, write a module like `jsonl` and add it to `FILE_FORMATS`; take its suffix out of
`markup.file_kinds`, which refuses formats that are known and unsupported.
"""

from __future__ import annotations

import os
import re
import shlex
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Protocol, runtime_checkable

from dragoman.corpus import aligned, hub, jsonl, named, po, tmx, xliff, xlsx, zipped
from dragoman.corpus.aligned import refuse_other_content
from dragoman.corpus.catalog import CATALOG
from dragoman.corpus.checks import existing_file
from dragoman.corpus.columns import SOURCE_WORDS, TARGET_WORDS
from dragoman.corpus.delimited import CSV, TSV
from dragoman.corpus.lines import read_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import UndeclaredError, describe_reference, file_name, has_suffix
from dragoman.errors import OtherLanguagesError, UserError, nearest
from dragoman.languages.codes import (
    find_language,
    is_one_variant,
    join_codes,
    known_language,
    looks_like_tag,
    without_region,
)
from dragoman.languages.identify import language_of
from dragoman.settings import CorpusReference, FilePair


class CorpusFormat(Protocol):
    """What the module of a format contains, or an object for one of several formats of a module."""

    SYNTAX: str
    """What a reference to such a corpus looks like, for error messages."""

    def open_corpus(self, reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
        """The corpus that a reference of this format names.

        Args:
            reference: Where the pairs come from.
            languages: Source and target.
            data_directory: Where files of the catalog are looked for before they are downloaded.

        Raises:
            UserError: It does not exist, or does not have these languages.
        """
        ...


class FileFormat(CorpusFormat, Protocol):
    """A format that the name of a file shows."""

    @property
    def SUFFIXES(self) -> tuple[str, ...]:  # noqa: N802 (a constant of a module)
        """How such names end, in any case; they may be followed by ``.gz``."""
        ...


FILE_FORMATS: list[FileFormat] = [TSV, CSV, jsonl, xlsx, tmx, xliff, po, zipped]


def find_format(reference: CorpusReference) -> CorpusFormat | None:
    """The format of a reference, which need not exist; None if there is no such format.

    ``news.{lang}.tsv`` is a pair of aligned files.
    """
    if aligned.recognizes(reference):
        return aligned
    for file_format in FILE_FORMATS:
        if has_suffix(reference, *file_format.SUFFIXES):
            return file_format
    if hub.recognizes(reference):
        return hub
    return named if named.recognizes(reference) else None


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
        source_language: Its code, unless the reference states its languages; if it states the opposite direction,
            the sides of each pair are exchanged.
        target_language: Likewise.
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
    return find_format(reference) is not None


def _find_corpus(reference: CorpusReference, wanted: Languages, data_directory: Path | None) -> Corpus:
    languages = wanted if isinstance(reference, str) else reference.languages or wanted
    if isinstance(reference, FilePair):
        for file in (reference.source, reference.target):
            refuse_other_formats(file)
    if corpus_format := find_format(reference):
        corpus = corpus_format.open_corpus(reference, languages, data_directory)
        read = partial(_read_with_remedy, corpus, reference, languages)
        if languages == wanted[::-1]:
            return replace(corpus, read=partial(_reversed, read), aligned=False)
        return replace(corpus, read=read)
    expected = ", ".join(each.SYNTAX for each in (aligned, *FILE_FORMATS, hub, named))
    name = file_name(reference)
    if os.path.isfile(name):  # unlike that of Path, False for names of any length
        refuse_other_content(Path(name))
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


def _reversed(read: Callable[[], Iterator[Pair]]) -> Iterator[Pair]:
    """The pairs of a corpus that states its languages in the other order."""
    return (pair.reversed for pair in read())


def _read_with_remedy(corpus: Corpus, reference: CorpusReference, languages: Languages) -> Iterator[Pair]:
    """The pairs of a corpus. Formats know what a file looks like; how to declare it depends on the reference."""
    try:
        yield from corpus.read()
    except UndeclaredError as error:
        raise error.of_corpus(reference, languages) from None


def count_texts(file: str) -> int:
    """The number of lines with text in a file that can be read several times.

    Raises:
        UserError: There is no such file, or it contains no text, or is in a format for pairs.
    """
    refuse_other_formats(file)
    if file == "-" or not (path := existing_file(file)).is_file():
        raise UserError(f"{file}: monolingual text must be a file, because it is read several times")
    refuse_other_content(path)
    if not (number := sum(1 for line in read_lines(path) if line.strip())):
        raise UserError(f"{path}: contains no text")
    return number


_NO_LANGUAGES = SOURCE_WORDS | TARGET_WORDS | {"txt", "raw", "tok", "bpe", "new", "old", "out", "ref"}  # suffixes
_READ = 2000  # pairs whose languages are recognized
_SHOWN = 8  # languages in a message


@runtime_checkable
class StatesLanguages(Protocol):
    """What the module of a format contains in addition if its files name their languages."""

    def stated_languages(self, reference: CorpusReference) -> Sequence[str]:
        """The tags at the beginning of a file, that of the source first; UserError if it cannot be read."""
        ...


@runtime_checkable
class NamesLanguages(Protocol):
    """What the module of a format contains in addition if its files can be read without naming their languages."""

    def named_languages(self, reference: CorpusReference, languages: Languages) -> Sequence[str]:
        """Those of two languages that the beginning of a file names; UserError if it cannot be read."""
        ...


def find_languages(references: Sequence[CorpusReference], default: Callable[[], Languages] | None = None) -> Languages:
    """The two languages that all corpora together state; a region is left out where that is unambiguous.

    Args:
        references: The corpora.
        default: Returns the languages of corpora that state none.

    Raises:
        UserError: They state fewer or more languages, or cannot be read.
    """
    tags = list(dict.fromkeys(chain.from_iterable(map(_stated_languages, references))))
    languages = list(dict.fromkeys(_without_regions(tags)))
    if len(languages) == 2:
        return languages[0], languages[1]
    if not languages and default:
        return default()
    names = ", ".join(map(describe_reference, references))
    if not languages:
        found = _recognized_languages(references[0])
        example = f"{join_codes(found)}, which the text looks like" if found else "de-en"
        raise UserError(f"{names}: the languages are not known; add --languages, such as --languages {example}")
    shown = ", ".join(languages[:_SHOWN]) + (", …" if len(languages) > _SHOWN else "")
    if len(languages) == 1:
        pair = (shown, "en") if without_region(shown) != "en" else ("de", shown)
        if pair[0] == shown and names.endswith((".po", ".po.gz")):  # which state the language of their translations
            pair = pair[::-1]
        raise UserError(
            f"{names}: only one language is stated, {shown}; add --languages, such as --languages {join_codes(pair)}"
        )
    bases = list(dict.fromkeys(map(without_region, languages)))  # without regions, all units of a language are taken
    chosen = (bases if len(bases) > 1 else languages)[:2]
    several = f"; to train one model for all of them, list them: --languages {','.join(languages[:_SHOWN])}"
    raise UserError(
        f"{names}: several languages ({shown}); choose two, such as --languages {join_codes(chosen)}{several}"
    )


def pair_languages(references: Sequence[CorpusReference], known: Sequence[str] | None = None) -> list[Languages | None]:
    """The two languages that each corpus states; None if it states fewer or more.

    Args:
        references: The corpora.
        known: Codes to use for the languages that they stand for; without them, a region is left out where that is
            unambiguous.

    Raises:
        UserError: A corpus cannot be read.
    """
    stated = list(map(_stated_languages, references))
    tags = list(dict.fromkeys(chain.from_iterable(stated)))
    if known is None:
        names = dict(zip(tags, _without_regions(tags), strict=True))
    else:
        names = {tag: find_language(tag, tuple(known)) or tag for tag in tags}
    found = [list(dict.fromkeys(names[tag] for tag in each)) for each in stated]
    return [(each[0], each[1]) if len(each) == 2 else None for each in found]


def is_read_by_name(reference: CorpusReference, languages: Languages) -> bool:
    """Whether a corpus names two languages, so that its sides do not depend on their order.

    Raises:
        UserError: The corpus cannot be read.
    """
    corpus_format = find_format(reference)
    return (
        not isinstance(corpus_format, NamesLanguages) or len(corpus_format.named_languages(reference, languages)) == 2
    )


def has_pairs(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> bool:
    """Whether a corpus has a pair in two languages that it names; a memory is read as far as the first one.

    Columns and keys such as ``source`` name none: a corpus with them would have pairs in any two languages.

    Raises:
        UserError: The corpus is missing or damaged.
    """
    source, target = languages
    try:
        if not is_read_by_name(reference, languages):
            return False
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            pairs = read_corpus(
                reference, source_language=source, target_language=target, data_directory=data_directory
            )
            return any(pair.complete for pair in pairs)
    except UndeclaredError as error:
        raise error if error.file else error.of_corpus(reference, languages) from None
    except OtherLanguagesError:
        return False


def _stated_languages(reference: CorpusReference) -> Sequence[str]:
    if not isinstance(reference, str) and reference.languages:
        return reference.languages
    if isinstance(reference, FilePair):
        return languages_of_names(reference.source, reference.target) or ()
    corpus_format = find_format(reference)
    if not isinstance(corpus_format, StatesLanguages):
        return ()
    try:
        return corpus_format.stated_languages(reference)
    except UndeclaredError as error:
        error.file = file_name(reference)
        raise


def _recognized_languages(reference: CorpusReference) -> Languages | None:
    """The languages that the first pairs of files look like, which are only proposed; None if that is not certain."""
    paths = (reference.source, reference.target) if isinstance(reference, FilePair) else (file_name(reference),)
    if not all(map(os.path.isfile, paths)):
        return None
    try:
        (corpus,) = find_corpora([reference], source_language="source", target_language="target")
        pairs = list(islice(corpus.read(), _READ))
    except UserError:  # which says more once the languages are known
        return None
    source, target = language_of(pair.source for pair in pairs), language_of(pair.target for pair in pairs)
    return (source, target) if source and target and source != target else None


def _without_regions(tags: Sequence[str]) -> Iterable[str]:
    """``de-DE`` as ``de``, unless there is ``de-AT``, too.

    A bare code stands for the only variant next to it, if that has the script which the code alone means.
    """
    variants: dict[str, set[str]] = defaultdict(set)
    for tag in tags:
        variants[without_region(tag)].add(tag)
    return [base if is_one_variant(variants[base := without_region(tag)]) else tag for tag in tags]


def languages_of_names(source: str, target: str) -> Languages | None:
    """The languages in the names of two files.

    Their suffixes, as in ``train.de``, or else the only word in which the names differ, as in ``train.de.txt``,
    ``en_test.txt`` or ``german.txt``. One of these words must be a known language; the other may be any code.
    """
    names = [re.sub(r"(\.txt)?(\.gz)?$", "", Path(file).name, flags=re.IGNORECASE) for file in (source, target)]
    suffixes = [Path(f"_{name}").suffix[1:] for name in names]
    languages = [suffix for suffix in suffixes if looks_like_tag(suffix) and suffix.lower() not in _NO_LANGUAGES]
    if len(languages) == 2 and suffixes[0] != suffixes[1]:
        return suffixes[0], suffixes[1]
    words = [re.split(r"[._\s-]+", name) for name in names]
    if len(words[0]) != len(words[1]):
        return None
    different = [pair for pair in zip(*words, strict=True) if pair[0] != pair[1]]
    if len(different) != 1:
        return None
    known = [known_language(word) for word in different[0]]
    codes = [
        word.lower() if looks_like_tag(word) and word.lower() not in _NO_LANGUAGES else None for word in different[0]
    ]
    first, second = (language or code for language, code in zip(known, codes, strict=True))
    return (first, second) if any(known) and first and second else None
