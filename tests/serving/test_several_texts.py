"""Requests with several texts, in all protocols: none is lost, and each has its own language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from detectors import german_or_english
from running_server import Running, StartServer

GERMAN, ENGLISH = "Zwei Männer sehen einen Hund im Park.", "A man is reading a book in the park."
AMBIGUOUS = "Tom"
WORDLESS = "12:30"


@pytest.fixture(scope="module")
def detecting(start_server: StartServer) -> Running:
    running = start_server(["de-en", "en-de"])
    running.service.detector = german_or_english()
    return running


def libretranslate(server: Running, texts: list[str], target: str) -> list[tuple[str, str]]:
    body = {"q": texts, "source": "auto", "target": target}
    reply = httpx.post(f"{server.url}/translate", json=body, timeout=30).json()
    return list(zip((each["language"] for each in reply["detectedLanguage"]), reply["translatedText"], strict=True))


def repeated_fields(server: Running, texts: list[str], target: str) -> list[tuple[str, str]]:
    body = {"q": texts, "source": "auto", "target": target}
    reply = httpx.post(f"{server.url}/translate", data=body, timeout=30).json()
    return list(zip((each["language"] for each in reply["detectedLanguage"]), reply["translatedText"], strict=True))


def deepl(server: Running, texts: list[str], target: str) -> list[tuple[str, str]]:
    body = {"text": texts, "target_lang": target.upper()}
    reply = httpx.post(f"{server.url}/v2/translate", json=body, timeout=30).json()
    return [(each["detected_source_language"].lower(), each["text"]) for each in reply["translations"]]


PROTOCOLS = [libretranslate, repeated_fields, deepl]


@pytest.mark.parametrize("target", ["de", "en"])
@pytest.mark.parametrize("translate", PROTOCOLS)
@pytest.mark.parametrize("texts", [[GERMAN, ENGLISH], [ENGLISH, GERMAN], [GERMAN] * 5 + [ENGLISH], [GERMAN, GERMAN]])
def test_each_text_has_its_own_language(detecting: Running, texts: list[str], translate: Any, target: str) -> None:
    languages = ["de" if text == GERMAN else "en" for text in texts]
    translated = [
        text if language == target else f"{target}[{text}]" for text, language in zip(texts, languages, strict=True)
    ]
    assert translate(detecting, texts, target) == list(zip(languages, translated, strict=True))


@pytest.mark.parametrize("translate", PROTOCOLS)
def test_texts_that_show_no_language_have_that_of_the_others(detecting: Running, translate: Any) -> None:
    for others, language in (([GERMAN] * 3, "de"), ([ENGLISH] * 3, "en")):
        found = translate(detecting, [*others, AMBIGUOUS, WORDLESS], "de" if language == "en" else "en")
        assert [each for each, _ in found] == [language] * 5


FORM = {"content-type": "application/x-www-form-urlencoded"}
SENT: dict[str, Callable[[list[tuple[str, str]]], dict[str, Any]]] = {
    "form": lambda fields: {"content": str(httpx.QueryParams([*fields])), "headers": FORM},
    "multipart": lambda fields: {"files": [(name, (None, value)) for name, value in fields]},
    "query": lambda fields: {"params": fields},
}


@pytest.mark.parametrize("form", SENT)
def test_repeated_texts_are_a_list(detecting: Running, form: str) -> None:
    fields = [("q", GERMAN), ("source", "de"), ("q", ENGLISH), ("target", "en")]
    reply = httpx.post(f"{detecting.url}/translate", **SENT[form](fields)).json()
    assert reply["translatedText"] == [f"en[{GERMAN}]", f"en[{ENGLISH}]"]
    detected = httpx.post(f"{detecting.url}/detect", **SENT[form]([("q", GERMAN), ("q", ENGLISH)])).json()
    assert detected == httpx.post(f"{detecting.url}/detect", json={"q": [GERMAN, ENGLISH]}).json()
    assert detected != httpx.post(f"{detecting.url}/detect", json={"q": GERMAN}).json()
    fields = [("text", GERMAN), ("text", ENGLISH), ("target_lang", "EN"), ("source_lang", "DE")]
    reply = httpx.post(f"{detecting.url}/v2/translate", **SENT[form](fields)).json()
    assert [each["text"] for each in reply["translations"]] == [f"en[{GERMAN}]", f"en[{ENGLISH}]"]


@pytest.mark.parametrize("form", SENT)
@pytest.mark.parametrize(
    ("path", "fields", "name"),
    [
        ("/json/translate", [("langpair", "de|en"), ("q", GERMAN), ("q", ENGLISH)], "q"),
        ("/translate", [("langpair", "de|en"), ("q", GERMAN), ("q", ENGLISH)], "q"),
        ("/page/translate", [("source", "de"), ("target", "en"), ("q", GERMAN), ("q", ENGLISH)], "q"),
        ("/translate", [("q", GERMAN), ("source", "de"), ("target", "en"), ("target", "de")], "target"),
        ("/v2/translate", [("text", GERMAN), ("target_lang", "EN"), ("target_lang", "DE")], "target_lang"),
    ],
)
def test_other_repeated_parameters_are_refused(
    detecting: Running, path: str, fields: list[tuple[str, str]], name: str, form: str
) -> None:
    if path == "/translate" and name == "q":  # Apertium's is read with GET
        reply = httpx.get(f"{detecting.url}{path}", params=httpx.QueryParams([*fields]))
    else:
        reply = httpx.post(f"{detecting.url}{path}", **SENT[form](fields))
    assert (reply.status_code, f"{name} is repeated" in reply.text) == (400, True)


def test_parameters_in_the_body_and_the_query_must_be_equal(detecting: Running) -> None:
    body = {"q": GERMAN, "source": "de", "target": "en"}
    sent: list[dict[str, Any]] = [{"json": body}, {"data": body}]
    for form in sent:
        for name, value in body.items():
            reply = httpx.post(f"{detecting.url}/translate", **form, params={name: value, "x": "y"})
            assert reply.json()["translatedText"] == f"en[{GERMAN}]"
            reply = httpx.post(f"{detecting.url}/translate", **form, params={name: f"{value} x"})
            assert (reply.status_code, f"{name} is repeated" in reply.text) == (400, True)
    equal = httpx.QueryParams([("q", GERMAN), ("source", "de"), ("source", "de"), ("target", "en")])
    assert httpx.post(f"{detecting.url}/translate", params=equal).json()["translatedText"] == f"en[{GERMAN}]"
