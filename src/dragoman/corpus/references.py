"""What the references of corpora have in common: their file names, their settings, and how they are written."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from dragoman.corpus.pair import Languages
from dragoman.errors import UserError
from dragoman.settings import CorpusFile, CorpusReference, FilePair


class UndeclaredError(UserError):
    """A file is not what its reference declares.

    Attributes:
        settings: The keys of a `CorpusFile` or `FilePair` that would describe the file.
    """

    def __init__(self, message: str, **settings: Any) -> None:
        super().__init__(message)
        self.settings = settings


def file_name(reference: CorpusReference) -> str:
    """The path, pattern or name in a reference; of two files, that of the source."""
    if isinstance(reference, FilePair):
        return reference.source
    return reference.file if isinstance(reference, CorpusFile) else reference


def has_suffix(reference: CorpusReference, *suffixes: str) -> bool:
    """Whether the reference is a path with one of these suffixes in any case, plain or followed by ``.gz``."""
    name = file_name(reference).lower().removesuffix(".gz")
    return name.endswith(suffixes)


def as_corpus_file(reference: CorpusReference) -> CorpusFile:
    """The file that a reference names, with its settings; unset if it is only a path."""
    assert not isinstance(reference, FilePair)
    return reference if isinstance(reference, CorpusFile) else CorpusFile(file=reference)


def languages_of_suffixes(source: str, target: str) -> Languages:
    """The suffixes of two files, or ``source`` and ``target`` if those are the same or missing."""
    languages = [Path(file.removesuffix(".gz")).suffix[1:] for file in (source, target)]
    return (languages[0], languages[1]) if all(languages) and languages[0] != languages[1] else ("source", "target")


def refuse_settings(reference: CorpusReference, *keys: str) -> None:
    """Check that a reference does not set keys that have no meaning for its format.

    Raises:
        UserError: It does.
    """
    for key, value in _settings_of(reference).items():
        if key in keys:
            raise UserError(
                f"{file_name(reference)}: {key} = {to_toml(value)} has no meaning for this format; remove it"
            )


def describe_reference(reference: CorpusReference) -> str:
    """The reference as a user writes it: a name, two file names, or an inline table of TOML."""
    if isinstance(reference, str):
        return reference
    if isinstance(reference, FilePair) and reference.encoding is None:
        return f"{reference.source} and {reference.target}"
    return to_toml(reference.model_dump(exclude_none=True))


def describe_remedy(reference: CorpusReference, languages: Languages, settings: dict[str, Any]) -> str:
    """How to declare settings of a reference: in a recipe, and with the command that converts the file."""
    if isinstance(reference, str):
        reference = CorpusFile(file=reference)
    declared = reference.model_copy(update=settings)
    in_pair = isinstance(reference, FilePair)
    files = [reference.source, reference.target] if isinstance(reference, FilePair) else [reference.file]
    output = "converted.{lang}" if in_pair or "{lang}" in files[0] else "converted.tsv"
    options = [word for key, value in _settings_of(declared).items() for word in _to_option(key, value)]
    command = shlex.join(["dragoman", "convert", *files, output, "--languages", "-".join(languages), *options])
    table = to_toml(declared.model_dump(exclude_none=True))
    return f"in a recipe, write {table}; or convert it: {command}"


def to_toml(value: Any) -> str:
    """A value as TOML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {to_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _settings_of(reference: CorpusReference) -> dict[str, Any]:
    if isinstance(reference, str):
        return {}
    return reference.model_dump(exclude_none=True, exclude={"file", "source", "target"})


def _to_option(key: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [f"--{key}" if value else f"--no-{key}"]
    if isinstance(value, tuple):
        return [f"--{key}", ",".join(map(str, value))]
    return [f"--{key}", "tab" if value == "\t" else str(value)]
