"""A bare code that stands for several variants of a language, in every format that names languages.

Variants such as zh-Hans and zh-Hant are never mixed: formats whose units differ take the most frequent one and say so;
where all texts have the same columns or files, one must be chosen.
"""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from dragoman.corpus.corpus import find_languages, has_pairs, pair_languages, read_corpus
from dragoman.corpus.memory import TranslationMemory
from dragoman.corpus.pair import Languages
from dragoman.doctor.data.chunked_reader import ChunkedReader
from dragoman.errors import UserError
from dragoman.settings import CorpusFile, CorpusReference

Unit = dict[str, str]
"""A text in several languages."""

Write = Callable[[Path, Sequence[Unit]], CorpusReference]


def write_tmx(directory: Path, units: Sequence[Unit]) -> str:
    body = "".join(
        "<tu>" + "".join(f"<tuv xml:lang='{tag}'><seg>{text}</seg></tuv>" for tag, text in unit.items()) + "</tu>"
        for unit in units
    )
    (directory / "t.tmx").write_text(f"<tmx version='1.4'><header/><body>{body}</body></tmx>", "utf-8")
    return f"{directory}/t.tmx"


def write_xliff(directory: Path, units: Sequence[Unit]) -> str:
    files = "".join(
        f"<file source-language='en' target-language='{tag}'><body><trans-unit id='1'><source>{unit['en']}</source>"
        f"<target>{text}</target></trans-unit></body></file>"
        for unit in units
        for tag, text in unit.items()
        if tag != "en"
    )
    (directory / "t.xlf").write_text(f"<xliff version='1.2'>{files}</xliff>", "utf-8")
    return f"{directory}/t.xlf"


def write_jsonl(directory: Path, units: Sequence[Unit]) -> str:
    (directory / "t.jsonl").write_text("".join(f"{json.dumps(unit)}\n" for unit in units), "utf-8")
    return f"{directory}/t.jsonl"


def write_nested_jsonl(directory: Path, units: Sequence[Unit]) -> str:
    return write_jsonl(directory, [{"id": "x", "translation": unit} for unit in units])  # type: ignore[dict-item]


def _rows(units: Sequence[Unit]) -> list[list[str]]:
    tags = list(dict.fromkeys(tag for unit in units for tag in unit))
    return [tags, *([unit.get(tag, "") for tag in tags] for unit in units)]


