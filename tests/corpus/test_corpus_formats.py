"""Every format returns the same pairs, and a new format needs one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from corpus_files import PAIRS, WRITERS, expected_pairs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.corpus import aligned
from dragoman.corpus.columns import FORMULA_ERRORS
from dragoman.corpus.corpus import FILE_FORMATS, FileFormat, find_corpora, find_format, read_corpus
from dragoman.corpus.lines import read_lines
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.rows import open_single_file
from dragoman.dataset.pairs import CorpusPairs, read_pairs
from dragoman.dataset.prepare import prepare
from dragoman.errors import UserError
from dragoman.settings import CorpusFile, CorpusReference

if TYPE_CHECKING:
    from conftest import RecipeMaker


def read(reference: CorpusReference) -> list[Pair]:
    return list(read_corpus(reference, source_language="de", target_language="en"))


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_returns_the_same_pairs(name: str, tmp_path: Path) -> None:
    reference = WRITERS[name](tmp_path, PAIRS)
    assert read(reference) == expected_pairs(name)
    assert read(reference) == expected_pairs(name), "a file can be read several times"


@pytest.mark.parametrize("name", [name for name in WRITERS if not name.endswith("gz")])
def test_real_text_is_the_same_in_every_format(name: str, tmp_path: Path, data_directory: Path) -> None:
    pattern = f"{data_directory}/libreoffice-de-en/dev.{{lang}}.gz"
    pairs = [pair for pair in dict.fromkeys(read(pattern)) if pair.complete][:300]
    assert len(pairs) == 300
    assert read(WRITERS[name](tmp_path, pairs)) == pairs


def test_every_format_of_files_has_a_writer(tmp_path: Path) -> None:
    references = [write(tmp_path, PAIRS) for write in WRITERS.values()]
    formats = list(map(find_format, references))
    assert aligned in formats
    for file_format in FILE_FORMATS:
        assert file_format in formats


sentences = st.text(st.characters(exclude_categories=["Cc", "Cs"])).filter(
    lambda text: text.strip() not in FORMULA_ERRORS
)


@given(pairs=st.lists(st.tuples(sentences, sentences).map(lambda texts: Pair(*texts))))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@pytest.mark.parametrize("name", ["aligned", "tsv", "tsv of Excel", "jsonl"])
def test_any_text_is_read_unchanged(name: str, pairs: list[Pair], tmp_path: Path) -> None:
    pairs = [*pairs, Pair("ein Text", "a text")]
    pairs[0] = Pair(f"x{pairs[0].source}", f"x{pairs[0].target}")  # a byte order mark at the start is not text
    assert read(WRITERS[name](tmp_path, pairs)) == pairs


class SemicolonFormat:
    """A new format: source, semicolon, target."""

    SYNTAX = "a .ssv file"
    SUFFIXES = (".ssv",)

    def open_corpus(self, reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
        return open_single_file(reference, self._read)

    def _read(self, path: Path) -> Iterator[Pair]:
        for number, line in enumerate(read_lines(path), start=1):
            source, semicolon, target = line.partition(";")
            if not semicolon:
                raise UserError(f"{path} line {number}: no semicolon")
            yield Pair(source, target)


@pytest.fixture
def semicolon_file(tmp_path: Path) -> Iterator[Path]:
    """A file in the new format, which is registered with one line."""
    path = tmp_path / "pairs.ssv"
    path.write_text("".join(f"Satz {number};sentence {number}\n" for number in range(50)))
    added: FileFormat = SemicolonFormat()
    FILE_FORMATS.append(added)
    yield path
    FILE_FORMATS.remove(added)


def test_a_registered_format_is_read(semicolon_file: Path) -> None:
    pairs = read(str(semicolon_file))
    assert pairs == [Pair(f"Satz {number}", f"sentence {number}") for number in range(50)]
    with pytest.raises(UserError, match=r"a \.ssv file"):
        read("unknown")
    semicolon_file.write_text("a;b\nc\n")
    with pytest.raises(UserError, match=r"pairs\.ssv line 2: no semicolon"):
        read(str(semicolon_file))


def test_a_registered_format_works_in_recipes(semicolon_file: Path, make_recipe: RecipeMaker) -> None:
    recipe = make_recipe(f'data.train=["{semicolon_file}"]', "data.validation=[]")
    prepared = prepare(recipe, None, None, lambda text: None)
    expected = read_pairs([str(semicolon_file)], recipe.data, None)
    assert len(prepared.train) + len(prepared.validation) == len(expected) == 50


def test_a_table_in_a_recipe_is_trained_on(tmp_path: Path, make_recipe: RecipeMaker) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("id;en;de\n" + "".join(f"{number};sentence {number};Satz {number}\n" for number in range(50)))
    chosen = f'data.train=[{{file="{path}", columns=["de", "en"]}}]'
    prepared = prepare(make_recipe(chosen, "data.validation=[]"), None, None, lambda text: None)
    assert len(prepared.train) + len(prepared.validation) == 50


def test_other_columns_are_another_corpus(tmp_path: Path) -> None:
    """The build cache must not reuse text that was read with other settings."""
    path = tmp_path / "t.csv"
    path.write_text("a,b\n")
    tables = [CorpusFile(file=str(path), columns=columns) for columns in ((1, 2), (2, 1))]
    first, second = find_corpora(tables, source_language="de", target_language="en")
    assert CorpusPairs([first]).fingerprint != CorpusPairs([second]).fingerprint
