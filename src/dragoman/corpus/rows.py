"""Files with a pair in each line: how a line becomes source and target."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from dragoman.corpus.lines import check_text
from dragoman.errors import UserError

RowParser = Callable[[str, str, int, tuple[str, str]], tuple[str, str]]
"""Takes a line, the file's name, the line's number from 1 on and the languages; raises UserError if it is no pair."""


def _parse_tsv(line: str, name: str, number: int, languages: tuple[str, str]) -> tuple[str, str]:
    columns = line.split("\t")
    if len(columns) != 2:
        raise UserError(f"{name} line {number}: expected 2 columns, found {len(columns)}")
    return columns[0], columns[1]


def _parse_json(line: str, name: str, number: int, languages: tuple[str, str]) -> tuple[str, str]:
    try:
        record: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"{name} line {number}: broken JSON: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, RecursionError) as error:  # a number of too many digits; too many brackets
        raise UserError(f"{name} line {number}: broken JSON: {error}") from None
    if not isinstance(record, dict):
        raise UserError(f"{name} line {number}: expected a JSON object, found {type(record).__name__}")
    for texts in (record, record.get("translation")):
        for keys in (languages, ("source", "target")):
            if isinstance(texts, dict) and all(isinstance(texts.get(key), str) for key in keys):
                source, target = (texts[key] for key in keys)
                check_text(source, name, number)
                check_text(target, name, number)
                return source, target
    raise UserError(
        f"{name} line {number}: expected strings under {languages[0]!r} and {languages[1]!r} (bare or under "
        f"'translation') or 'source' and 'target', found {', '.join(map(repr, record)) or 'nothing'}"
    )


ROW_FORMATS: dict[str, RowParser] = {".tsv": _parse_tsv, ".jsonl": _parse_json}
"""By the file's suffix."""
