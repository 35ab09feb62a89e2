"""The entries of the catalog."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from dragoman.corpus.catalog import CATALOG, CHECKSUMS, CatalogEntry, find_entry, local_entries
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.download import fetch
from dragoman.corpus.pair import Pair
from dragoman.corpus.synthetic.generators import GENERATORS
from dragoman.errors import UserError


@pytest.mark.parametrize("entry", CATALOG.values(), ids=lambda entry: entry.name)
def test_every_entry_is_complete(entry: CatalogEntry) -> None:
    assert find_entry(entry.name) is entry
    assert entry.description
    assert entry.license
    assert entry.homepage
    assert len(entry.languages) >= 2
    expected = {(split, language) for split in entry.splits for language in entry.languages}
    assert entry.built_in or {(file.split, file.language) for file in entry.files} == expected
    assert len(entry.files) in (0, len(expected))
    for file in entry.files:
        assert file.path == f"{entry.name}/{file.split}.{file.language}.gz"
        assert re.fullmatch("[0-9a-f]{64}", file.sha256 or "") or entry.hub
        assert entry.hub or (file.url or "").startswith("https://")
        assert entry.hub or (file.url or "").endswith(file.path.rpartition("/")[2])


def test_multi30k_is_downloaded_from_its_own_repository() -> None:
    repository = find_entry("multi30k").homepage.removeprefix("https://github.com/")
    for file in find_entry("multi30k").files:
        name = f"{file.split}.{file.language}.gz"
        assert file.url == f"https://raw.githubusercontent.com/{repository}/master/data/task1/raw/{name}"


def test_every_checksum_belongs_to_a_file_of_the_catalog() -> None:
    assert set(CHECKSUMS) == {file.path for entry in CATALOG.values() for file in entry.files if file.sha256}


def test_every_built_in_corpus_has_a_generator_that_yields_each_split() -> None:
    assert set(GENERATORS) == {entry.name for entry in CATALOG.values() if entry.built_in}
    for name, generate in GENERATORS.items():
        for split in CATALOG[name].splits:
            assert next(generate(split, (CATALOG[name].languages[0], CATALOG[name].languages[1]))).complete


def test_mistyped_names_are_rejected_with_the_nearest_match(mirror: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'multi30k'"):
        find_entry("multi3k")
    with pytest.raises(UserError, match=r"did you mean 'my-news'.*\n.*read from DIRECTORY/my-new/SPLIT.LANGUAGE.gz"):
        find_entry("my-new", mirror)


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A data directory with a corpus that the catalog lacks, a corpus of the catalog, and no corpora."""
    for name in ("my-news/train.de", "my-news/train.en", "my-news/dev.de", "my-news/dev.en", "my-news/test.de"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(f"{name}\n".encode()))
    for name in ("multi30k/train.de.gz", "mono/train.de.gz", "other/train.de", "train.de.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_a_data_directory_has_the_corpora_of_its_directories(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRAGOMAN_DATA", raising=False)
    entries = local_entries(mirror)
    assert list(entries) == ["my-news"]
    entry = entries["my-news"]
    assert (entry.languages, entry.splits, entry.source) == (("de", "en"), ("train", "dev"), "local")
    assert fetch("my-news", data_directory=mirror) == [mirror / file.path for file in entry.files]
    pairs = read_corpus("my-news:dev", source_language="en", target_language="de", data_directory=mirror)
    assert list(pairs) == [Pair("my-news/dev.en", "my-news/dev.de")]
    assert local_entries() == {}
    with pytest.raises(UserError, match="the catalog has no 'my-news'"):
        find_entry("my-news")
    monkeypatch.setenv("DRAGOMAN_DATA", str(mirror))
    assert find_entry("my-news") == entry
    with pytest.raises(UserError, match="my-news has no split 'test', only train, dev"):
        read_corpus("my-news:test", source_language="en", target_language="de")


def test_every_corpus_of_the_catalog_can_be_obtained() -> None:
    sources = {entry.name: entry.source for entry in CATALOG.values()}
    assert sources == {"captions": "built in", "copy": "built in", "multi30k": "download", "iitb-en-hi": "hub"}
