from __future__ import annotations

import gzip
import hashlib
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.corpus import download
from dragoman.corpus.catalog import CATALOG, DataFile, Dataset, catalog, find_dataset
from dragoman.corpus.checksums import CHECKSUMS
from dragoman.corpus.download import cache_directory, fetch, find_file
from dragoman.corpus.find import Pair, read_corpus
from dragoman.errors import UserError

TEXTS = {"de": "Ein Hund läuft.\n" * 20_000, "en": "A dog is running.\n" * 20_000}
CONTENT = {language: gzip.compress(text.encode(), compresslevel=0) for language, text in TEXTS.items()}


class Server(ThreadingHTTPServer):
    """Serves `CONTENT` as /toy/train.LANGUAGE.gz; `fault` spoils the English file; remembers what was asked for."""

    fault: str | None = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self.server.asked.append(self.path)
        content = CONTENT[self.path.split(".")[-2]]
        fault = self.server.fault if ".en." in self.path else None
        self.send_response(404 if fault == "missing" else 200)
        if fault != "no length":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if fault == "other":
            content = content[:-1] + b"?"
        elif fault in ("interrupted", "no length"):
            content = content[: len(content) // 2]
        elif fault == "stalled":
            self.wfile.write(content[:1000])
            threading.Event().wait(1.0)
            content = b""
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no mirror."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DRAGOMAN_DATA", raising=False)
    return tmp_path / "cache" / "dragoman"


