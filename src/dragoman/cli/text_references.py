"""How text files that a command line names become references of corpora."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.corpus.pair import Languages
    from dragoman.settings import CorpusReference

TABLES = (".csv", ".tsv", ".xlsx")


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


def find_references(
    files: Sequence[str],
    options: FileOptions,
    *,
    languages_needed: bool = True,
    default: Callable[[], Languages] | None = None,
) -> tuple[list[CorpusReference], Languages]:
    """The corpora in files, and their languages.

    Args:
        files: Two line-aligned text files, or files of the other formats.
        options: What the command line says about them.
        languages_needed: Otherwise line-aligned files of unknown languages are in ``source`` and ``target``.
        default: Returns the languages of files that state none.

    Raises:
        UserError: The languages are not known, or an option is invalid.
    """
    from dragoman.corpus.corpus import find_languages, languages_of_names
    from dragoman.settings import FilePair

    references = as_references(files, options)
    if options.languages:
        languages = parse_languages(options.languages)
        if (
            isinstance(pair := references[0], FilePair)
            and languages_of_names(pair.source, pair.target) == languages[::-1]
        ):
            raise UserError(f"--languages {options.languages}: exchange {pair.source} and {pair.target}, too")
        return references, languages
    if not languages_needed and isinstance(pair := references[0], FilePair):
        return references, languages_of_names(pair.source, pair.target) or ("source", "target")
    return references, find_languages(references, default)


_SECOND_FILE = (
    "a text file needs a second one with the translation of each line; name both files, or if it is a table, rename it "
    "to .tsv"
)


def as_references(files: Sequence[str], options: FileOptions) -> list[CorpusReference]:
    """The corpora in files; raises UserError for files and options that do not fit together."""
    from dragoman.corpus.corpus import is_recognized
    from dragoman.corpus.references import has_suffix
    from dragoman.settings import CorpusFile, FilePair

    for file in files:
        if file == "-":
            raise UserError("-: text is read from files, several times; save standard input to one, such as pairs.tsv")
        if os.path.isdir(file):
            raise UserError(f"{file}: is a directory; name the files in it")
        if "{lang}" in file and os.path.isfile(file):
            raise UserError(f"{file}: {{lang}} stands for the language code of two files; rename the file")
    if len(files) == 1 and not is_recognized(files[0]) and Path(files[0]).is_file():
        raise UserError(f"{files[0]}: {_explain_unknown(files[0])}")
    if len(files) == 2 and files[0] == files[1]:
        raise UserError(f"{files[0]}: the same file was given twice, as source and target")
    if len(files) == 2 and not any(map(is_recognized, files)):
        return [FilePair(source=files[0], target=files[1], encoding=options.encoding)]
    if len(files) > 2 and (unknown := [file for file in files if not is_recognized(file)]):
        raise UserError(
            f"{unknown[0]}: expected two line-aligned files, or files in other formats, but {len(files)} paths were "
            "given; join two line-aligned files to one first: dragoman convert SOURCE TARGET pairs.tsv --languages "
            f"{options.languages or 'SOURCE-TARGET'}"
        )
    settings = options.settings()
    encoding = {key: value for key, value in settings.items() if key == "encoding"}
    by_file = {file: settings if has_suffix(file, *TABLES) else encoding for file in files}
    return [CorpusFile(file=file, **given) if given else file for file, given in by_file.items()]


def _explain_unknown(file: str) -> str:
    """Why a file whose name does not say a format cannot be the only one."""
    from dragoman.corpus.encodings import describe_content
    from dragoman.markup.file_kinds import find_file_kind

    with open(file, "rb") as stream:
        head = stream.read(4096)
    if kind := find_file_kind(file, head):
        return f"is {kind.content}; {kind.remedy}"
    content = describe_content(head)
    return f"the file is {content}" if content else _SECOND_FILE


def refuse_meaningless_options(files: Sequence[str], options: FileOptions) -> None:
    """Check that there is a table, if options describe one; raises UserError."""
    from dragoman.corpus.references import has_suffix

    if (given := options.settings().keys() - {"encoding"}) and not any(has_suffix(file, *TABLES) for file in files):
        raise UserError(f"--{min(given)} applies only to tables, unlike {', '.join(files)}; remove the option")


def parse_languages(text: str) -> Languages:
    """The two codes in ``de-en``, ``pt_BR-en`` or ``pt-BR:en``; raises UserError if there are not two."""
    from dragoman.languages.codes import known_language

    codes = text.split(":") if ":" in text else text.split("-")
    if len(codes) != 2 or not all(re.fullmatch(r"\w+([-_]\w+)*", code) for code in codes):
        raise UserError(f"--languages {text}: expected two language codes, such as de-en or pt-BR:en")
    if codes[0].lower() == codes[1].lower():
        raise UserError(f"--languages {text}: source and target are the same language")
    meant = [known_language(code) or code for code in codes]
    if max(map(len, codes)) > 3 and [code.casefold() for code in meant] != [code.casefold() for code in codes]:
        raise UserError(f"--languages {text}: expected language codes; did you mean --languages {':'.join(meant)}?")
    return codes[0], codes[1]


def _parse_columns(text: str) -> tuple[int | str, int | str]:
    names = list(map(str.strip, text.split(",")))
    columns = [int(name) if name.isdecimal() and len(name) < 5 else name for name in names]
    if len(columns) != 2 or not all(columns) or columns[0] == columns[1]:
        raise UserError(f"--columns {text}: expected two different names or numbers from 1, such as de,en or 1,2")
    return columns[0], columns[1]
