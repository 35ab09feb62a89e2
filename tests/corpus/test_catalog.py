"""The entries of the catalog."""

from __future__ import annotations

import re

import pytest

from dragoman.corpus.catalog import CATALOG, CatalogEntry, find_entry
from dragoman.corpus.checksums import CHECKSUMS
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
        assert file.url is None or file.url.startswith("https://")
        assert file.url is None or file.url.endswith(file.path.rpartition("/")[2])


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


def test_mistyped_names_are_rejected_with_the_nearest_match() -> None:
    with pytest.raises(UserError, match="did you mean 'tatoeba-hi-en'"):
        find_entry("tatoeba-hi-eng")
