"""Datasets from the Hugging Face hub, with a stand-in for its library."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from dragoman.corpus.corpus import aligned_files, find_corpora, read_corpus
from dragoman.corpus.lines import MAX_LINE_CHARACTERS
from dragoman.corpus.pair import Pair
from dragoman.errors import UserError


class FakeRecords(list[dict[str, Any]]):
    cache_files: ClassVar[list[dict[str, str]]] = [{"filename": f"/hub/{number}.arrow"} for number in (1, 2)]

    @property
    def column_names(self) -> list[str]:
        return list(self[0])


class FakeHub:
    """Replaces the `datasets` package: returns two records, and remembers the requests."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str | None, str]] = []
        self.records: list[dict[str, Any]] = [
            {"translation": {"de": "eins", "en": "one\nline"}},
            {"translation": {"de": "zwei", "en": "two"}},
        ]

    def load_dataset(self, name: str, configuration: str | None, *, split: str) -> Any:
        self.requests.append((name, configuration, split))
        if split == "nowhere":
            raise ValueError("unknown split")
        return FakeRecords(self.records)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    hub = FakeHub()
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=hub.load_dataset))
    return hub


def read(reference: str, target_language: str = "en") -> list[Pair]:
    return list(read_corpus(reference, source_language="de", target_language=target_language))


def test_records_are_read_with_spaces_in_place_of_control_characters(hub: FakeHub) -> None:
    expected = [Pair("eins", "one line"), Pair("zwei", "two")]
    assert read("hf:group/name:train") == expected
    assert read("hf:group/name:de-en:test") == expected
    assert hub.requests == [("group/name", None, "train"), ("group/name", "de-en", "test")]


def test_the_corpus_has_the_files_of_the_hub_but_no_aligned_ones(hub: FakeHub) -> None:
    (corpus,) = find_corpora(["hf:group/name:train"], source_language="de", target_language="en")
    assert corpus.files == (Path("/hub/1.arrow"), Path("/hub/2.arrow"))
    assert aligned_files("hf:group/name:train", source_language="de", target_language="en") is None


def test_problems_are_reported(hub: FakeHub) -> None:
    with pytest.raises(UserError, match="cannot load split 'nowhere' from the Hugging Face hub"):
        read("hf:group/name:nowhere")
    with pytest.raises(UserError, match="record 1: no text in 'fr'; it has de, en"):
        read("hf:group/name:train", "fr")
    hub.records = [{"translation": {"de": "a", "en": "b" * (MAX_LINE_CHARACTERS + 1)}}]
    with pytest.raises(UserError, match="record 1: longer than 100,000 characters"):
        read("hf:group/name:train")
    hub.records = [{"translation": {"de": "a", "en": ""}}]
    with pytest.raises(UserError, match=r"target side of group/name: only empty lines \(1\)"):
        read("hf:group/name:train")
    hub.records = [{"text": "no translation"}]
    with pytest.raises(UserError, match="no 'translation' column; it has text"):
        read("hf:group/name:train")


def test_without_the_library_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r"pip install '.\[hub\]'"):
        read("hf:group/name:train")


def test_a_hub_corpus_of_the_catalog_is_read_from_the_data_directory_first(hub: FakeHub, tmp_path: Path) -> None:
    languages = {"source_language": "en", "target_language": "hi"}
    hub.records = [{"translation": {"en": "one", "hi": "एक"}}]
    (tmp_path / "iitb-en-hi").mkdir()
    assert list(read_corpus("iitb-en-hi:test", **languages, data_directory=tmp_path)) == [Pair("one", "एक")]
    for language, text in (("en", "two"), ("hi", "दो")):
        (tmp_path / "iitb-en-hi" / f"test.{language}.gz").write_bytes(gzip.compress(text.encode()))
    assert list(read_corpus("iitb-en-hi:test", **languages, data_directory=tmp_path)) == [Pair("two", "दो")]
    assert hub.requests == [("cfilt/iitb-english-hindi", None, "test")]
