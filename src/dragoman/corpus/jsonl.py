"""JSON Lines files: an object per line, with the texts as ``{"de": …, "en": …}`` or ``{"source": …, "target": …}``.

Other keys are found as the columns of a table are, such as ``German`` or ``src``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from dragoman.corpus.checks import existing_file, warn_of_unused
from dragoman.corpus.columns import (
    SOURCE_WORDS,
    TARGET_WORDS,
    language_of_name,
    languages_of_header,
    match_languages,
    named_among,
)
from dragoman.corpus.lines import LineError, check_text, read_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.pair_text import join_lines
from dragoman.corpus.references import as_corpus_file, file_name
from dragoman.corpus.rows import open_without_columns
from dragoman.corpus.translation_units import (
    FIRST_UNITS,
    Variants,
    choose_variants,
    require_languages,
    warn_of_variants,
)
from dragoman.errors import UserError
from dragoman.languages.codes import looks_like_tag
from dragoman.settings import CorpusReference

SYNTAX = "a .jsonl file"
SUFFIXES = (".jsonl",)


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The corpus in this file; UserError if it is missing."""
    return open_without_columns(reference, languages, _read)


def stated_languages(reference: CorpusReference) -> list[str]:
    """The keys of the first records that look like languages, or the codes of two that are names of languages."""
    places = [_places(record)[0] for record in _first_records(reference)]
    first, *others = [[key for key, text in texts.items() if isinstance(text, str)] for texts in places] or [[]]
    more = [key for key in chain.from_iterable(others) if language_of_name(key)]  # others may be of any kind
    keys = list(dict.fromkeys([*first, *more]))
    tags = [key for key in keys if looks_like_tag(key) and key not in SOURCE_WORDS | TARGET_WORDS]
    return tags if len(tags) > 1 else languages_of_header(keys, is_header=True) or tags


def named_languages(reference: CorpusReference, languages: Languages) -> list[str]:
    """Those of two languages after which keys of the first records are named; errors as for `stated_languages`."""
    places = chain.from_iterable(map(_places, _first_records(reference)))
    return named_among(dict.fromkeys(chain.from_iterable(places)), languages)


def _first_records(reference: CorpusReference) -> list[dict[str, Any]]:
    path = existing_file(file_name(reference))
    with closing(read_lines(path, as_corpus_file(reference).encoding)) as lines:
        return [record for _, record in islice(_records(lines, path), FIRST_UNITS)]


def _read(path: Path, encoding: str | None, languages: Languages) -> Iterator[Pair]:
    """The pairs of a file; blank lines are ignored, and so are records without one of the languages."""
    found = Counter[str]()
    with closing(read_lines(path, encoding)) as lines:
        records, variants = choose_variants(_records(lines, path), languages, lambda each: _keys(each[1]))
        total = used = 0
        for number, record in records:
            try:
                total += 1
                if pair := _to_pair(record, languages, variants):
                    used += 1
                    yield pair
                elif not used:
                    found.update(_language_keys(_keys(record), languages))
            except LineError as error:
                raise UserError(f"{path} line {number}: {error}") from None
    require_languages(used > 0 or not total, found, languages, str(path), "record")
    what = f"records lack {languages[0]} or {languages[1]}, and are not used"
    warn_of_unused(str(path), total - used, total, what)
    warn_of_variants(variants, languages, str(path))


def _records(lines: Iterable[str], path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        try:
            if line.strip():  # not a blank line between pairs, or after them
                yield number, _load(line)
        except LineError as error:
            raise UserError(f"{path} line {number}: {error}") from None


def _places(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Where a record may have its texts."""
    return [texts for texts in (record.get("translation"), record) if isinstance(texts, dict)]


def _to_pair(record: dict[str, Any], languages: Languages, variants: tuple[Variants, Variants]) -> Pair | None:
    """The pair of a record; None if it has text in other languages, or other variants of them."""
    places = _places(record)
    for texts in places:
        keys = tuple(key for key, text in texts.items() if isinstance(text, str | None))
        if found := _find_keys(keys, languages, variants):
            source, target = (check_text(join_lines(texts[key] or "")) for key in found)  # null: not translated
            return Pair(source, target)
    for texts in places:
        if found := _find_keys(tuple(texts), languages, variants):
            raise LineError(f"the values of {found[0]!r} and {found[1]!r} must be strings or null")
    if _language_keys(_keys(record), languages):
        return None
    raise LineError(
        f"expected strings under {languages[0]!r} and {languages[1]!r} (at the top level or under 'translation') or "
        f"under 'source' and 'target', found the keys {', '.join(map(repr, record)) or '(none)'}"
    )


def _keys(record: dict[str, Any]) -> tuple[str, ...]:
    """All keys where a record may have its texts."""
    return tuple(dict.fromkeys(chain.from_iterable(_places(record))))


@lru_cache
def _language_keys(keys: tuple[str, ...], wanted: Languages) -> list[str]:
    """The keys that are named after languages."""
    return [key for key in keys if language_of_name(key) or named_among([key], wanted)]


def _find_keys(
    keys: tuple[str, ...], languages: Languages, variants: tuple[Variants, Variants]
) -> tuple[str, str] | None:
    """The keys of the two languages, or else those that are named after the languages or sides."""
    source, target = (each.find(keys) for each in variants)
    if source and target and source != target:
        return source, target
    return _named_keys(tuple(key for key in keys if not any(key in each.others for each in variants)), languages)


@lru_cache
def _named_keys(keys: tuple[str, ...], languages: Languages) -> tuple[str, str] | None:
    columns = match_languages(keys, languages)
    return None if columns is None else (keys[columns[0]], keys[columns[1]])


def _load(line: str) -> dict[str, Any]:
    try:
        record = [] if line.strip() == "[" else json.loads(line)
    except json.JSONDecodeError as error:
        raise LineError(f"invalid JSON: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, RecursionError) as error:  # a number with too many digits; too many nested brackets
        raise LineError(f"invalid JSON: {error}") from None
    if isinstance(record, list):
        raise LineError("a JSON array; write one object per line instead, for example with: jq -c '.[]'")
    if not isinstance(record, dict):
        raise LineError(f"expected a JSON object, found {type(record).__name__}")
    return record
