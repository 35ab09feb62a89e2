"""Options of commands that read text files, and how they become references of corpora."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.settings import CorpusReference

LanguagesOption = Annotated[
    str | None,
    typer.Option(
        "--languages",
        metavar="SOURCE-TARGET",
        help="Language codes, such as de-en (default: the suffixes of two files).",
    ),
]
EncodingOption = Annotated[
    str | None, typer.Option("--encoding", metavar="NAME", help="Encoding, such as cp1252 or utf-16 (default: UTF-8).")
]
DelimiterOption = Annotated[
    str | None, typer.Option("--delimiter", metavar="CHARACTER", help="What separates columns: , ; | or tab.")
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="SOURCE,TARGET", help="Columns to read: names in the header row, or numbers from 1."
    ),
]
HeaderOption = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether the first row names the columns.")
]
QuotesOption = Annotated[
    bool | None, typer.Option("--quotes/--no-quotes", help="Whether quotation marks enclose columns, as in Excel.")
]


@dataclass(frozen=True)
class FileOptions:
    """What the command line says about text files."""

    languages: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    columns: str | None = None
    header: bool | None = None
    quotes: bool | None = None

    def settings(self) -> dict[str, Any]:
        """The given options as keys of a `CorpusFile`."""
        delimiter = "\t" if self.delimiter in ("tab", "\\t") else self.delimiter
        if delimiter not in (None, ",", ";", "|", "\t"):
            raise UserError(f"--delimiter {delimiter!r}: expected one of , ; | tab")
        values = {
            "encoding": self.encoding,
            "delimiter": delimiter,
            "columns": _parse_columns(self.columns) if self.columns is not None else None,
            "header": self.header,
            "quotes": self.quotes,
        }
        return {key: value for key, value in values.items() if value is not None}


def find_references(files: Sequence[str], options: FileOptions) -> tuple[list[CorpusReference], tuple[str, str]]:
    """The corpora in files, and their languages: two line-aligned text files, or files of the other formats.

    Raises:
        UserError: The languages are neither given nor suffixes of the files, or an option is invalid.
    """
    from dragoman.corpus.corpus import is_recognized
    from dragoman.corpus.references import languages_of_suffixes
    from dragoman.settings import CorpusFile, FilePair

    settings = options.settings()
    if len(files) == 1 and not is_recognized(files[0]) and Path(files[0]).is_file():
        raise UserError(f"{files[0]}: a text file needs a second one with the translation of each line; name both")
    if len(files) == 2 and files[0] == files[1]:
        raise UserError(f"{files[0]}: the same file was given twice, as source and target")
    if len(files) == 2 and not any(map(is_recognized, files)):
        if meaningless := settings.keys() - {"encoding"}:
            raise UserError(f"--{min(meaningless)} has no meaning for two line-aligned files; remove it")
        pair = FilePair(source=files[0], target=files[1], encoding=options.encoding)
        return [pair], parse_languages(options.languages) if options.languages else languages_of_suffixes(*files)
    if len(files) > 2 and (unknown := [file for file in files if not is_recognized(file)]):
        expected = "two line-aligned files, or files in other formats"
        raise UserError(f"{unknown[0]}: expected {expected}, but {len(files)} paths were given")
    if options.languages is None:
        raise UserError(f"{', '.join(files)}: the languages are not known; add --languages, such as --languages de-en")
    languages = parse_languages(options.languages)
    return [CorpusFile(file=file, **settings) if settings else file for file in files], languages


def parse_languages(text: str) -> tuple[str, str]:
    """The two codes in ``de-en``, ``pt_BR-en`` or ``pt-BR:en``; raises UserError if there are not two."""
    codes = text.split(":") if ":" in text else text.split("-")
    if len(codes) != 2 or not all(re.fullmatch(r"\w+([-_]\w+)*", code) for code in codes):
        raise UserError(f"--languages {text}: expected two language codes, such as de-en or pt-BR:en")
    if codes[0].lower() == codes[1].lower():
        raise UserError(f"--languages {text}: source and target are the same language")
    return codes[0], codes[1]


def _parse_columns(text: str) -> tuple[int | str, int | str]:
    names = list(map(str.strip, text.split(",")))
    columns = [int(name) if name.isdecimal() and len(name) < 5 else name for name in names]
    if len(columns) != 2 or not all(columns) or columns[0] == columns[1]:
        raise UserError(f"--columns {text}: expected two different names or numbers from 1, such as de,en or 1,2")
    return columns[0], columns[1]
