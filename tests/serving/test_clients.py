"""Clients of other projects, unmodified, and the requests that others send."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from urllib.parse import quote_plus, unquote_plus

import deepl
import httpx
import pytest
from deep_translator import LibreTranslator
from detectors import german_or_english
from libretranslatepy import LibreTranslateAPI
from running_server import Running, StartServer


def test_libretranslatepy(server: Running) -> None:
    client = LibreTranslateAPI(server.url)
    assert client.translate("Ein Hund läuft.", "de", "en") == "en[Ein Hund läuft.]"
    assert {each["code"] for each in client.languages()} == {"de", "en", "es"}
    assert client.detect("Ein Hund läuft.")[0].keys() == {"confidence", "language"}


def test_deep_translator(server: Running) -> None:
    client = LibreTranslator("de", "en", api_key="any", custom_url=f"{server.url}/")
    assert client.translate("Ein Hund läuft.") == "en[Ein Hund läuft.]"
    assert client.translate_batch(["Ein Hund.", "Eine Frau."]) == ["en[Ein Hund.]", "en[Eine Frau.]"]


def test_deepl(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server(require_keys=True)
    key = server.service.keys.add("alice")
    client = deepl.DeepLClient(key, server_url=server.url, send_platform_info=False)
    results = client.translate_text(["Ein Hund.", "Eine Frau."], source_lang="DE", target_lang="EN-US")
    assert isinstance(results, list)
    assert [each.text for each in results] == ["en[Ein Hund.]", "en[Eine Frau.]"]
    assert not client.get_usage().any_limit_reached
    assert {each.code for each in client.get_target_languages()} == {"EN", "ES"}
    source, target = tmp_path / "brief.txt", tmp_path / "letter.txt"
    source.write_text("Ein Hund.\n")
    client.translate_document_from_filepath(source, target, source_lang="DE", target_lang="EN-GB")
    assert target.read_text() == "en[Ein Hund.]\n"
    with pytest.raises(deepl.AuthorizationException):
        deepl.DeepLClient("wrong", server_url=server.url).get_usage()
    logging.getLogger("deepl").handlers.clear()


def test_weblate(server: Running) -> None:
    assert all({"code", "targets"} <= each.keys() for each in httpx.get(f"{server.url}/languages").json())
    texts = [f"Satz {number} mit [X{number}X]." for number in range(20)]
    body = {"api_key": "", "q": texts, "source": "de", "target": "en"}
    reply = httpx.post(f"{server.url}/translate", json=body).json()
    assert reply["translatedText"] == [f"en[{text}]" for text in texts]


@pytest.fixture(scope="module")
def detecting(start_server: StartServer) -> Running:
    """A server that knows German and English."""
    running = start_server()
    running.service.detector = german_or_english()
    return running


@pytest.mark.parametrize("source", ["de", "auto"])
def test_mastodon(detecting: Running, source: str) -> None:
    server = detecting
    assert all("targets" in each for each in httpx.get(f"{server.url}/languages").json())
    link = "https://news.example.org/the-woman-reads-a-book-and-the-man-is-walking-with-the-dog"
    posts = [
        "<p>Ein Hund.<br>Eine Frau.</p>",
        f"<p>Eine <a href='https://example.org'>Frau</a>. <a class='status-link unhandled-link' href='{link}'>"
        f"<span class='invisible'>https://</span><span class='ellipsis'>{link[8:]}</span></a></p>",
    ]
    body = {"q": posts, "source": source, "target": "en", "format": "html", "api_key": ""}
    reply = httpx.post(f"{server.url}/translate", json=body).json()
    assert reply["translatedText"][0] == "<p>en[Ein Hund.]<br>en[Eine Frau.]</p>"
    assert reply["translatedText"][1].count("<a href='https://example.org'>") == 1
    assert len(reply["translatedText"]) == len(reply["detectedLanguage"]) == 2
    assert [each["language"] for each in reply["detectedLanguage"]] == ["de", "de"]


def test_discourse(detecting: Running) -> None:
    server = detecting
    text = "Ein Hund läuft. https://example.org/a-dog-is-running-with-the-woman dog.and.woman@the-park.example.org"
    (detected, *_) = httpx.post(f"{server.url}/detect", data={"q": text}).json()
    assert detected["language"] == "de"
    data = {"q": "<p>Ein Hund.</p><ul><li>Eine", "source": "de", "target": "en", "format": "html"}
    reply = httpx.post(f"{server.url}/translate", data=data).json()
    assert reply["translatedText"] == "<p>en[Ein Hund.]</p><ul><li>en[Eine]", "HTML is cut at some character"


def test_nextcloud(server: Running) -> None:
    """PHP's client sends GET requests with empty multipart bodies, and a list as one string."""
    empty = {"content-type": "multipart/form-data; boundary=----x"}
    assert httpx.post(server.url, content=b"------x--\r\n", headers=empty).status_code == 200
    for path in ("/frontend/settings", "/languages"):
        reply = httpx.request("GET", f"{server.url}{path}", content=b"------x--\r\n", headers=empty)
        assert reply.status_code == 200
    reply = httpx.post(f"{server.url}/detect", params={"q": "Ein Hund."}, content=b"------x--\r\n", headers=empty)
    assert reply.json()[0]["language"]
    texts = ["Ein Hund.", "Er läuft / bellt."]
    fields = {"q": quote_plus(json.dumps(texts)), "format": "html", "source": "de", "target": "en", "api_key": ""}
    reply = httpx.post(f"{server.url}/translate", files={name: (None, value) for name, value in fields.items()})
    assert json.loads(unquote_plus(reply.json()["translatedText"])) == [f"en[{text}]" for text in texts]


def test_omegat(server: Running) -> None:
    query = {"q": "Ein Hund.", "markUnknown": "no", "langpair": "deu|eng", "key": ""}
    for path in ("/translate", "/json/translate"):
        reply = httpx.get(f"{server.url}{path}", params=query).json()
        assert (reply["responseStatus"], reply["responseData"]["translatedText"]) == (200, "en[Ein Hund.]")
    pairs = httpx.get(f"{server.url}/listPairs").json()["responseData"]
    assert {"sourceLanguage": "de", "targetLanguage": "en"} in pairs
    assert httpx.get(f"{server.url}/translate", params={"q": "a"}).status_code == 405
    assert httpx.get(f"{server.url}/translate", params={"q": "a", "langpair": "de|zz"}).status_code == 400


def test_translate_web_pages(server: Running) -> None:
    """The extension reads the detected language also if it has sent the language."""
    reply = httpx.post(f"{server.url}/translate", data={"q": "Ein Hund.", "source": "de", "target": "en"}).json()
    assert reply["detectedLanguage"]["language"] == "de"
