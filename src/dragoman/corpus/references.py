"""What the references of corpora have in common: their file names, their settings, and how they are written."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable
from typing import Any

from dragoman.corpus.pair import Languages
from dragoman.errors import UserError
from dragoman.languages.codes import join_codes
from dragoman.settings import CorpusFile, CorpusReference, FilePair


class UndeclaredError(UserError):
    """A file is not what its reference declares.

    Attributes:
        problem: What the file looks like, and where.
        settings: The keys of a `CorpusFile` or `FilePair` that would describe the file.
        file: The file as its reference names it; empty in the readers of formats, which do not know the reference.
    """

    def __init__(self, problem: str, remedy: str = "", **settings: Any) -> None:
        if "encoding" in settings:  # a remedy for files that no reference describes, such as texts to translate
            remedy = remedy or f"convert it: iconv -f {settings['encoding']} -t utf-8 FILE > NEW"
        super().__init__(f"{problem}; {remedy}" if remedy else problem)
        self.problem = problem
        self.settings = settings
        self.file = ""

    @property
    def has_header(self) -> bool:
        """Whether the first row looks like a header, perhaps one that names the columns of the languages."""
        return "header" in self.settings or any(isinstance(each, str) for each in self.settings.get("columns", ()))

    def of_corpus(self, reference: CorpusReference, languages: Languages) -> UndeclaredError:
        """The same error with the remedy for a reference."""
        remedy = _describe_remedy(reference, languages, self.settings)
        error = UndeclaredError(self.problem, remedy, **self.settings)
        error.file = file_name(reference)
        return error


def file_name(reference: CorpusReference) -> str:
    """The path, pattern or name in a reference; of two files, that of the source."""
    if isinstance(reference, FilePair):
        return reference.source
    return reference.file if isinstance(reference, CorpusFile) else reference


def distinct_names(references: Iterable[CorpusReference]) -> list[str]:
    """The file name of each reference, with a number where it is that of an earlier one: two columns of one table."""
    counts = Counter[str]()
    names = []
    for name in map(file_name, references):
        counts[name] += 1
        names.append(f"{name} ({counts[name]})" if counts[name] > 1 else name)
    return names


def has_suffix(reference: CorpusReference, *suffixes: str) -> bool:
    """Whether the reference is a path with one of these suffixes in any case, plain or followed by ``.gz``."""
    name = file_name(reference).lower().removesuffix(".gz")
    return name.endswith(suffixes)


def corpus_name(reference: CorpusReference, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """What a pattern finds in the name of a corpus that is no file of the user; None for others, and for two files."""
    return None if isinstance(reference, FilePair) else pattern.fullmatch(file_name(reference))


def as_corpus_file(reference: CorpusReference) -> CorpusFile:
    """The file that a reference names, with its settings; unset if it is only a path."""
    assert not isinstance(reference, FilePair)
    return reference if isinstance(reference, CorpusFile) else CorpusFile(file=reference)


OF_FILES = ("encoding", "delimiter", "columns", "header", "quotes")
"""Keys that have no meaning for a corpus with a name, whose format is known."""


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


def _describe_remedy(reference: CorpusReference, languages: Languages, settings: dict[str, Any]) -> str:
    """How to declare settings of a reference: in a recipe, and with the command that converts the file."""
    if isinstance(reference, str):
        reference = CorpusFile(file=reference)
    declared = reference.model_copy(update=settings)
    in_pair = isinstance(reference, FilePair)
    files = [reference.source, reference.target] if isinstance(reference, FilePair) else [reference.file]
    output = "converted.{lang}" if in_pair or "{lang}" in files[0] else "converted.tsv"
    options = as_options(_settings_of(declared))
    languages = declared.languages or languages
    command = shlex.join(["dragoman", "convert", *files, output, "--languages", join_codes(languages), *options])
    table = to_toml(declared.model_dump(exclude_none=True))
    return f"in a recipe, write {table}; or convert it: {command}"


def to_toml(value: Any) -> str:
    """A value as TOML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {to_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def as_options(settings: dict[str, Any]) -> list[str]:
    """Settings of a reference as options of the command line."""
    return [word for key, value in settings.items() for word in _to_option(key, value)]


def _settings_of(reference: CorpusReference) -> dict[str, Any]:
    if isinstance(reference, str):
        return {}
    return reference.model_dump(exclude_none=True, exclude={"file", "source", "target", "languages"})


def _to_option(key: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [f"--{key}" if value else f"--no-{key}"]
    if isinstance(value, tuple):
        return [f"--{key}", ",".join(map(str, value))]
    return [f"--{key}", "tab" if value == "\t" else str(value)]
