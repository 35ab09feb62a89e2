"""DeepL's protocol, version 2."""

from __future__ import annotations

import re
import time
from typing import Any

import httpx
import pytest
from running_server import Running, StartServer


def test_texts_keep_their_order_whatever_form_they_have(server: Running) -> None:
    texts = ["Ein Hund.", "Eine Frau. Ein Mann.", ""]
    wanted = ["en[Ein Hund.]", "en[Eine Frau.] en[Ein Mann.]", ""]
    body: dict[str, Any] = {"text": texts, "source_lang": "DE", "target_lang": "EN-US"}
    ways: list[dict[str, Any]] = [{"json": body}, {"data": body}]
    for sent in ways:
        reply = httpx.post(f"{server.url}/v2/translate", **sent).json()
        assert [each["text"] for each in reply["translations"]] == wanted
        assert {each["detected_source_language"] for each in reply["translations"]} == {"DE"}


def test_the_reply_names_a_language_between(server: Running) -> None:
    body = {"text": ["Ein Hund."], "source_lang": "DE", "target_lang": "ES"}
    (translation,) = httpx.post(f"{server.url}/v2/translate", json=body).json()["translations"]
    assert (translation["text"], translation["pivot"]) == ("es[en[Ein Hund.]]", "en")


def test_languages_and_usage(server: Running) -> None:
    sources = httpx.get(f"{server.url}/v2/languages").json()
    assert {each["language"] for each in sources} == {"DE", "EN", "ES"}
    targets = httpx.get(f"{server.url}/v2/languages", params={"type": "target"}).json()
    assert {each["language"] for each in targets} == {"EN", "ES"}
    usage = httpx.get(f"{server.url}/v2/usage").json()
    assert usage["character_count"] < usage["character_limit"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": []},
        {"text": ["a"]},
        {"text": ["a"], "target_lang": "ZZ"},
        {"text": ["a"], "source_lang": "ZZ", "target_lang": "EN"},
        {"text": ["a" * 30_000], "target_lang": "EN"},
    ],
)
def test_wrong_requests_get_a_message(server: Running, body: dict[str, Any]) -> None:
    reply = httpx.post(f"{server.url}/v2/translate", json=body)
    assert reply.status_code == 400
    assert reply.json()["message"]


def test_the_key_is_in_a_header(start_server: StartServer) -> None:
    locked = start_server(require_keys=True)
    key = locked.service.keys.add("alice")
    body = {"text": ["Ein Hund."], "source_lang": "DE", "target_lang": "EN"}
    for headers, status in (
        ({}, 403),
        ({"authorization": "DeepL-Auth-Key wrong"}, 403),
        ({"authorization": f"DeepL-Auth-Key {key}"}, 200),
    ):
        assert httpx.post(f"{locked.url}/v2/translate", json=body, headers=headers).status_code == status


def test_documents_are_translated_while_the_client_asks_for_their_state(server: Running) -> None:
    fake = server.fakes["de-en"]
    fake.gate.clear()
    files = {"file": ("brief.txt", b"Ein Hund.\nEine Frau.\n")}
    started = httpx.post(f"{server.url}/v2/document", data={"source_lang": "DE", "target_lang": "EN"}, files=files)
    number, key = started.json()["document_id"], {"document_key": started.json()["document_key"]}
    assert httpx.post(f"{server.url}/v2/document/{number}", data=key).json()["status"] == "translating"
    assert httpx.post(f"{server.url}/v2/document/{number}/result", data=key).status_code == 503
    fake.gate.set()
    while httpx.post(f"{server.url}/v2/document/{number}", data=key).json()["status"] != "done":
        time.sleep(0.01)
    result = httpx.post(f"{server.url}/v2/document/{number}/result", json=key)
    assert result.text == "en[Ein Hund.]\nen[Eine Frau.]\n"
    assert httpx.post(f"{server.url}/v2/document/{number}", data={"document_key": "é"}).status_code == 404


