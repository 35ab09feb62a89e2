"""JSON Lines files: an object per line, with the texts as ``{"de": …, "en": …}`` or ``{"source": …, "target": …}``.

Other keys are found as the columns of a table are, such as ``German`` or ``src``.
"""

from __future__ import annotations

import json
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

from dragoman.corpus.checks import existing_file
from dragoman.corpus.columns import languages_of_header, match_languages
from dragoman.corpus.lines import LineError, check_text, read_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.pair_text import join_lines
from dragoman.corpus.references import as_corpus_file, file_name, refuse_settings
from dragoman.corpus.rows import open_rows
from dragoman.errors import UserError
from dragoman.languages.codes import looks_like_tag
from dragoman.settings import CorpusReference

SYNTAX = "a .jsonl file"
SUFFIXES = (".jsonl",)


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The corpus in this file; UserError if it is missing."""
    refuse_settings(reference, "delimiter", "columns", "header", "quotes")
    return open_rows(reference, _parse, languages)


def stated_languages(reference: CorpusReference) -> list[str]:
    """The keys in the first line that look like languages, or the codes of two that are names of languages."""
    path = existing_file(file_name(reference))
    with closing(read_lines(path, as_corpus_file(reference).encoding)) as lines:
        number, line = next(((number, line) for number, line in enumerate(lines, 1) if line.strip()), (1, "{}"))
    try:
        record = _load(line)
    except LineError as error:
        raise UserError(f"{path} line {number}: {error}") from None
    texts = record.get("translation", record)
    texts = texts if isinstance(texts, dict) else record
    keys = [key for key in texts if isinstance(texts[key], str)]
    tags = [key for key in keys if looks_like_tag(key)]
    return tags if len(tags) > 1 else languages_of_header(keys) or tags


def _parse(line: str, languages: Languages) -> Pair:
    record = _load(line)
    places = [texts for texts in (record.get("translation"), record) if isinstance(texts, dict)]
    for find_keys in _stated_keys, _named_keys:
        for texts in places:
            if keys := find_keys(tuple(key for key in texts if isinstance(texts[key], str | None)), languages):
                source, target = (check_text(join_lines(texts[key] or "")) for key in keys)  # null: not translated
                return Pair(source, target)
    for texts in places:
        if keys := _stated_keys(tuple(texts), languages) or _named_keys(tuple(texts), languages):
            raise LineError(f"the values of {keys[0]!r} and {keys[1]!r} must be strings or null")
    raise LineError(
        f"expected strings under {languages[0]!r} and {languages[1]!r} (at the top level or under 'translation') or "
        f"under 'source' and 'target', found the keys {', '.join(map(repr, record)) or '(none)'}"
    )


def _stated_keys(keys: tuple[str, ...], languages: Languages) -> Languages | None:
    """The two languages, or else the two sides, if they are keys."""
    return next((wanted for wanted in (languages, ("source", "target")) if set(wanted) <= set(keys)), None)


@lru_cache
def _named_keys(keys: tuple[str, ...], languages: Languages) -> Languages | None:
    """The two keys that are named after the languages or sides."""
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
