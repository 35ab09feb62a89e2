"""Translation memories in TMX (Translation Memory eXchange) 1.4."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import Element

from dragoman.corpus.checks import existing_file, warn_of_unused
from dragoman.corpus.language_tags import find_language
from dragoman.corpus.lines import open_binary
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import as_corpus_file, file_name, has_suffix, refuse_settings
from dragoman.corpus.rows import open_single_file
from dragoman.corpus.segments import require_languages, to_pair
from dragoman.corpus.xml_units import Unit, read_units
from dragoman.errors import UserError
from dragoman.settings import CorpusReference

SYNTAX = "a .tmx file"

FIRST_UNITS = 200  # that are read to find the languages


def recognizes(reference: CorpusReference) -> bool:
    """Whether this is a path that ends in ``.tmx`` or ``.tmx.gz``."""
    return has_suffix(reference, ".tmx")


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The units in this file that have both languages; UserError if it is missing."""
    refuse_settings(reference, "delimiter", "columns", "header", "quotes")
    return open_single_file(reference, partial(_read, encoding=as_corpus_file(reference).encoding, languages=languages))


def stated_languages(reference: CorpusReference) -> list[str]:
    """The languages of the first units: the source language of the file, then the most frequent ones."""
    path = existing_file(file_name(reference))
    with open_binary(path) as stream:
        return memory_languages(stream, str(path), as_corpus_file(reference).encoding)


def memory_languages(stream: IO[bytes], name: str, encoding: str | None) -> list[str]:
    """The same for an open file; UserError if there are none."""
    found: Counter[str] = Counter()
    for unit in islice(read_units(stream, name, encoding, ["tu"], ["header"]), FIRST_UNITS):
        found.update(_find_segments(unit).keys())
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
    used = dict[str, str](), dict[str, str]()  # the tags of each language, by their spelling without case
    total = matched = ambiguous = 0
    for unit in read_units(stream, name, encoding, ["tu"]):
        total += 1
        segments = _find_segments(unit)
        source, target = (find_language(language, tuple(segments)) for language in languages)
        if source is not None and target is not None and source != target:
            matched += 1
            for tag, tags in zip((source, target), used, strict=True):
                tags.setdefault(tag.lower().replace("_", "-"), tag)
            ambiguous += len(segments[source]) > 1 or len(segments[target]) > 1
            yield to_pair(segments[source][0], segments[target][0], f"{name} line {unit.line}")
        elif not matched:
            found.update(segments.keys())
    require_languages(matched > 0, found, languages, name, "unit")
    warn_of_unused(name, total - matched, total, f"units lack {languages[0]} or {languages[1]}, and are not used")
    warn_of_unused(name, ambiguous, total, "units have several texts in one language; the first is used")
    for language, tags in zip(languages, used, strict=True):
        _warn_of_variants(name, language, tags, languages)


def _warn_of_variants(name: str, language: str, tags: dict[str, str], languages: Languages) -> None:
    """Warn if a code stands for several variants, such as scripts or countries, which are mixed then."""
    variants = [tag for spelling, tag in tags.items() if spelling != language.lower()]
    if len(variants) > 1:
        chosen = ":".join(variants[-1] if each == language else each for each in languages)
        shown = f"{', '.join(variants[:-1])} and {variants[-1]}"
        warnings.warn(
            f"{name}: {language} stands for {shown}, which are mixed; to read one, name it: --languages {chosen}",
            stacklevel=2,
        )


def _find_segments(unit: Unit) -> dict[str, list[Element]]:
    """The segments of each language in a unit."""
    segments: dict[str, list[Element]] = {}
    for variant in unit.element.iterfind("tuv"):
        language = variant.get("xml:lang") or variant.get("lang") or ""
        segment = variant.find("seg")
        if segment is not None and language:
            segments.setdefault(language, []).append(segment)
    return segments
