"""Finding and reading corpora in any format."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest
from corpus_files import PAIRS, WRITERS, write_aligned, write_tsv

from dragoman.corpus import jsonl
from dragoman.corpus.corpus import aligned_files, find_corpora, read_corpus, read_texts
from dragoman.corpus.pair import Pair
from dragoman.corpus.references import distinct_names
from dragoman.errors import UserError
from dragoman.settings import CorpusReference, FilePair


def read(reference: CorpusReference) -> list[Pair]:
    return list(read_corpus(reference, source_language="de", target_language="en"))


def test_the_languages_decide_the_direction(tmp_path: Path) -> None:
    backward = [Pair(pair.target, pair.source) for pair in PAIRS]
    for name in ("aligned", "jsonl", "jsonl nested"):
        reference = WRITERS[name](tmp_path, PAIRS)
        assert list(read_corpus(reference, source_language="en", target_language="de")) == backward


def test_missing_corpora_are_found_before_any_is_read(tmp_path: Path) -> None:
    references = [write_tsv(tmp_path, PAIRS), str(tmp_path / "missing.tsv")]
    with pytest.raises(UserError, match="no such file"):
        find_corpora(references, source_language="de", target_language="en")


def test_pairs_are_read_lazily(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("a\tb\nbroken\n")
    pairs = read_corpus(str(path), source_language="de", target_language="en")
    assert next(pairs) == Pair("a", "b")
    with pytest.raises(UserError):
        next(pairs)


def test_a_corpus_can_be_read_several_times(tmp_path: Path) -> None:
    (corpus,) = find_corpora([write_tsv(tmp_path, PAIRS)], source_language="de", target_language="en")
    assert list(corpus.read()) == list(corpus.read()) == PAIRS
    assert corpus.files == (tmp_path / "t.tsv",)


def test_relative_paths_start_at_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_aligned(tmp_path, PAIRS)
    monkeypatch.chdir(tmp_path)
    assert read("t.{lang}") == PAIRS


def test_blank_sides_are_read_but_not_complete(tmp_path: Path) -> None:
    pairs = [Pair("a", "b"), Pair(" \u3000", "b"), Pair("a", ""), Pair("", "")]
    assert [pair.complete for pair in read(write_tsv(tmp_path, pairs))] == [True, False, False, False]


@pytest.mark.parametrize("name", ["tsv", "jsonl", "jsonl nested"])
def test_blank_lines_are_no_pairs(name: str, tmp_path: Path) -> None:
    path = Path(str(WRITERS[name](tmp_path, PAIRS)))
    first, *others = path.read_text(encoding="utf-8").strip("\n").split("\n")
    path.write_text("\n".join(["", first, " ", *others, "", "\n"]), encoding="utf-8")
    assert read(str(path)) == PAIRS


KEYS = [("german", "English"), ("src", "tgt"), ("text_de", "text_en"), ("de-AT", "en"), ("source", "translation")]


@pytest.mark.parametrize("keys", KEYS, ids="-".join)
def test_keys_of_objects_are_found_like_columns_of_tables(keys: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    objects = [{"id": str(number), **dict(zip(keys, pair[:2], strict=True))} for number, pair in enumerate(PAIRS)]
    path.write_text("".join(json.dumps(each) + "\n" for each in objects), encoding="utf-8")
    assert read(str(path)) == PAIRS


@pytest.mark.parametrize("suffix", ["", "_lang", "_id", "_url"])
@pytest.mark.parametrize("keys", [("source", "target"), ("src", "tgt"), ("german", "english")])
def test_keys_beside_the_translation_are_not_text(suffix: str, keys: tuple[str, str], tmp_path: Path) -> None:
    source, target = (key + suffix for key in keys)
    nested = {source: "1", target: "2", "translation": {"de": "Hund", "en": "dog"}}
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(nested), encoding="utf-8")
    assert read(str(path)) == [Pair("Hund", "dog")]


def test_references_to_the_same_file_have_distinct_names() -> None:
    references = [FilePair(source="s.de", target=f"{number}.en") for number in range(2)]
    assert distinct_names([*references, "t.tsv"]) == ["s.de", "s.de (2)", "t.tsv"]


@pytest.mark.parametrize("longer", ["de", "en"])
def test_blank_lines_at_the_end_of_one_file_are_no_pairs(longer: str, tmp_path: Path) -> None:
    write_aligned(tmp_path, PAIRS)
    path = tmp_path / f"t.{longer}"
    path.write_text(path.read_text(encoding="utf-8") + "\n \n", encoding="utf-8")
    assert read(str(tmp_path / "t.{lang}")) == PAIRS
    path.write_text(path.read_text(encoding="utf-8") + "text\n\n", encoding="utf-8")
    with pytest.raises(UserError, match=f"from line {len(PAIRS) + 1} on, one side is missing"):
        read(str(tmp_path / "t.{lang}"))


def test_blank_lines_count_as_lines(tmp_path: Path) -> None:
    for name, line in (("t.tsv", "a"), ("t.jsonl", "{")):
        path = tmp_path / name
        path.write_text(f"\n \n{line}\n", encoding="utf-8")
        for read_file in (read, jsonl.stated_languages)[: 1 + name.endswith("jsonl")]:
            with pytest.raises(UserError, match=f"{name} line 3: "):
                read_file(str(path))


def test_read_texts_returns_both_sides_of_two_files(tmp_path: Path) -> None:
    write_aligned(tmp_path, PAIRS)
    sources, targets = read_texts(tmp_path / "t.de", tmp_path / "t.en")
    assert [Pair(*texts) for texts in zip(sources, targets, strict=True)] == PAIRS


@pytest.mark.parametrize("name", WRITERS)
def test_only_aligned_formats_have_aligned_files(name: str, tmp_path: Path) -> None:
    files = aligned_files(WRITERS[name](tmp_path, PAIRS), source_language="de", target_language="en")
    if "aligned" not in name:
        assert files is None
    else:
        assert files
        assert [path.name.removesuffix(".gz") for path in files] == ["t.de", "t.en"]


def test_built_in_corpora_have_no_aligned_files() -> None:
    assert aligned_files("captions:test", source_language="de", target_language="en") is None


def test_captions_are_read_in_both_directions() -> None:
    forward = list(islice(read_corpus("captions:test", source_language="de", target_language="en"), 50))
    backward = list(islice(read_corpus("captions:test", source_language="en", target_language="de"), 50))
    assert forward == [Pair(pair.target, pair.source) for pair in backward]
    assert len(forward) == 50
    assert all(pair.complete for pair in forward)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("mult30k:train", "did you mean 'multi30k'"),
        ("multi30k:trian", "did you mean 'train'"),
        ("multi30k:dev", "no split 'dev', only train, val, test_2016_flickr"),
        ("multi30k", "the split is missing; choose 'multi30k:train'"),
        ("mult30k", "did you mean 'multi30k'"),
        ("iitb-en-hi:train", "no language 'de', only en, hi"),
        ("hf:name", "expected one of: a path with {lang}"),
        ("pairs.txt", "expected one of: a path with {lang}"),
        ("", "expected one of: a path with {lang}"),
    ],
)
def test_mistyped_references_are_rejected_with_a_hint(reference: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        read(reference)
    assert message in str(error.value)
