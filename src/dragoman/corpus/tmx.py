"""Translation memories in TMX (Translation Memory eXchange) 1.4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO

from dragoman.corpus.checks import existing_file, warn_of_unused
from dragoman.corpus.lines import open_binary
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import as_corpus_file, file_name
from dragoman.corpus.rows import open_without_columns
from dragoman.corpus.translation_units import (
    FIRST_UNITS,
    choose_variants,
    read_file,
    require_languages,
    to_pair,
    warn_of_variants,
)
from dragoman.errors import UserError
from dragoman.languages.codes import find_language
from dragoman.markup.units import tmx_variants
from dragoman.markup.xml import XmlElement, xml_text
from dragoman.settings import CorpusReference

SYNTAX = "a .tmx file"
SUFFIXES = (".tmx",)


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The units in this file that have both languages; UserError if it is missing."""
    return open_without_columns(reference, languages, _read)


def stated_languages(reference: CorpusReference) -> list[str]:
    """The languages of the first units: the source language of the file, then the most frequent ones."""
    path = existing_file(file_name(reference))
    with open_binary(path) as stream:
        return memory_languages(stream, str(path), as_corpus_file(reference).encoding)


def memory_languages(stream: IO[bytes], name: str, encoding: str | None) -> list[str]:
    """The same for an open file; UserError if there are none."""
    found: Counter[str] = Counter()
    for unit in islice(read_file(stream, name, encoding, ["tu"], ["header"]), FIRST_UNITS):
        found.update(tmx_variants(unit.element).keys())
        source = find_language(unit.context.get("header", {}).get("srclang", ""), tuple(found))
        if source is not None:
            found[source] += FIRST_UNITS  # comes first
    if not found:
        raise UserError(f"{name}: no unit with text in a language; export it again, and check what is exported")
    return [language for language, _ in found.most_common()]


def _read(path: Path, encoding: str | None, languages: Languages) -> Iterator[Pair]:
    with open_binary(path) as stream:
        yield from read_tmx(stream, str(path), encoding, languages)


def read_tmx(stream: IO[bytes], name: str, encoding: str | None, languages: Languages) -> Iterator[Pair]:
    """The pairs of a translation memory; units without one of the languages are skipped.

    Raises:
        UserError: No unit has both languages, or the file is not well-formed (see `read_units`).
    """
    found: Counter[str] = Counter()
    total = matched = ambiguous = 0
    texts = ((tmx_variants(unit.element), unit.line) for unit in read_file(stream, name, encoding, ["tu"], ()))
    units, variants = choose_variants(texts, languages, lambda unit: unit[0])
    for segments, line in units:
        total += 1
        source, target = variants[0].find(segments), variants[1].find(segments)
        if source is not None and target is not None and source != target:
            matched += 1
            ambiguous += _has_several(segments[source]) or _has_several(segments[target])
            yield to_pair(segments[source][0], segments[target][0], f"{name} line {line}")
        elif not matched:
            found.update(segments.keys())
    require_languages(matched > 0, found, languages, name, "unit")
    warn_of_unused(name, total - matched, total, f"units lack {languages[0]} or {languages[1]}, and are not used")
    warn_of_unused(name, ambiguous, total, "units have several texts in one language; the first is used")
    warn_of_variants(variants, languages, name)


def _has_several(texts: Sequence[XmlElement]) -> bool:
    return len(texts) > 1 and bool(xml_text(texts[1]).strip())
