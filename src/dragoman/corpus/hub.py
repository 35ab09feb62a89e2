"""Datasets of the Hugging Face hub that have a ``translation`` column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.corpus.lines import MAX_LINE_CHARACTERS, without_controls
from dragoman.errors import UserError


def load_hub(name: str, configuration: str | None, split: str) -> Any:
    """A split of a hub dataset (`datasets.Dataset`, on disk and memory-mapped), downloaded if need be.

    Raises:
        UserError: If the `datasets` package is missing, or it cannot find or download this split.
    """
    try:
        from datasets import load_dataset
    except ImportError:
        raise UserError(f"{name}: to read from the Hugging Face hub, pip install 'dragoman[hub]'") from None
    try:
        return load_dataset(name, configuration, split=split)
    except (OSError, ValueError) as error:
        raise UserError(f"{name}: cannot load split {split!r} from the Hugging Face hub ({error})") from None


def hub_texts(records: Any, name: str, source_language: str, target_language: str) -> Iterator[tuple[str, str]]:
    """Source and target of each record of a loaded hub dataset.

    Control characters become spaces: whoever reads a public dataset cannot mend it.

    Raises:
        UserError: If the records have no translation column with both languages.
    """
    if "translation" not in records.column_names:
        raise UserError(f"{name}: no 'translation' column; it has {', '.join(records.column_names)}")
    for number, record in enumerate(records, start=1):
        translation = record["translation"]
        texts = []
        for language in (source_language, target_language):
            text = translation.get(language)
            if not isinstance(text, str):
                raise UserError(f"{name} record {number}: no text in {language!r}; it has {', '.join(translation)}")
            if len(text) > MAX_LINE_CHARACTERS:
                raise UserError(f"{name} record {number}: longer than {MAX_LINE_CHARACTERS:,} characters")
            texts.append(without_controls(text))
        yield texts[0], texts[1]