def write_csv(directory: Path, units: Sequence[Unit]) -> CorpusFile:
    with (directory / "t.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(_rows(units))
    return CorpusFile(file=f"{directory}/t.csv", header=True)


def write_tsv(directory: Path, units: Sequence[Unit]) -> CorpusFile:
    (directory / "t.tsv").write_text("".join("\t".join(row) + "\n" for row in _rows(units)), "utf-8")
    return CorpusFile(file=f"{directory}/t.tsv", header=True)


def write_xlsx(directory: Path, units: Sequence[Unit]) -> CorpusFile:
    book = Workbook()
    sheet = book.active
    assert isinstance(sheet, Worksheet)
    for row in _rows(units):
        sheet.append(row)
    book.save(directory / "t.xlsx")
    return CorpusFile(file=f"{directory}/t.xlsx", header=True)


def write_zip(directory: Path, units: Sequence[Unit]) -> str:
    tags, *rows = _rows(units)
    with zipfile.ZipFile(directory / "t.zip", "w") as archive:
        for column, tag in enumerate(tags):
            archive.writestr(f"corpus.{tag}", "".join(f"{row[column]}\n" for row in rows))
    return f"{directory}/t.zip"


OF_UNITS: list[Write] = [write_tmx, write_xliff, write_jsonl, write_nested_jsonl]
OF_COLUMNS: list[Write] = [write_csv, write_tsv, write_xlsx, write_zip]
UNITS = [
    {"en": "one", "zh-Hant": "t1"},
    {"en": "two", "zh-Hans": "s2"},
    {"en": "three", "zh-Hans": "s3"},
    {"en": "four", "zh-Hant": "t4", "zh-Hans": "s4"},
]
SIMPLIFIED, TRADITIONAL = ["s2", "s3", "s4"], ["t1", "t4"]


def read_pairs(reference: CorpusReference, languages: Languages) -> list[str]:
    pairs = read_corpus(reference, source_language=languages[0], target_language=languages[1])
    return [pair.source for pair in pairs if pair.source]


def read_memory(reference: CorpusReference, languages: Languages) -> list[str]:
    return list(TranslationMemory.read(reference, languages).segments)


def read_for_doctor(reference: CorpusReference, languages: Languages) -> list[str]:
    chunks = ChunkedReader(reference, *languages).chunks()
    return [source for chunk in chunks for source in chunk.sources if source]


@pytest.mark.filterwarnings("ignore:.*not used:UserWarning")
@pytest.mark.parametrize("read", [read_pairs, read_memory, read_for_doctor])
@pytest.mark.parametrize("write", OF_UNITS)
def test_units_in_the_most_frequent_variant_are_used_and_it_is_named(
    write: Write, read: Callable[[CorpusReference, Languages], list[str]], tmp_path: Path
) -> None:
    reference = write(tmp_path, UNITS)
    with pytest.warns(UserWarning, match="zh stands for zh-Hans, the most frequent variant; zh-Hant"):
        assert read(reference, ("zh", "en")) == SIMPLIFIED


@pytest.mark.parametrize("read", [read_pairs, read_memory, read_for_doctor])
@pytest.mark.parametrize("write", OF_COLUMNS)
def test_of_several_columns_or_files_one_must_be_chosen(
    write: Write, read: Callable[[CorpusReference, Languages], list[str]], tmp_path: Path
) -> None:
    reference = write(tmp_path, UNITS)
    with pytest.raises(UserError, match=r"'zh-Hant' and 'zh-Hans' stand for zh; .*--languages zh-Hant:en"):
        read(reference, ("zh", "en"))


@pytest.mark.filterwarnings("ignore:.*not used:UserWarning")
@pytest.mark.parametrize(("language", "texts"), [("zh-Hans", SIMPLIFIED), ("zh-Hant", TRADITIONAL)])
@pytest.mark.parametrize("write", [*OF_UNITS, *OF_COLUMNS])
def test_a_variant_can_be_chosen(write: Write, language: str, texts: list[str], tmp_path: Path) -> None:
    assert read_pairs(write(tmp_path, UNITS), (language, "en")) == texts


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("write", [write_tmx, write_jsonl, write_nested_jsonl, *OF_COLUMNS])
def test_the_code_itself_comes_before_its_variants(write: Write, tmp_path: Path) -> None:
    units = [{"en": "one", "pt": "a", "pt-BR": "b"}, {"en": "two", "pt-BR": "c", "pt": "d"}]
    assert read_pairs(write(tmp_path, units), ("pt", "en")) == ["a", "d"]


@pytest.mark.parametrize("write", OF_COLUMNS[:3])
def test_a_table_without_a_declared_header_names_the_variants(write: Write, tmp_path: Path) -> None:
    reference = write(tmp_path, UNITS)
    assert isinstance(reference, CorpusFile)
    with pytest.raises(UserError, match="'zh-Hant' and 'zh-Hans' stand for zh"):
        read_pairs(reference.file, ("zh", "en"))


@pytest.mark.parametrize("write", [*OF_UNITS, *OF_COLUMNS])
def test_codes_of_three_letters_name_languages(write: Write, tmp_path: Path) -> None:
    """Text in another language is never taken for that of a corpus without one."""
    references = []
    for code in ("cs", "hsb"):
        (tmp_path / code).mkdir()
        references.append(write(tmp_path / code, [{"en": "one", code: "jedyn"}]))
    assert pair_languages(references) == [("en", "cs"), ("en", "hsb")]
    assert find_languages([write(tmp_path / "cs", [{"en": "one", "hsb": "a"}])]) == ("en", "hsb")
    with pytest.raises(UserError, match="hsb"):
        read_pairs(references[1], ("en", "cs"))


@pytest.mark.filterwarnings("ignore:.* lack .*not used:UserWarning")
@pytest.mark.parametrize("write", [write_tmx, write_jsonl, write_nested_jsonl, *OF_COLUMNS])
def test_units_may_lack_a_language(write: Write, tmp_path: Path) -> None:
    reference = write(tmp_path, [{"de": "eins", "hsb": "jedyn"}, {"hsb": "dwaj", "dsb": "dwa"}, {"de": "drei"}])
    for languages, texts in ((("de", "hsb"), ["eins"]), (("hsb", "dsb"), ["dwaj"]), (("dsb", "hsb"), ["dwa"])):
        assert has_pairs(reference, languages, None)
        pairs = read_corpus(reference, source_language=languages[0], target_language=languages[1])
        assert [pair.source for pair in pairs if pair.complete] == texts
    assert not has_pairs(reference, ("de", "dsb"), None)


@pytest.mark.parametrize("write", OF_COLUMNS[:3])
def test_names_of_declared_columns_are_languages(write: Write, tmp_path: Path) -> None:
    reference = write(tmp_path, [{"hsb": "jedyn", "dsb": "jaden"}])
    assert isinstance(reference, CorpusFile)
    assert find_languages([reference]) == ("hsb", "dsb")
    with pytest.raises(UserError, match="the languages are not known"):
        find_languages([reference.file])


def with_bare_code(write: Write, tag: str, directory: Path) -> list[CorpusReference]:
    """A corpus with this tag, and a table with the code alone."""
    (directory / "bare").mkdir()
    bare = write_tsv(directory / "bare", [{"en": "two", tag.partition("-")[0]: "b"}])
    return [write(directory, [{"en": "one", tag: "a"}]), bare]


@pytest.mark.parametrize("tag", ["fr-FR", "zh-Hans"])
@pytest.mark.parametrize("write", [*OF_UNITS, *OF_COLUMNS])
def test_a_bare_code_in_another_corpus_is_the_language_of_a_region(write: Write, tag: str, tmp_path: Path) -> None:
    references = with_bare_code(write, tag, tmp_path)
    assert find_languages(references) == (languages := ("en", tag.partition("-")[0]))
    assert pair_languages(references) == [languages, languages]
    assert [read_pairs(each, languages) for each in references] == [["one"], ["two"]]


@pytest.mark.parametrize("tag", ["sr-Latn", "zh-TW"])
@pytest.mark.parametrize("write", [*OF_UNITS, write_zip])  # columns state no script
def test_a_bare_code_in_another_corpus_may_be_in_another_script(write: Write, tag: str, tmp_path: Path) -> None:
    references, bare = with_bare_code(write, tag, tmp_path), tag.partition("-")[0]
    with pytest.raises(UserError, match=rf"several languages \(en, {tag}, {bare}\)"):
        find_languages(references)
    assert pair_languages(references) == [("en", tag), ("en", bare)], "a model of several has both"


def test_two_regions_are_two_languages(tmp_path: Path) -> None:
    reference = write_tmx(tmp_path, [{"en": "one", "pt": "a", "pt-BR": "b", "pt-PT": "c"}])
    with pytest.raises(UserError, match=r"several languages \(en, pt, pt-BR, pt-PT\)"):
        find_languages([reference])
