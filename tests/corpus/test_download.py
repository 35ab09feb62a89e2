"""Downloading with a local server: complete files or none, and messages that say what to do."""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.corpus.catalog import CATALOG, CatalogEntry, CatalogFile
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.download import fetch, find_file
from dragoman.corpus.pair import Pair
from dragoman.errors import UserError

TEXTS = {"de": "Ein Hund läuft.\n" * 20_000, "en": "A dog is running.\n" * 20_000}
CONTENT = {language: gzip.compress(text.encode(), compresslevel=0) for language, text in TEXTS.items()}


class Server(ThreadingHTTPServer):
    """Serves `CONTENT` as /toy/train.LANGUAGE.gz, with a `fault` in the English file; remembers the requested paths."""

    fault: str | None = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requested: list[str] = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self.server.requested.append(self.path)
        content = CONTENT[self.path.split(".")[-2]]
        fault = self.server.fault if ".en." in self.path else None
        self.send_response(404 if fault == "missing" else 200)
        if fault != "no length":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if fault == "wrong content":
            content = content[:-1] + b"?"
        elif fault in ("interrupted", "no length"):
            content = content[: len(content) // 2]
        elif fault == "stalled":
            self.wfile.write(content[:1000])
            threading.Event().wait(1.0)
            content = b""
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


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
def toy(server: Server, monkeypatch: pytest.MonkeyPatch) -> CatalogEntry:
    """A catalog entry with two files on the local server."""
    files = tuple(
        CatalogFile(
            split="train",
            language=language,
            path=f"toy/train.{language}.gz",
            sha256=hashlib.sha256(content).hexdigest(),
            url=f"http://127.0.0.1:{server.server_address[1]}/toy/train.{language}.gz",
        )
        for language, content in CONTENT.items()
    )
    entry = CatalogEntry("toy", "A toy.", ("de", "en"), ("train",), "none", "http://toy", files)
    monkeypatch.setitem(CATALOG, "toy", entry)
    return entry


def write_files(directory: Path, content: dict[str, bytes]) -> None:
    (directory / "toy").mkdir(parents=True, exist_ok=True)
    for language, data in content.items():
        (directory / "toy" / f"train.{language}.gz").write_bytes(data)


def file_names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


def test_a_download_is_cached(toy: CatalogEntry, server: Server, cache: Path) -> None:
    paths = fetch("toy")
    assert paths == [cache / file.path for file in toy.files]
    assert [path.read_bytes() for path in paths] == list(CONTENT.values())
    assert file_names_in(cache) == ["train.de.gz", "train.en.gz"]
    assert len(server.requested) == 2
    assert fetch("toy") == paths
    assert len(server.requested) == 2


def test_progress_is_shown_on_stderr_only(toy: CatalogEntry, capfd: pytest.CaptureFixture[str]) -> None:
    fetch("toy")
    output, error = capfd.readouterr()
    assert "100%" in error
    assert not output


def test_downloaded_files_have_the_usual_permissions(toy: CatalogEntry, tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("")
    expected = stat.S_IMODE(os.stat(tmp_path / "usual").st_mode)
    assert [stat.S_IMODE(os.stat(path).st_mode) for path in fetch("toy")] == [expected, expected]


def test_reading_downloads_the_files_it_needs(toy: CatalogEntry, server: Server) -> None:
    pairs = list(read_corpus("toy:train", source_language="en", target_language="de"))
    assert pairs == [Pair("A dog is running.", "Ein Hund läuft.")] * 20_000
    assert len(server.requested) == 2


FAULTS = {
    "missing": "404",
    "interrupted": "the connection was lost",
    "no length": "does not match the known hash",
    "wrong content": "does not match the known hash",
    "stalled": "timed out",
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # pooch does not close its connection
@pytest.mark.parametrize("fault", FAULTS)
def test_a_failed_download_leaves_no_file_and_can_be_repeated(
    fault: str, toy: CatalogEntry, server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pooch.downloaders.DEFAULT_TIMEOUT", 0.2 if fault == "stalled" else 5.0)
    server.fault = fault
    with pytest.raises(UserError, match=FAULTS[fault]) as error:
        fetch("toy")
    assert str(toy.files[1].url) in str(error.value)
    assert file_names_in(cache) == ["train.de.gz"]
    server.fault = None
    assert [path.read_bytes() for path in fetch("toy")] == list(CONTENT.values())
    assert server.requested.count("/toy/train.de.gz") == 1


def test_an_interrupted_download_leaves_no_file(
    toy: CatalogEntry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(source: str, destination: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shutil.move", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch("toy")
    assert file_names_in(cache) == []


def test_without_network_the_message_lists_the_files_to_provide(toy: CatalogEntry, server: Server, cache: Path) -> None:
    closed = "http://127.0.0.1:1/"
    files = tuple(replace(file, url=closed + file.path) for file in toy.files)
    CATALOG["toy"] = replace(toy, files=files)
    with pytest.raises(UserError, match="refused") as error:
        read_corpus("toy:train", source_language="de", target_language="en")
    for file in files:
        assert f"{cache / file.path}  (sha256 {file.sha256})" in str(error.value)
    write_files(cache, CONTENT)
    assert len(list(read_corpus("toy:train", source_language="de", target_language="en"))) == 20_000


def test_the_message_lists_only_missing_files(toy: CatalogEntry, cache: Path) -> None:
    CATALOG["toy"] = replace(toy, files=tuple(replace(file, url="http://127.0.0.1:1/") for file in toy.files))
    write_files(cache, {"de": CONTENT["de"]})
    with pytest.raises(UserError, match="cannot download") as error:
        fetch("toy")
    assert str(cache / "toy" / "train.en.gz") in str(error.value)
    assert "train.de.gz" not in str(error.value)
    assert "or in the directory that the environment variable DRAGOMAN_DATA names" in str(error.value)
    cache.with_name("mirror").mkdir()
    with pytest.raises(UserError, match=f"or in {cache.with_name('mirror')}:"):
        fetch("toy", data_directory=cache.with_name("mirror"))


def test_an_unwritable_cache_is_reported(toy: CatalogEntry, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("a file where the directory should be")
    with pytest.raises(UserError, match="cannot download"):
        fetch("toy")


def test_the_data_directory_comes_before_the_cache_and_the_network(
    toy: CatalogEntry, server: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    assert server.requested == []


def test_a_file_with_a_wrong_checksum_is_rejected_and_not_replaced(
    toy: CatalogEntry, cache: Path, tmp_path: Path
) -> None:
    for directory, mirror in ((tmp_path / "mirror", tmp_path / "mirror"), (cache, None)):
        write_files(directory, {"de": b"other"})
        with pytest.raises(UserError) as error:
            find_file(toy.files[0], mirror)
        message = str(error.value)
        assert str(directory / toy.files[0].path) in message
        assert f"expected sha256 {toy.files[0].sha256}, found {hashlib.sha256(b'other').hexdigest()}" in message
    with pytest.raises(UserError, match="wrong content"):
        fetch("toy")
    assert (cache / toy.files[0].path).read_bytes() == b"other"


def test_a_missing_data_directory_is_rejected(toy: CatalogEntry, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such directory"):
        fetch("toy", data_directory=tmp_path / "absent")


def test_fetching_from_the_hub_returns_the_files_in_its_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_dataset(name: str, configuration: None, *, split: str) -> Any:
        assert name == "cfilt/iitb-english-hindi"
        return SimpleNamespace(cache_files=[{"filename": f"/hub/{split}.arrow"}])

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    assert fetch("iitb-en-hi") == [Path(f"/hub/{split}.arrow") for split in ("train", "validation", "test")]


def test_without_the_hub_the_message_lists_the_files_to_provide(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r"pip install '.\[hub\]'") as error:
        read_corpus("iitb-en-hi:test", source_language="en", target_language="hi")
    for language in ("en", "hi"):
        assert str(cache / "iitb-en-hi" / f"test.{language}.gz") in str(error.value)
    assert "train" not in str(error.value)


@pytest.mark.parametrize("entry", [entry for entry in CATALOG.values() if entry.files], ids=lambda entry: entry.name)
def test_the_mirror_has_the_files_of_the_catalog(entry: CatalogEntry, data_directory: Path) -> None:
    if not (data_directory / entry.name).is_dir():
        pytest.skip(f"{entry.name} is not in the mirror")
    assert fetch(entry.name, data_directory=data_directory) == [data_directory / file.path for file in entry.files]


def test_mistyped_names_are_rejected_with_the_nearest_match() -> None:
    with pytest.raises(UserError, match="did you mean 'captions'"):
        fetch("caption")