def test_documents_are_kept_from_the_end_of_their_translation(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.serving.deepl.LIFETIME", 1.0)
    fake = server.fakes["de-en"]
    fake.gate.clear()
    data = {"source_lang": "DE", "target_lang": "EN"}
    started = httpx.post(f"{server.url}/v2/document", data=data, files={"file": ("a.txt", b"Ein Hund.")}).json()
    url, key = f"{server.url}/v2/document/{started['document_id']}", {"document_key": started["document_key"]}
    time.sleep(1.2)
    assert httpx.post(url, data=key).json()["status"] == "translating"
    fake.gate.set()
    statuses = []
    while (reply := httpx.post(url, data=key)).status_code == 200:
        statuses.append(reply.json()["status"])
        time.sleep(0.05)
    assert (reply.status_code, statuses[-1]) == (404, "done")


def test_a_document_that_cannot_be_translated_has_an_error(server: Running) -> None:
    data = {"source_lang": "DE", "target_lang": "EN"}
    started = httpx.post(f"{server.url}/v2/document", data=data, files={"file": ("a.exe", b"MZ")}).json()
    url, key = f"{server.url}/v2/document/{started['document_id']}", {"document_key": started["document_key"]}
    while (state := httpx.post(url, data=key).json())["status"] == "translating":
        time.sleep(0.01)
    assert state["status"] == "error"
    assert "not supported" in state["message"]
    assert httpx.post(f"{url}/result", data=key).status_code == 404


def test_named_tags_are_copied_or_end_sentences(server: Running) -> None:
    body: dict[str, Any] = {
        "text": ["Ein <x>Hund</x> läuft <y>Eine Frau"],
        "source_lang": "DE",
        "target_lang": "EN",
        "tag_handling": "xml",
    }

    def translated(**tags: object) -> str:
        reply = httpx.post(f"{server.url}/v2/translate", json=body | tags).json()
        return str(reply["translations"][0]["text"])

    assert translated().count("en[") == 1
    assert translated(splitting_tags=["y"]).count("en[") == 2
    assert translated(splitting_tags="x,y").count("en[") == translated(splitting_tags=["x", "y"]).count("en[") == 4
    assert translated(splitting_tags=["y"], non_splitting_tags=["y"]) == translated()
    assert "<x>Hund</x>" in translated(ignore_tags=["x"])
    numbered = translated(text=["<0>Hund</0> & <1>Katze</1>"], ignore_tags=["1"])
    assert re.fullmatch(r"<0>en\[Hund</0> &amp; <1>Katze</1>\]|en\[<0>Hund</0> &amp; <1>Katze</1>\]", numbered), (
        numbered
    )
    for wrong in {"non_splitting_tags": "p", "tag_handling": "html"}, {"tag_handling": "yaml"}:
        assert httpx.post(f"{server.url}/v2/translate", json=body | wrong).status_code == 400


def test_elements_of_xml_without_text_beside_them_end_sentences(server: Running) -> None:
    xml = "<doc><name>Ein Hund</name><note>Der <x>Hund</x> läuft</note></doc>"
    body = {"text": [xml], "source_lang": "DE", "target_lang": "EN", "tag_handling": "xml"}

    def sentences(**settings: object) -> int:
        reply = httpx.post(f"{server.url}/v2/translate", json=body | settings).json()
        return str(reply["translations"][0]["text"]).count("en[")

    assert sentences() == 2
    assert sentences(text=[f'<?xml version="1.0"?><!DOCTYPE doc>{xml}']) == 2
    start = "\ufeff<?xml version='1.0' encoding='ISO-8859-1'?><!-- Ä --><!DOCTYPE doc [<!ELEMENT doc (name, note)>]>"
    assert sentences(text=[f"{start}{xml}"]) == 2
    assert sentences(text=[xml.replace("<doc>", '<doc xmlns="urn:x">')]) == 2
    assert sentences(text=[xml.replace("name", "Größe")]) == 2
    assert sentences(text=[xml.replace("name>", "other:name>").replace("Ein ", "Ein&nbsp;")]) == 2
    assert sentences(text=["<doc><code>Ein</code> <hi>Hund</hi></doc>"]) == 1, "these are inline everywhere"
    assert sentences(text=[xml.replace("<doc>", "<doc><script/>").replace("name", "source")]) == 2
    assert sentences(ignore_tags=["name"]) == 1, "an ignored element stays in its sentence"
    assert sentences(outline_detection=False) == sentences(outline_detection="0") == 1
    assert sentences(tag_handling="html") == 1, "unknown elements of HTML are inline"
    assert sentences(non_splitting_tags=["name", "note"]) == 1
    assert sentences(text=[xml.removesuffix("</doc>")]) == 1, "only well-formed XML has an outline"
    entities = {"text": [f"<!DOCTYPE doc [<!ENTITY e 'x'>]>{xml}"]}
    assert httpx.post(f"{server.url}/v2/translate", json=body | entities).status_code == 400


def test_the_time_of_a_request_does_not_grow_with_its_languages(start_server: StartServer) -> None:
    pairs = ["de-en", "fr-en", "es-en", "it-en"]
    running = start_server(pairs, seconds=0.6)

    async def detect_each(texts: Any, text_format: str = "text", target: Any = None) -> list[tuple[str, float]]:
        return [(pair[:2], 1.0) for pair in pairs]

    running.service.detect_each = detect_each  # type: ignore[method-assign]
    for fake in running.fakes.values():
        fake.seconds = 0.4
    body = {"text": ["Ein Hund.", "Un chien.", "Un perro.", "Un cane."], "target_lang": "EN"}
    reply = httpx.post(f"{running.url}/v2/translate", json=body, timeout=30)
    assert reply.status_code == 503
    assert "longer than 0.6 seconds" in reply.text, "which each language alone is not"
