"""Downloads from OPUS, against a local server that answers as its API does."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from dragoman.corpus.corpus import read_corpus

if TYPE_CHECKING:
    from conftest import Command


class StandIn(BaseHTTPRequestHandler):
    """The API with one corpus in two languages, and its file."""

    requested: list[str]
    broken = False

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.requested.append(url.path)
        if url.path.endswith(".zip"):
            self.reply(archive())
        elif self.broken:
            self.reply(b"<html>maintenance</html>")
        else:
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            assert (query["preprocessing"], query["version"]) == ("moses", "latest")
            known = (query["source"], query["target"]) == ("de", "en") and query.get("corpus", "Books") == "Books"
            place = f"http://{self.headers['Host']}/OPUS-Books/v1/moses/de-en.txt.zip"
            corpus = {"corpus": "Books", "version": "v1", "alignment_pairs": 2, "url": place}
            self.reply(json.dumps({"corpora": [corpus] if known else []}).encode())

    def reply(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *values: object) -> None:
        """Print nothing."""


def archive() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("Books.de-en.de", "Hund\nKatze\n")
        file.writestr("Books.de-en.en", "dog\ncat\n")
    return content.getvalue()


@pytest.fixture
def opus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[StandIn]]:
    handler = type("Handler", (StandIn,), {"requested": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setattr("dragoman.corpus.opus.API", f"http://127.0.0.1:{server.server_address[1]}/opusapi/")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    yield handler
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("languages", ["de-en", "en-de"])
def test_a_corpus_is_downloaded_once_and_can_be_read(languages: str, opus: type[StandIn], command: Command) -> None:
    for _ in range(2):
        outcome = command("data", "fetch", "opus:Books", "--languages", languages)
        assert outcome.code == 0, outcome.error
        assert "version v1, 2 pairs" in outcome.error
    assert sum(path.endswith(".zip") for path in opus.requested) == 1
    path = outcome.out.strip()
    pairs = read_corpus(path, source_language="en", target_language="de")
    assert [(pair.source, pair.target) for pair in pairs] == [("dog", "Hund"), ("cat", "Katze")]
    assert f"dragoman train {path} --languages {languages}" in outcome.error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["opus:Boks", "--languages", "de-en"], "no corpus 'Boks' in de and en; did you mean 'Books'?"),
        (["opus:Xyz", "--languages", "de-en"], "no corpus 'Xyz' in de and en; it has Books"),
        (["opus:Books", "--languages", "de-xx"], "OPUS has no corpora in de and xx"),
        (["opus:../Books", "--languages", "de-en"], "expected the name of a corpus in OPUS"),
        (["opus:Books"], "add --languages"),
        (["multi30k", "--languages", "de-en"], "--languages is for corpora of OPUS"),
    ],
)
def test_mistakes_are_explained(arguments: list[str], message: str, opus: type[StandIn], command: Command) -> None:
    outcome = command("data", "fetch", *arguments)
    assert (outcome.code, message in outcome.error) == (2, True), outcome.error


def test_unexpected_answers_are_explained(
    opus: type[StandIn], command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    opus.broken = True
    broken = command("data", "fetch", "opus:Books", "--languages", "de-en")
    assert (broken.code, "unexpected answer: <html>" in broken.error) == (2, True), broken.error
    monkeypatch.setattr("dragoman.corpus.opus.API", "http://127.0.0.1:9/opusapi/")
    offline = command("data", "fetch", "opus:Books", "--languages", "de-en")
    assert (offline.code, "https://opus.nlpl.eu" in offline.error) == (2, True), offline.error
