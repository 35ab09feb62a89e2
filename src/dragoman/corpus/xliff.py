"""Translation projects in XLIFF 1.2 and 2.x."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import Element

from dragoman.corpus.checks import existing_file, warn_of_unused
from dragoman.corpus.lines import open_binary
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import as_corpus_file, file_name, has_suffix, refuse_settings
from dragoman.corpus.rows import open_single_file
from dragoman.corpus.segments import require_languages, to_pair
from dragoman.corpus.xml_units import Unit, read_units
from dragoman.errors import UserError
from dragoman.languages.codes import find_language
from dragoman.settings import CorpusReference

SYNTAX = "a .xliff file"

_SUFFIXES = (".xliff", ".xlf", ".sdlxliff", ".mqxliff", ".mxliff")
UNTRANSLATED_STATES = {"new", "needs-translation", "initial"}
"""States of targets that are not translations yet; often they are copies of the source."""


def recognizes(reference: CorpusReference) -> bool:
    """Whether this is a path that ends in ``.xliff``, ``.xlf`` or the suffix of a program's XLIFF files."""
    return has_suffix(reference, *_SUFFIXES)


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The translated segments in this file; UserError if it is missing."""
    refuse_settings(reference, "delimiter", "columns", "header", "quotes")
    return open_single_file(reference, partial(_read, encoding=as_corpus_file(reference).encoding, languages=languages))


def stated_languages(reference: CorpusReference) -> list[str]:
    """The languages of the first unit."""
    path = existing_file(file_name(reference))
    with open_binary(path) as stream:
        units = _read_units(stream, path, as_corpus_file(reference).encoding)
        return next(([tag for tag in _find_languages(unit, str(path)) if tag] for unit in units), [])


def _read_units(stream: IO[bytes], path: Path, encoding: str | None) -> Iterator[Unit]:
    return read_units(stream, str(path), encoding, ["trans-unit", "unit"], ["file", "xliff"])


def _read(path: Path, encoding: str | None, languages: Languages) -> Iterator[Pair]:
    found: Counter[str] = Counter()
    total = matched = 0
    with open_binary(path) as stream:
        for unit in _read_units(stream, path, encoding):  # in XLIFF 1.2, each is its own only segment
            tags = _find_languages(unit, str(path))
            forward, backward = _matches(tags, languages), _matches(tags[::-1], languages)
            for segment in unit.element.iterfind("segment") if unit.element.tag == "unit" else (unit.element,):
                total += 1
                texts = _find_texts(segment)
                if texts and (forward or backward):
                    matched += 1
                    yield to_pair(*(texts if forward else texts[::-1]), f"{path} line {unit.line}")
                elif texts:
                    found[" to ".join(filter(None, tags))] += 1
    require_languages(matched > 0, found, languages, str(path), "segment")
    warn_of_unused(str(path), total - matched, total, "segments are not translated or in other languages, and not used")


def _find_languages(unit: Unit, name: str) -> tuple[str, str]:
    """The tags of source and target; that of the target is empty if the file does not declare it."""
    file, root = unit.context.get("file", {}), unit.context.get("xliff", {})
    source = file.get("source-language") or root.get("srcLang")
    target = unit.element.find("target")
    in_target = target.get("xml:lang") if target is not None else None
    if not source:
        raise UserError(f"{name} line {unit.line}: the source language is missing (source-language or srcLang)")
    return source, file.get("target-language") or root.get("trgLang") or in_target or ""


def _matches(tags: tuple[str, ...], languages: Languages) -> bool:
    """Whether the declared tags stand for the languages; at least one is declared."""
    return all(
        not tag or find_language(language, (tag,)) is not None for tag, language in zip(tags, languages, strict=True)
    )


def _find_texts(segment: Element) -> tuple[Element, Element] | None:
    """Source and target, if the segment is translated."""
    source, target = segment.find("source"), segment.find("target")
    if source is None or target is None or {segment.get("state"), target.get("state")} & UNTRANSLATED_STATES:
        return None
    return source, target
