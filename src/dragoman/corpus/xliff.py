"""Translation projects in XLIFF 1.2 and 2.x."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dragoman.corpus.checks import existing_file, warn_of_unused
from dragoman.corpus.lines import open_binary
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import as_corpus_file, file_name
from dragoman.corpus.rows import open_without_columns
from dragoman.corpus.translation_units import choose_variants, read_file, require_languages, to_pair, warn_of_variants
from dragoman.errors import UserError
from dragoman.markup.units import State, xliff_segments
from dragoman.markup.xml import Unit
from dragoman.settings import CorpusReference

SYNTAX = "a .xliff file"
SUFFIXES = (".xliff", ".xlf", ".sdlxliff", ".mqxliff", ".mxliff")


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The translated segments in this file; UserError if it is missing."""
    return open_without_columns(reference, languages, _read)


def stated_languages(reference: CorpusReference) -> list[str]:
    """The languages of the first unit."""
    path = existing_file(file_name(reference))
    with open_binary(path) as stream:
        units = _read_units(stream, path, as_corpus_file(reference).encoding)
        return next(([tag for tag in _find_languages(unit, str(path)) if tag] for unit in units), [])


def _read_units(stream: IO[bytes], path: Path, encoding: str | None) -> Iterator[Unit]:
    return read_file(stream, str(path), encoding, ["trans-unit", "unit"], ["file", "xliff"])


def _read(path: Path, encoding: str | None, languages: Languages) -> Iterator[Pair]:
    found: Counter[str] = Counter()
    total = matched = 0
    with open_binary(path) as stream:
        tagged = ((unit, _find_languages(unit, str(path))) for unit in _read_units(stream, path, encoding))
        units, variants = choose_variants(tagged, languages, lambda unit: filter(None, unit[1]))
        for unit, tags in units:
            forward, backward = (
                all(not tag or each.find([tag]) for tag, each in zip(sides, variants, strict=True))
                for sides in (tags, tags[::-1])
            )
            for segment in xliff_segments(unit.element, unit.translate, unit.line):
                total += 1
                if segment.state != State.FINISHED or segment.target is None:
                    continue
                if not forward and not backward:
                    found[" to ".join(filter(None, tags))] += 1
                    continue
                matched += 1
                texts = (segment.source, segment.target) if forward else (segment.target, segment.source)
                yield to_pair(*texts, f"{path} line {unit.line}")
    require_languages(matched > 0, found, languages, str(path), "segment")
    what = "segments are not translated, not confirmed, or in other languages, and not used"
    warn_of_unused(str(path), total - matched, total, what)
    warn_of_variants(variants, languages, str(path))


def _find_languages(unit: Unit, name: str) -> tuple[str, str]:
    """The tags of source and target; that of the target is empty if the file does not declare it."""
    file, root = unit.context.get("file", {}), unit.context.get("xliff", {})
    source = file.get("source-language") or root.get("srcLang")
    in_target = next((target.attributes.get("xml:lang") for target in unit.element.elements("target")), None)
    if not source:
        raise UserError(f"{name} line {unit.line}: the source language is missing (source-language or srcLang)")
    return source, file.get("target-language") or root.get("trgLang") or in_target or ""
