"""Written corpora are read unchanged, and files are neither overwritten nor left incomplete."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from corpus_files import PAIRS
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.delimited import QUOTED_ROWS
from dragoman.corpus.pair import Pair
from dragoman.corpus.writers import write_corpus
from dragoman.errors import UserError

OUTPUTS = ["t.tsv", "t.jsonl", "t.tmx", "t.{lang}", "t.TSV", "t.tsv.gz", "t.jsonl.gz", "t.tmx.gz", "t.{lang}.gz"]


@pytest.mark.parametrize("name", OUTPUTS)
def test_written_pairs_are_read_unchanged(name: str, tmp_path: Path) -> None:
    pairs = [*PAIRS, Pair("<a> & \"b\" 'c'", "]]> \uffff")]
    output = f"{tmp_path}/{name}"
    complete = [pair for pair in pairs if pair.complete]
    assert write_corpus(pairs, output, ("de", "en")) == (len(complete), len(pairs) - len(complete))
    found = list(read_corpus(output, source_language="de", target_language="en"))
    assert found[:-1] == complete[:-1]
    assert found[-1] == (Pair(complete[-1].source, "]]> \ufffd") if ".tmx" in name else complete[-1])


sentences = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"))


@given(pairs=st.lists(st.tuples(sentences, sentences).map(lambda texts: Pair(*texts))))
@settings(max_examples=50)
def test_any_text_is_written_and_read_unchanged_as_tmx(pairs: list[Pair]) -> None:
    pairs = [*pairs, PAIRS[0]]
    with TemporaryDirectory() as directory:
        write_corpus(pairs, f"{directory}/t.tmx", ("de", "en"))
        found = list(read_corpus(f"{directory}/t.tmx", source_language="de", target_language="en"))
    assert found == [pair for pair in pairs if pair.complete]


def test_tabs_become_spaces_in_tsv_files(tmp_path: Path) -> None:
    write_corpus([Pair("a\tb", "c")], f"{tmp_path}/t.tsv", ("de", "en"))
    assert (tmp_path / "t.tsv").read_text() == "a b\tc\n"


@pytest.mark.parametrize("name", OUTPUTS)
def test_existing_files_are_not_overwritten(name: str, tmp_path: Path) -> None:
    path = tmp_path / name.replace("{lang}", "en")
    path.write_text("precious")
    with pytest.raises(UserError, match="already exists"):
        write_corpus(PAIRS, f"{tmp_path}/{name}", ("de", "en"))
    assert [each.read_text() for each in tmp_path.iterdir()] == ["precious"]


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.jsonl", "pairs.tmx", "pairs.{lang}"])
def test_files_that_another_process_writes_meanwhile_are_not_overwritten(name: str, tmp_path: Path) -> None:
    def pairs() -> Iterator[Pair]:
        yield PAIRS[0]
        write_corpus(PAIRS, str(tmp_path / name), ("de", "en"))

    with pytest.raises(UserError, match="already exists"):
        write_corpus(pairs(), str(tmp_path / name), ("de", "en"))
    found = read_corpus(str(tmp_path / name), source_language="de", target_language="en")
    assert list(found) == [pair for pair in PAIRS if pair.complete]


def test_one_of_two_files_is_reported_as_left_over(tmp_path: Path) -> None:
    """The two files of a corpus appear one after the other, and a kill may come between."""
    output = f"{tmp_path}/t.{{lang}}"
    write_corpus(PAIRS, output, ("de", "en"))
    with pytest.raises(UserError, match=r"t\.de and .*t\.en: already exists; .* delete it$"):
        write_corpus(PAIRS, output, ("de", "en"))
    (tmp_path / "t.de").unlink()
    with pytest.raises(UserError, match=r"/t\.en: already exists; .* delete it if an interrupted command has left it"):
        write_corpus(PAIRS, output, ("de", "en"))


@pytest.mark.parametrize("name", OUTPUTS)
def test_nothing_is_left_after_an_error(name: str, tmp_path: Path) -> None:
    def broken() -> Iterator[Pair]:
        yield PAIRS[0]
        raise UserError("broken")

    with pytest.raises(UserError, match="broken"):
        write_corpus(broken(), f"{tmp_path}/{name}", ("de", "en"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["t.{lang}", "t.jsonl", "t.jsonl.gz"])
def test_two_sides_of_the_same_name_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="both sides are en"):
        write_corpus(PAIRS, f"{tmp_path}/{name}", ("en", "en"))
    assert not list(tmp_path.iterdir())
    assert write_corpus(PAIRS, f"{tmp_path}/t.tsv", ("en", "en"))[0]


def test_unknown_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"expected a name that ends in \.tsv, \.jsonl, \.tmx, or a pattern"):
        write_corpus(PAIRS, f"{tmp_path}/t.docx", ("de", "en"))


def test_text_in_quotation_marks_that_dragoman_has_written_can_be_read(tmp_path: Path) -> None:
    pairs = [Pair(f'"Satz {number}."', f'"Sentence {number}."') for number in range(2 * QUOTED_ROWS)]
    write_corpus(pairs, str(tmp_path / "written.tsv"), ("de", "en"))
    read = list(read_corpus(str(tmp_path / "written.tsv"), source_language="de", target_language="en"))
    assert [(pair.source.strip(), pair.target.strip()) for pair in read] == [(p.source, p.target) for p in pairs]


def test_speech_at_both_ends_of_sentences_is_text(tmp_path: Path) -> None:
    path, pair = tmp_path / "speech.tsv", Pair('"Ja", sagte er, "ja."', '"Yes", he said, "yes."')
    path.write_text(2 * QUOTED_ROWS * f"{pair.source}\t{pair.target}\n", "utf-8")
    assert set(read_corpus(str(path), source_language="de", target_language="en")) == {pair}
