"""Corpora from the catalog, read from the local mirror."""

from __future__ import annotations

import gzip
import os
from itertools import islice
from pathlib import Path

import pytest

from dragoman.corpus.catalog import CATALOG, CatalogFile, local_entries
from dragoman.corpus.corpus import aligned_files, read_corpus
from dragoman.corpus.named import describe_corpus
from dragoman.errors import UserError
from dragoman.settings import CorpusFile


def files_of_splits() -> list[tuple[str, str, CatalogFile, CatalogFile]]:
    splits = []
    mirror = Path(os.environ.get("DRAGOMAN_DATA", Path(__file__).parents[3] / "shared" / "data"))
    local = local_entries(mirror) if mirror.is_dir() else {}
    for entry in (*CATALOG.values(), *local.values()):
        for split in entry.splits if entry.files else ():
            first, second = (entry.file(split, language) for language in entry.languages[:2])
            splits.append((entry.name, split, first, second))
    return splits


@pytest.mark.parametrize(("name", "split", "first", "second"), files_of_splits())
def test_every_split_of_the_mirror_is_read(
    name: str, split: str, first: CatalogFile, second: CatalogFile, data_directory: Path
) -> None:
    if not (data_directory / first.path).exists():
        pytest.skip(f"{first.path} is not in the mirror")
    languages = {"source_language": first.language, "target_language": second.language}
    pairs = list(read_corpus(f"{name}:{split}", **languages, data_directory=data_directory))
    expected = gzip.decompress((data_directory / first.path).read_bytes()).decode().split("\n")
    assert [pair.source for pair in pairs] == expected[:-1]
    assert all(pair.complete for pair in pairs)
    files = aligned_files(f"{name}:{split}", **languages, data_directory=data_directory)
    assert files == (data_directory / first.path, data_directory / second.path)


def test_the_same_corpus_in_other_languages_is_a_table_with_its_name() -> None:
    """As in a recipe for several directions; the languages of the recipe are not those of each corpus."""
    stated = CorpusFile(file="captions:train", languages=("en", "de"))
    expected = list(read_corpus("captions:train", source_language="en", target_language="de"))
    for wanted in (("de", "fr"), ("en", "de")):
        assert list(read_corpus(stated, source_language=wanted[0], target_language=wanted[1])) == expected
    reversed_pairs = [pair.reversed for pair in expected]
    assert list(read_corpus(stated, source_language="de", target_language="en")) == reversed_pairs
    with pytest.raises(UserError, match=r"captions:train: delimiter = .;. has no meaning for this format"):
        read_corpus(CorpusFile(file="captions:train", delimiter=";"), source_language="de", target_language="en")
    with pytest.raises(UserError, match="the split is missing; choose 'captions:train'"):
        read_corpus(CorpusFile(file="captions"), source_language="de", target_language="en")


def test_describe_shows_the_paths_of_the_files_and_the_first_pairs(
    data_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = describe_corpus("multi30k", data_directory=data_directory)
    pairs = read_corpus("multi30k:train", source_language="en", target_language="de", data_directory=data_directory)
    assert list(found.examples) == list(islice(pairs, 3))
    assert all(path == data_directory / file.path for file, path in found.files)
    absent = describe_corpus("multi30k", data_directory=tmp_path)
    assert absent.examples == ()
    assert all(path is None for _, path in absent.files)


def test_describe_shows_the_first_pairs_of_a_built_in_corpus() -> None:
    pairs = read_corpus("captions:train", source_language="de", target_language="en")
    assert list(describe_corpus("captions").examples) == list(islice(pairs, 3))
