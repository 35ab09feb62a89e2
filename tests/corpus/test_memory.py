"""Translation memories: which translation of a segment is used, and which files are memories."""

from __future__ import annotations

import os
import threading
import unicodedata
from pathlib import Path

import pytest

from dragoman.corpus.memory import TranslationMemory
from dragoman.corpus.pair import Pair
from dragoman.corpus.writers import write_corpus
from dragoman.errors import UserError

PAIRS = [Pair("Ein Hund.", "A dog."), Pair(" Zwei Hunde. ", "Two dogs. "), Pair("", "nothing"), Pair("nichts", " ")]


def memory_of(*targets: str) -> str | None:
    return TranslationMemory([Pair("Hund", target) for target in targets]).find("Hund")


def test_the_number_of_spaces_does_not_count() -> None:
    memory = TranslationMemory(PAIRS)
    for pair in PAIRS[:2]:
        for text in (pair.source, pair.source.strip(), f"\t{pair.source}  ", pair.source.replace(" ", "  ")):
            assert memory.find(text) == pair.target.strip()
    assert list(memory.segments) == ["Ein Hund.", "Zwei Hunde."]
    for text in ("", "nichts", "ein Hund.", "EinHund.", "Ein Hund"):
        assert memory.find(text) is None


def test_the_most_frequent_translation_wins_and_of_equally_frequent_ones_the_last() -> None:
    assert memory_of("dog", "hound") == "hound"
    assert memory_of("dog", "hound", "dog") == "dog"
    assert memory_of("dog", "dog", "hound") == "dog"
    assert memory_of("dog", "hound", "hound", "dog") == "dog"
    assert memory_of("hound", "dog", "dog", "hound", "cat") == "hound"


def test_other_forms_of_the_same_characters_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "m.tsv"
    path.write_text("Café geöffnet\topen\n", encoding="utf-8")
    memory = TranslationMemory.read([str(path)], ("de", "en"))
    assert memory.find(unicodedata.normalize("NFD", "Café geöffnet")) == "open"


@pytest.mark.parametrize("suffix", ["tmx", "tsv", "jsonl"])
def test_every_format_is_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"memory.{suffix}"
    write_corpus(PAIRS[:2], str(path), ("de", "en"))
    assert TranslationMemory.read(str(path), ("de", "en")).find("Zwei Hunde.") == "Two dogs."
    if suffix == "tmx":
        assert TranslationMemory.read(str(path), ("en", "de")).find("Two dogs.") == "Zwei Hunde."


def test_columns_are_chosen_by_their_languages(tmp_path: Path) -> None:
    for name, separator in (("memory.csv", ","), ("memory.tsv", "\t")):
        rows = (("de", "hsb", "dsb"), ("Hund", "pos", "pjas"), ("Katze", "kočka", "kóčka"))
        (tmp_path / name).write_text("".join(f"{separator.join(row)}\n" for row in rows), "utf-8")
        for languages, expected in ((("de", "dsb"), "pjas"), (("hsb", "dsb"), None), (("dsb", "hsb"), None)):
            memory = TranslationMemory.read(str(tmp_path / name), languages)
            assert memory.find("Hund") == expected
            assert len(memory) == 2


def test_several_corpora_are_one_memory(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{number}.tsv") for number in range(2)]
    for path, pair in zip(paths, PAIRS, strict=False):
        write_corpus([pair], path, ("de", "en"))
    memory = TranslationMemory.read(paths, ("de", "en"))
    assert [memory.find(pair.source) for pair in PAIRS[:2]] == [pair.target.strip() for pair in PAIRS[:2]]
    (tmp_path / "empty.tsv").write_text("")
    with pytest.raises(UserError, match=r"empty\.tsv"):
        TranslationMemory.read([*paths, str(tmp_path / "empty.tsv")], ("de", "en"))


def test_files_that_are_no_memory_are_refused(tmp_path: Path) -> None:
    empty, broken, blank = (tmp_path / name for name in ("empty.tsv", "broken.tmx", "blank.tsv"))
    empty.write_text("")
    broken.write_text("<tmx><body><tu>")
    blank.write_text("Hund\t \n\tdog\n")
    for path in (empty, broken, blank, tmp_path / "missing.tmx"):
        with pytest.raises(UserError, match=path.name):
            TranslationMemory.read(str(path), ("de", "en"))
    with pytest.raises(UserError, match="text on both sides"):
        TranslationMemory([])


def test_a_table_may_have_a_header_row(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("Deutsch,English\nEin Hund.,A dog.\n", encoding="utf-8")
    memory = TranslationMemory.read(str(tmp_path / "m.csv"), ("de", "en"))
    assert memory.segments == {"Ein Hund.": "A dog."}


def test_a_memory_may_be_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "m.tsv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("Ein Hund.\tA dog.\nDie Katze.\tThe cat.\n",), daemon=True)
    writer.start()
    assert TranslationMemory.read(str(pipe), ("de", "en")).segments == {"Ein Hund.": "A dog.", "Die Katze.": "The cat."}


def test_segments_that_look_the_same_are_equal() -> None:
    """An accent may follow its letter, and an invisible character may stand between them or after them."""
    memory = TranslationMemory([Pair("Cafe\u0301\u200b", "café")])
    for text in ("Café", "Cafe\u0301", "Cafe\u200b\u0301", "Ca\u00adf\u00e9"):
        assert memory.find(text) == "café", ascii(text)
