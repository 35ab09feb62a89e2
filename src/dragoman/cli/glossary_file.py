"""Reading the file of `--glossary`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from dragoman.corpus.aligned import refuse_other_content
from dragoman.corpus.columns import SOURCE_WORDS, TARGET_WORDS, has_word, languages_of_header
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.delimited import read_rows
from dragoman.corpus.lines import read_lines
from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.references import UndeclaredError
from dragoman.errors import UserError, counted
from dragoman.languages.codes import primary_language
from dragoman.settings import CorpusFile
from dragoman.text.glossary import Glossary, Term

_FORMATS = (".csv", ".xlsx", ".xlsm", ".tmx", ".xliff", ".xlf")
"""Of files that are read like a corpus; each line of all others has a term, a tab or =, and its translation."""


def read_glossary(path: Path, languages: Languages) -> Glossary:
    """The glossary in a file.

    Args:
        path: The file.
        languages: Those of the terms and of their translations.

    Raises:
        UserError: The file cannot be read, or is not a glossary.
    """
    if path.suffix.lower() in _FORMATS:
        pairs = _read_pairs(path, languages)
        terms = [Term(pair.source, pair.target).cleaned for pair in pairs]
        if incomplete := [term for term in terms if bool(term.source) != bool(term.target)]:
            shown = (
                f"{counted(len(incomplete), 'row')} with an empty cell: {incomplete[0].source} = {incomplete[0].target}"
            )
            print(f"dragoman: warning: {path}: left out {shown}{' …' * (len(incomplete) > 1)}", file=sys.stderr)
        try:
            glossary = Glossary(dict.fromkeys(term for term in terms if term.source and term.target))
        except UserError as error:
            raise UserError(f"{path}: {error}") from None
    else:
        refuse_other_content(path)
        lines = list(read_lines(path))
        _refuse_table(path, lines)
        glossary = Glossary.parse(lines, str(path), Glossary.separator_of(lines))
    if not glossary.terms:
        raise UserError(f"{path}: contains no term")
    return glossary


def _read_pairs(path: Path, languages: Languages) -> list[Pair]:
    """The terms and translations of a file; a first row that names the languages chooses the columns."""
    found = _describe_deepl(path, languages) if path.suffix.lower() == ".csv" else None
    described = found or CorpusFile(file=str(path))
    source, target = languages
    try:
        return list(read_corpus(described, source_language=source, target_language=target))
    except UndeclaredError as error:
        names = error.settings.get("columns", ())
        if "header" not in error.settings and not any(isinstance(name, str) for name in names):
            if names:
                problem = "a glossary has two columns, a term and its translation"
                raise UserError(f"{path}: {problem}; delete the others") from None
            raise
        described = described.model_copy(update={"header": True} | error.settings)
        return list(read_corpus(described, source_language=source, target_language=target))


def _describe_deepl(path: Path, languages: Languages) -> CorpusFile | None:
    """A file whose rows have a term, its translation and their languages, as the glossaries of DeepL; None for others.

    Raises:
        UserError: The languages are exchanged.
    """
    try:
        with closing(read_rows(path, CorpusFile(file=str(path), quotes=True))) as numbered:
            rows = [row for _, row in islice(numbered, 2)]
    except UserError:
        return None  # `read_corpus` describes the problem
    source, target = map(primary_language, languages)
    for number, row in enumerate(rows):
        stated = [primary_language(tag.strip()) for tag in row[2:]]
        if stated == [source, target]:
            if number > 0 and not _names_sides(rows[0]):
                return None
            return CorpusFile(file=str(path), columns=(1, 2), header=number > 0)
        if stated == [target, source]:
            raise UserError(
                f"{path}: its terms are from {target} to {source}, but texts are translated from {source} to {target}"
            )
    return None


def _names_sides(row: Sequence[str]) -> bool:
    """Whether a row is a header, such as "source" and "target"."""
    return len(row) > 1 and has_word(row[0], SOURCE_WORDS) and has_word(row[1], TARGET_WORDS)


def _refuse_table(path: Path, lines: list[str]) -> None:
    """Check that a glossary has no header row and no quotation marks, which a table of Excel would have."""
    for number, line in enumerate(lines, start=1):
        columns = [column.strip() for column in line.split("\t")]
        if number == 1 and len(columns) == 2 and (_names_sides(columns) or languages_of_header(columns)):
            shown = " and ".join(map(repr, columns))
            raise UserError(
                f"{path} line 1: {shown} look like a header row, which a glossary of this format lacks; delete it"
            )
        if quoted := [column for column in columns if len(column) > 2 and column[0] == column[-1] == '"']:
            raise UserError(f"{path} line {number}: {quoted[0]} would match only with its quotation marks; delete them")
