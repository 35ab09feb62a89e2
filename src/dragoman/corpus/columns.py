"""Which columns of a table contain the source and the target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, takewhile

from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.pair_text import join_lines
from dragoman.corpus.references import UndeclaredError
from dragoman.errors import UserError, counted, nearest
from dragoman.languages.codes import (
    find_language,
    is_known_code,
    is_machine_translated,
    is_name_of,
    known_language,
    looks_like_tag,
    named_language,
    plain_tag,
    without_region,
)
from dragoman.settings import CorpusFile

Row = tuple[int, Sequence[str]]
"""The line number of a row, and the texts in its columns."""

FORMULA_ERRORS = frozenset(
    ("#N/A", "#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#ERROR!")
)
"""What spreadsheets show in place of the result of a formula, such as a search that finds nothing."""
_LIKE_ERROR = re.compile(r"#[\w/]+[!?]?")

SOURCE_WORDS = frozenset(["source", "src", "quelle", "quelltext", "ausgangstext", "original", "term"])
TARGET_WORDS = frozenset(["target", "tgt", "trg", "ziel", "zieltext", "translation", "translated", "übersetzung"])
_TEXT_WORDS = ["text", "texts", "sentence", "sentences", "segment", "string", "language", "lang", "satz", "sprache"]
_OTHER_WORDS = frozenset([*_TEXT_WORDS, "id", "nr", "no", "line", "number", "comment"])
_NO_CODES = (
    _OTHER_WORDS
    | SOURCE_WORDS
    | TARGET_WORDS
    | {"bin", "cor", "ext", "min", "mul", "new", "non", "pro", "sid", "str", "ter", "tok", "und", "zxx"}
)
"""What names of columns mean that are also codes of languages; the last ones say that a language is not known."""
_WORD = re.compile(r"\b[a-z]{2,3}[-_](?:[a-z]{2}|[a-z]{4}|\d{3})\b|[^\s_.,:;()\[\]/-]+")

_MIN_REPEATED = 10  # characters that are the same in two rows of a column without sentences


def select_pairs(rows: Iterator[Row], file: CorpusFile, name: str, languages: Languages) -> Iterator[Pair]:
    """The pairs in the rows of a table.

    Args:
        rows: All rows, perhaps with a header row; their texts have no control characters except line breaks.
        file: Which columns to take, and whether there is a header row.
        name: What error messages call the table.
        languages: Source and target; they select columns by the header row if `file` does not.

    Raises:
        UserError: There is no such column, a row has another number of columns than the first, or an undeclared header
            row. It is an `UndeclaredError` if settings can be named that describe the table.
    """
    while (first := next(rows, None)) is not None and not any(map(str.strip, first[1])):
        yield Pair("", "")  # an empty row above a header row does not hide it
    if first is None:
        return
    number, values = first
    if file.header is not False and states_machine(values):
        file, values = file.model_copy(update={"header": True}), list(map(plain_tag, values))
        if match_languages(values, languages) is None:
            raise UserError(
                f"{name} line {number}: the text is in {' and '.join(values)}, not {' and '.join(languages)}"
            )
    second = next(rows, None)
    if second is not None:
        rows = chain([second], rows)
        if file.header is not False:
            _refuse_title(values, second[1], f"{name} line {number}", languages)
    has_header = file.header or (file.header is None and _names_columns(file))
    place = f"{name} line {number}"
    if has_header:
        source, target = _find_columns(values, file, place, languages)
        _refuse_contradiction(values, (source, target), place, languages)
    else:
        source, target = _number_columns(values, second[1] if second else (), file, place, languages)
        if file.header is None:
            _refuse_contradiction(values, (source, target), place, languages)
            _refuse_header(values, (source, target), place, languages)
        rows = chain([first], rows)
    for number, row in rows:
        if len(row) != len(values):
            raise UserError(f"{name} line {number}: expected {len(values)} columns, found {len(row)}")
        if ("-t0-" in row[0] or "-t0-" in row[-1]) and states_machine(row):
            raise UserError(
                f"{name} line {number}: this header row of machine-translated text is in the middle of a file, as if "
                "files had been joined; name the files one by one, so that each keeps its mark"
            )
        yield _without_errors(Pair(join_lines(row[source]), join_lines(row[target])))


def chosen_names(header: Sequence[str], file: CorpusFile) -> list[str]:
    """The names of the columns that a file may be read from: of those that its settings choose, or of all."""
    if file.columns is None or states_machine(header):
        return list(map(plain_tag, header))
    return [
        column if isinstance(column, str) else header[column - 1]
        for column in file.columns
        if isinstance(column, str) or column <= len(header)
    ]


def states_machine(header: Sequence[str]) -> bool:
    """Whether a row states that a machine has translated one of two columns."""
    return len(header) == 2 and any(map(is_machine_translated, header))


def languages_of_columns(header: Sequence[str], file: CorpusFile) -> list[str]:
    """The languages after which the chosen columns are named, in their order, or those in the first row."""
    names = chosen_names(header, file)
    return names if states_machine(header) else languages_of_header(names, bool(file.header) or _names_columns(file))


def _without_errors(pair: Pair) -> Pair:
    """The pair with an empty side in place of an error of a formula, unless the other side looks like its translation.

    The messages of a spreadsheet program have such pairs: #NAME? and #NOM?.
    """
    source, target = (text.strip() for text in pair[:2])
    if source != target and all(map(_LIKE_ERROR.fullmatch, (source, target))):
        return pair
    return pair._replace(
        source="" if source in FORMULA_ERRORS else pair.source, target="" if target in FORMULA_ERRORS else pair.target
    )


def _refuse_title(first: Sequence[str], second: Sequence[str], place: str, languages: Languages) -> None:
    """Check that a table does not start with a title, which would be taken for its header row or its first pair."""
    filled = [text for text in first if text.strip()]
    is_table = sum(map(bool, map(str.strip, second))) > 1
    is_pair = len(first) == len(second) == 2  # of which one side may be empty
    if len(filled) == 1 and is_table and (not is_pair or looks_like_header(second, languages)):
        raise UserError(
            f"{place}: {filled[0]!r} is the only text of the first row, like a title; delete the rows above the table"
        )


def _names_columns(file: CorpusFile) -> bool:
    return any(isinstance(column, str) for column in file.columns or ())


def _number_columns(
    values: Sequence[str], second: Sequence[str], file: CorpusFile, place: str, languages: Languages
) -> tuple[int, int]:
    """The indices of the columns in a table without a header row."""
    if file.columns is None and len(values) != 2:
        raise _explain_columns(values, second, f"{place}: expected 2 columns, found {len(values)}", languages)
    if _names_columns(file):
        raise UserError(f"{place}: columns are selected by name, which needs a header row; remove header = false")
    columns = [int(column) - 1 for column in file.columns or (1, 2)]
    for column in columns:
        if column >= len(values):
            raise UserError(f"{place}: there is no column {column + 1}; this row has {counted(len(values), 'column')}")
    return columns[0], columns[1]


def _explain_columns(values: Sequence[str], second: Sequence[str], problem: str, languages: Languages) -> UserError:
    """The error for a table with too few or too many columns, with the columns that are probably right.

    These are the ones with the most letters in the first row, except those that begin as in the second row, such as a
    license; but not if only one would be left, because sentences may begin alike, too.
    """
    if len(values) < 2:
        return UserError(problem)
    found = match_languages(values, languages)
    if found and looks_like_header([values[column] for column in found], languages):
        names = tuple(values[column].strip() for column in found)
        return UndeclaredError(f"{problem}; the first row looks like a header row", columns=names)
    if looks_like_header(values, languages):
        refuse_variants(values, languages, problem.partition(": ")[0])
    letters = [sum(map(str.isalpha, text)) for text in values]
    next_row = [*second, *[""] * len(values)]
    rest = [
        0 if _is_repeated(one, other) else count for one, other, count in zip(values, next_row, letters, strict=False)
    ]
    if sum(map(bool, rest)) > 1:
        letters = rest
    source, target = sorted(sorted(range(len(values)), key=letters.__getitem__)[-2:])
    return UndeclaredError(f"{problem}; choose two of them", columns=(source + 1, target + 1))


def _is_repeated(text: str, next_text: str) -> bool:
    """Whether a text is repeated in the next row, or at least a long beginning of it."""
    repeated = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, next_text, strict=False)))
    return text == next_text or repeated >= max(_MIN_REPEATED, min(len(text), len(next_text)) / 2)


def _refuse_header(values: Sequence[str], columns: tuple[int, int], place: str, languages: Languages) -> None:
    texts = [values[column] for column in columns]
    _refuse_other_languages(texts, place, languages, is_header=False)
    if looks_like_header(texts, languages):
        shown = " and ".join(map(repr, texts))
        raise UndeclaredError(
            f"{place}: {shown} look like a header row; if they are text, set header = false (--no-header)", header=True
        )


def _refuse_contradiction(values: Sequence[str], columns: tuple[int, int], place: str, languages: Languages) -> None:
    """Check that the first row does not name other columns after the languages than the chosen ones."""
    named = _match_by_language(values, languages)
    if named and named != columns and looks_like_header([values[column] for column in named], languages):
        chosen, expected = (" and ".join(repr(values[each].strip()) for each in pair) for pair in (columns, named))
        raise UndeclaredError(
            f"{place}: the columns {chosen} are chosen, but {expected} are named after {languages[0]!r} and "
            f"{languages[1]!r}; choose those, or correct the languages",
            header=True,
            columns=tuple(values[each] for each in named),
        )


def _refuse_other_languages(values: Sequence[str], place: str, languages: Languages, is_header: bool) -> None:
    """Check that two columns are not named after languages of which one is not among those of the corpus."""
    named = _named_languages(values, is_header)
    if None in named or len(set(named)) != len(named):  # the words "no" and "hi" are codes, too
        return
    if not all(any(names_language(text, language) for language in languages) for text in values):
        shown = " and ".join(repr(text.strip()) for text in values)
        raise UserError(
            f"{place}: the columns are named {shown}, not {languages[0]!r} and {languages[1]!r}; correct the names or "
            "the languages, or set header = false if this is text"
        )


def _find_columns(values: Sequence[str], file: CorpusFile, place: str, languages: Languages) -> tuple[int, int]:
    """The indices of the columns in a table with a header row."""
    names = [cell.strip() for cell in values]
    if file.columns is None:
        found = match_languages(names, languages)
        if found is None:
            refuse_variants(names, languages, place)
        if found is None and len(names) == 2:
            _refuse_other_languages(names, place, languages, is_header=True)
        if found is None and (len(names) != 2 or _names_other_side(names, languages)):
            shown = ", ".join(map(repr, names))
            problem = f"{place}: no columns named {languages[0]!r} and {languages[1]!r}, only {shown}"
            raise UndeclaredError(problem, columns=(1, 2)) if len(names) > 2 else UserError(problem)
        return found or (0, 1)
    return _find_column(file.columns[0], names, place), _find_column(file.columns[1], names, place)


def _names_other_side(names: Sequence[str], languages: Languages) -> bool:
    """Whether one of two columns is named after the language of the other one."""
    return any(
        names_language(name, other) and not names_language(name, own)
        for name, own, other in zip(names, languages, languages[::-1], strict=True)
    )


def _find_column(column: int | str, names: Sequence[str], place: str) -> int:
    if isinstance(column, str):
        if names.count(column) != 1:
            if column in names:
                raise UserError(f"{place}: several columns are named {column!r}; choose columns by their numbers")
            shown = ", ".join(map(repr, names))
            raise UserError(f"{place}: no column named {column!r}, only {shown}{nearest(column, names)}")
        return names.index(column)
    if column > len(names):
        raise UserError(f"{place}: there is no column {column}, only {len(names)}")
    return column - 1


def match_languages(names: Sequence[str], languages: Languages) -> tuple[int, int] | None:
    """The columns that are named after the two languages or sides, if that is unambiguous."""
    by_side = [[i for i, name in enumerate(names) if has_word(name, words)] for words in (SOURCE_WORDS, TARGET_WORDS)]
    return _match_by_language(names, languages) or _single_columns(*by_side)


def _match_by_language(names: Sequence[str], languages: Languages) -> tuple[int, int] | None:
    return _single_columns(*(_columns_of(names, each) for each in languages))


def _columns_of(names: Sequence[str], language: str) -> list[int]:
    """The columns that are named after a language; only the one that is its code, if there is one."""
    found = [index for index, name in enumerate(names) if names_language(name, language)]
    exact = [index for index in found if _is_code(names[index], language)]
    return exact or found


def _is_code(name: str, language: str) -> bool:
    name = name.strip().lower().replace("_", "-")
    return name == language.lower().replace("_", "-") and name not in _OTHER_WORDS


def refuse_variants(names: Sequence[str], languages: Languages, place: str) -> None:
    """Check that names do not stand for different variants of a language, such as zh-Hans and zh-Hant for zh.

    Raises:
        UserError: They do.
    """
    for number, language in enumerate(languages):
        found = [names[index].strip() for index in _columns_of(names, language)]
        if len(found) > 1:
            shown = " and ".join(map(repr, found))
            wanted = [*languages[:number], found[0], *languages[number + 1 :]]
            chosen = f"--languages {':'.join(wanted)}" if looks_like_tag(found[0]) else "another name for the others"
            raise UserError(f"{place}: {shown} stand for {language}; choose one of them, for example with {chosen}")


def _single_columns(sources: Sequence[int], targets: Sequence[int]) -> tuple[int, int] | None:
    return (sources[0], targets[0]) if len(sources) == len(targets) == 1 and sources != targets else None


def names_language(cell: str, language: str) -> bool:
    """Whether a cell of a header row names a language: ``de``, ``de-AT``, ``German``, ``text_de``, ``Deutsch (de)``."""
    return is_name_of(cell, language) or any(
        known_language(word) == without_region(language) or find_language(language, (word,)) is not None
        for word in _words(cell)
    )


def named_among(names: Iterable[str], languages: Iterable[str]) -> list[str]:
    """Those of some languages after which columns or keys are named, also by codes of three letters."""
    names = list(names)
    return [language for language in languages if any(names_language(name, language) for name in names)]


def looks_like_header(values: Iterable[str], languages: Iterable[str]) -> bool:
    """Whether every cell consists of words that header rows use, and none can be a sentence."""
    known = SOURCE_WORDS | TARGET_WORDS | _OTHER_WORDS
    languages = tuple(languages)

    def is_known(word: str) -> bool:
        return bool(word in known or named_language(word) or any(find_language(each, (word,)) for each in languages))

    texts = list(values)
    return bool(texts) and all(
        any(is_name_of(text, each) for each in languages) or ((words := _words(text)) and all(map(is_known, words)))
        for text in texts
    )


def languages_of_header(names: Iterable[str], is_header: bool = False) -> list[str]:
    """The codes of columns that are named after languages, such as ``de-DE`` and ``English``; none if it is only one.

    Words such as ``id``, which is also a code, do not name a language.

    Args:
        names: The texts of a row.
        is_header: Whether they are certainly names, see `_named_languages`.
    """
    found = _named_languages([name for name in names if name.strip().casefold() not in _NO_CODES], is_header)
    codes = [code for code in found if code]
    return codes if len(codes) == len(set(codes)) > 1 else []


def language_of_name(name: str) -> str | None:
    """The language after which a column or a key is named, which is certainly a name; None for other names."""
    return None if name.strip().casefold() in _NO_CODES else _named_languages([name], is_header=True)[0]


def _named_languages(names: Iterable[str], is_header: bool) -> list[str | None]:
    """The language after which each column is named; None for other names.

    Codes of three letters may be words: ``war`` and ``was``. They count only in a declared header row.
    """
    words = [without_region(name) if looks_like_tag(name) else name for name in map(str.strip, names)]
    found = list(map(known_language, words))
    if not is_header:
        return found
    are_codes = [is_known_code(word) and word.casefold() not in _NO_CODES for word in words]
    return [code or (word if is_code else None) for code, word, is_code in zip(found, words, are_codes, strict=True)]


def has_word(cell: str, words: frozenset[str]) -> bool:
    """Whether one of the words occurs in a cell, such as ``source`` in ``source_text``."""
    return any(word in words for word in _words(cell))


def _words(cell: str) -> list[str]:
    """``Text (de-AT)`` as ``["text", "de-at"]``, and ``text_de`` as ``["text", "de"]``."""
    if len(cell) > 40:  # a sentence
        return []
    return _WORD.findall(cell.casefold())