@pytest.fixture
def toy(server: Server, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A dataset of two files that the local server has."""
    files = tuple(
        DataFile(
            split="train",
            language=language,
            path=f"toy/train.{language}.gz",
            sha256=hashlib.sha256(content).hexdigest(),
            url=f"http://127.0.0.1:{server.server_address[1]}/toy/train.{language}.gz",
        )
        for language, content in CONTENT.items()
    )
    dataset = Dataset("toy", "A toy.", ("de", "en"), ("train",), "none", "http://toy", files)
    monkeypatch.setitem(CATALOG, "toy", dataset)
    return dataset


def write_files(directory: Path, content: dict[str, bytes]) -> None:
    (directory / "toy").mkdir(parents=True, exist_ok=True)
    for language, data in content.items():
        (directory / "toy" / f"train.{language}.gz").write_bytes(data)


def files_below(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


def test_a_download_is_cached(toy: Dataset, server: Server, cache: Path) -> None:
    paths = fetch("toy")
    assert paths == [cache / file.path for file in toy.files]
    assert [path.read_bytes() for path in paths] == list(CONTENT.values())
    assert files_below(cache) == ["train.de.gz", "train.en.gz"]
    assert len(server.asked) == 2
    assert fetch("toy") == paths
    assert len(server.asked) == 2


def test_reading_downloads_what_it_needs(toy: Dataset, server: Server) -> None:
    pairs = list(read_corpus("toy:train", source_language="en", target_language="de"))
    assert pairs == [Pair("A dog is running.", "Ein Hund läuft.")] * 20_000
    assert len(server.asked) == 2


FAULTS = {
    "missing": "404",
    "interrupted": "connection lost after",
    "no length": "expected sha256",
    "other": "expected sha256",
    "stalled": "timed out",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failed_download_leaves_nothing_and_can_be_repeated(
    fault: str, toy: Dataset, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "TIMEOUT_SECONDS", 0.2 if fault == "stalled" else 5.0)
    server.fault = fault
    with pytest.raises(UserError, match=FAULTS[fault]) as refusal:
        fetch("toy")
    assert str(toy.files[1].url) in str(refusal.value)
    assert files_below(cache) == ["train.de.gz"]
    server.fault = None
    assert [path.read_bytes() for path in fetch("toy")] == list(CONTENT.values())
    assert server.asked.count("/toy/train.de.gz") == 1


def test_a_download_stopped_by_the_user_leaves_nothing(
    toy: Dataset, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch("toy")
    assert files_below(cache) == []


def test_without_network_the_files_to_provide_are_told(toy: Dataset, server: Server, cache: Path) -> None:
    closed = "http://127.0.0.1:1/"
    files = tuple(replace(file, url=closed + file.path) for file in toy.files)
    CATALOG["toy"] = replace(toy, files=files)
    with pytest.raises(UserError, match="refused") as refusal:
        read_corpus("toy:train", source_language="de", target_language="en")
    for file in files:
        assert f"{cache / file.path}  (sha256 {file.sha256})" in str(refusal.value)
    write_files(cache, CONTENT)
    assert len(list(read_corpus("toy:train", source_language="de", target_language="en"))) == 20_000


def test_only_missing_files_are_asked_for(toy: Dataset, cache: Path) -> None:
    CATALOG["toy"] = replace(toy, files=tuple(replace(file, url=None) for file in toy.files))
    write_files(cache, {"de": CONTENT["de"]})
    with pytest.raises(UserError, match="cannot be downloaded as such: they were cut anew from http://toy") as refusal:
        fetch("toy")
    assert "train.en.gz" in str(refusal.value)
    assert "train.de.gz" not in str(refusal.value)


def test_an_unwritable_cache_is_told(toy: Dataset, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("a file where the directory should be")
    with pytest.raises(UserError, match="cannot download"):
        fetch("toy")


def test_the_mirror_comes_before_the_cache_and_the_network(
    toy: Dataset, server: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, environment = tmp_path / "named", tmp_path / "environment"
    for directory in (cache, environment, named):
        write_files(directory, CONTENT)
    file = toy.files[0]
    assert find_file(file) == cache / file.path
    monkeypatch.setenv("DRAGOMAN_DATA", str(environment))
    assert find_file(file) == environment / file.path
    assert find_file(file, named) == named / file.path
    (named / file.path).unlink()
    assert find_file(file, named) == cache / file.path
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path / "absent"))
    assert find_file(file) == cache / file.path
    assert server.asked == []


def test_a_wrong_file_in_mirror_or_cache_is_refused(toy: Dataset, cache: Path, tmp_path: Path) -> None:
    for directory, mirror in ((tmp_path / "mirror", tmp_path / "mirror"), (cache, None)):
        write_files(directory, {"de": b"other"})
        with pytest.raises(UserError) as refusal:
            find_file(toy.files[0], mirror)
        message = str(refusal.value)
        assert str(directory / toy.files[0].path) in message
        assert f"expected sha256 {toy.files[0].sha256}, found {hashlib.sha256(b'other').hexdigest()}" in message


def test_a_data_directory_that_is_not_there_is_refused(toy: Dataset, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such directory"):
        fetch("toy", data_directory=tmp_path / "absent")


def test_the_cache_is_in_the_home_directory_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache" / "dragoman"


def test_fetching_a_hub_dataset_gives_the_files_of_its_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_dataset(name: str, configuration: None, *, split: str) -> Any:
        assert name == "cfilt/iitb-english-hindi"
        return SimpleNamespace(cache_files=[{"filename": f"/hub/{split}.arrow"}])

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    assert fetch("iitb-en-hi") == [Path(f"/hub/{split}.arrow") for split in ("train", "validation", "test")]


def test_without_the_hub_the_files_to_provide_are_told(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r"pip install 'dragoman\[hub\]'") as refusal:
        read_corpus("iitb-en-hi:test", source_language="en", target_language="hi")
    for language in ("en", "hi"):
        assert str(cache / "iitb-en-hi" / f"test.{language}.gz") in str(refusal.value)
    assert "train" not in str(refusal.value)


@pytest.mark.parametrize("dataset", catalog(), ids=lambda dataset: dataset.name)
def test_every_dataset_is_described_in_full(dataset: Dataset) -> None:
    assert find_dataset(dataset.name) is dataset
    assert dataset.description
    assert dataset.licence
    assert dataset.homepage
    assert len(dataset.languages) >= 2
    cells = {(split, language) for split in dataset.splits for language in dataset.languages}
    assert dataset.built_in or {(file.split, file.language) for file in dataset.files} == cells
    assert len(dataset.files) in (0, len(cells))
    for file in dataset.files:
        assert file.path == f"{dataset.name}/{file.split}.{file.language}.gz"
        assert re.fullmatch("[0-9a-f]{64}", file.sha256 or "") or dataset.hub
        assert file.url is None or file.url.startswith("https://")
        assert file.url is None or file.url.endswith(file.path.rpartition("/")[2])


def test_multi30k_is_downloaded_from_its_own_repository() -> None:
    repository = find_dataset("multi30k").homepage.removeprefix("https://github.com/")
    for file in find_dataset("multi30k").files:
        name = f"{file.split}.{file.language}.gz"
        assert file.url == f"https://raw.githubusercontent.com/{repository}/master/data/task1/raw/{name}"


def test_every_checksum_belongs_to_a_file_of_the_catalog() -> None:
    assert set(CHECKSUMS) == {file.path for dataset in catalog() for file in dataset.files if file.sha256}


@pytest.mark.parametrize("dataset", [entry for entry in catalog() if entry.files], ids=lambda dataset: dataset.name)
def test_the_mirror_has_the_files_of_the_catalog(dataset: Dataset, data_directory: Path) -> None:
    if not (data_directory / dataset.name).is_dir():
        pytest.skip(f"{dataset.name} is not in the mirror")
    assert fetch(dataset.name, data_directory=data_directory) == [data_directory / file.path for file in dataset.files]


def test_mistyped_names_are_refused_with_the_nearest_match() -> None:
    with pytest.raises(UserError, match="did you mean 'tatoeba-hi-en'"):
        find_dataset("tatoeba-hi-eng")
    with pytest.raises(UserError, match="did you mean 'captions'"):
        fetch("caption")
