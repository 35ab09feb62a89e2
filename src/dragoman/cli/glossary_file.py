"""Reading the file of `--glossary`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path

from dragoman.corpus.aligned import refuse_other_content
from dragoman.corpus.columns import SOURCE_WORDS, TARGET_WORDS, has_word, languages_of_header
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.delimited import read_rows
from dragoman.corpus.lines import read_lines
from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.references import UndeclaredError
from dragoman.errors import UserError, counted
from dragoman.languages.codes import is_known_code, known_language, primary_language
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
    if path.suffix.lower() == ".csv" and (pairs := _read_deepl(path, languages)) is not None:
        return pairs
    source, target = languages
    described = CorpusFile(file=str(path))
    try:
        return list(read_corpus(described, source_language=source, target_language=target))
    except UndeclaredError as error:
        if not error.has_header:
            if "columns" in error.settings:
                problem = "a glossary has two columns, a term and its translation"
                raise UserError(f"{path}: {problem}; delete the others") from None
            raise
        described = described.model_copy(update={"header": True} | error.settings)
        return list(read_corpus(described, source_language=source, target_language=target))


def _read_deepl(path: Path, languages: Languages) -> list[Pair] | None:
    """The rows of a direction in a file like the glossaries of DeepL: a term, its translation and their languages.

    Returns:
        None if the first row, apart from a header such as "source", is not such a row.

    Raises:
        UserError: All rows are of other directions.
    """
    try:
        with closing(read_rows(path, CorpusFile(file=str(path), quotes=True))) as numbered:
            first = next(numbered, (0, []))[1]
            if first and len(languages_of_header(first)) == len(first):
                return None
            rows = chain([] if _names_sides(first) else [first], (row for _, row in numbered))
            pairs, others = list[Pair](), Counter[str]()
            for row in rows:
                stated = tuple(primary_language(tag.strip()) for tag in row[2:] if tag.strip())
                if not (pairs or others or (len(stated) == 2 and all(map(_is_code, stated)))):
                    return None
                if stated in ((), tuple(map(primary_language, languages))):
                    term, translation = (*row, "")[:2]
                    pairs.append(Pair(term, translation))
                else:
                    others[" to ".join(stated)] += 1
    except UserError:
        return None  # `read_corpus` describes the problem
    if others and not pairs:
        raise UserError(
            f"{path}: its terms are from {', '.join(others)}, but texts are translated from {' to '.join(languages)}"
        )
    return pairs


def _is_code(word: str) -> bool:
    return known_language(word) == word or is_known_code(word)


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
