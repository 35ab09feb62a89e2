"""Datasets on the Hugging Face hub that have a ``translation`` column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.corpus.checks import require_text
from dragoman.corpus.lines import MAX_LINE_CHARACTERS
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import OF_FILES, corpus_name, file_name, refuse_settings
from dragoman.errors import OtherLanguagesError, UserError
from dragoman.settings import CorpusReference
from dragoman.text.normalization import replace_forbidden

SYNTAX = "'hf:NAME:SPLIT'"

_REFERENCE = re.compile(r"hf:(?P<name>[^:]+)(?::(?P<configuration>[^:]+))?:(?P<split>[^:]+)")


def recognizes(reference: CorpusReference) -> bool:
    """Whether this is ``hf:NAME:SPLIT`` or ``hf:NAME:CONFIGURATION:SPLIT``."""
    return corpus_name(reference, _REFERENCE) is not None


def open_corpus(reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
    """The corpus, downloaded if necessary; UserError as from `load_split`."""
    refuse_settings(reference, *OF_FILES)
    match = corpus_name(reference, _REFERENCE)
    assert match
    records = load_split(match["name"], match["configuration"], match["split"])
    return open_records(file_name(reference), records, match["name"], languages)


def load_split(name: str, configuration: str | None, split: str) -> Any:
    """A split of a hub dataset (a `datasets.Dataset`, on disk and memory-mapped), downloaded if necessary.

    Raises:
        UserError: The `datasets` package is not installed, or it cannot find or download this split.
    """
    try:
        from datasets import load_dataset
    except ImportError:
        raise UserError(f"{name}: to read from the Hugging Face hub, pip install '.[hub]'") from None
    try:
        return load_dataset(name, configuration, split=split)
    except (OSError, ValueError) as error:
        raise UserError(f"{name}: cannot load split {split!r} from the Hugging Face hub ({error})") from None


def open_records(name: str, records: Any, dataset: str, languages: Languages) -> Corpus:
    """The corpus in a loaded split of the hub dataset `dataset`."""
    files = tuple(Path(file["filename"]) for file in records.cache_files)
    return Corpus(name, partial(_read, records, dataset, languages), files)


def _read(records: Any, name: str, languages: Languages) -> Iterator[Pair]:
    if "translation" not in records.column_names:
        raise UserError(f"{name}: no 'translation' column; it has {', '.join(records.column_names)}")
    pairs = (_to_pair(record["translation"], f"{name} record {n}", languages) for n, record in enumerate(records, 1))
    return require_text(pairs, name)


def _to_pair(translation: dict[str, Any], place: str, languages: Languages) -> Pair:
    """Replaces control characters by spaces instead of rejecting them: users cannot fix a public dataset."""
    texts = []
    for language in languages:
        text = translation.get(language)
        if not isinstance(text, str):
            raise OtherLanguagesError(f"{place}: no text in {language!r}; it has {', '.join(translation)}")
        if len(text) > MAX_LINE_CHARACTERS:
            raise UserError(f"{place}: longer than {MAX_LINE_CHARACTERS:,} characters")
        texts.append(replace_forbidden(text))
    source, target = texts
    return Pair(source, target)
