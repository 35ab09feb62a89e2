"""Glossaries of DeepL's protocol: by the official client, each for its own key, and with a real translator."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import deepl
import httpx
import pytest
from running_server import Running, StartServer

from dragoman.serving.errors import RequestError
from dragoman.serving.models import ModelOptions, load_models
from dragoman.serving.storage import GlossaryStore
from dragoman.text import word_forms
from dragoman.text.glossary import Glossary
from dragoman.text.term_matcher import CheckedTerm, contains_term

ENTRIES = {"Hund": "hound", "kleine Frau": "short lady"}


@pytest.fixture
def client(server: Running) -> Iterator[deepl.DeepLClient]:
    yield deepl.DeepLClient("any key", server_url=server.url, send_platform_info=False)
    logging.getLogger("deepl").handlers.clear()


def test_the_official_client(client: deepl.DeepLClient, server: Running, tmp_path: Path) -> None:
    made = client.create_glossary("animals", "DE", "EN-US", ENTRIES)
    assert (made.name, made.ready, made.entry_count) == ("animals", True, 2)
    assert (made.source_lang, made.target_lang) == ("DE", "EN")
    assert client.get_glossary(made.glossary_id).creation_time == made.creation_time
    assert made.glossary_id in [each.glossary_id for each in client.list_glossaries()]
    assert client.get_glossary_entries(made) == ENTRIES
    assert ("de", "en") in [(pair.source_lang, pair.target_lang) for pair in client.get_glossary_languages()]

    texts = ["Ein Hund.", "Eine Katze."]
    results = client.translate_text(texts, source_lang="DE", target_lang="EN-US", glossary=made)
    assert isinstance(results, list)
    assert [each.text for each in results] == ["en[Ein hound.]", "en[Eine Katze.]"]
    letter, translated = tmp_path / "brief.txt", tmp_path / "letter.txt"
    letter.write_text("Ein Hund.\n")
    client.translate_document_from_filepath(letter, translated, source_lang="DE", target_lang="EN-US", glossary=made)
    assert translated.read_text() == "en[Ein hound.]\n"

    client.delete_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary(made.glossary_id)
    with pytest.raises(deepl.DeepLException, match="Glossary not found"):
        client.translate_text("Ein Hund.", source_lang="DE", target_lang="EN-US", glossary=made.glossary_id)
    (plain,) = client.translate_text(["Ein Hund."], source_lang="DE", target_lang="EN-US")  # type: ignore[misc]
    assert plain.text == "en[Ein Hund.]"


def test_the_official_client_with_languages_that_have_variants(start_server: StartServer) -> None:
    server = start_server(pairs=("de-pt-BR", "de-zh-Hans"))
    client = deepl.DeepLClient("any key", server_url=server.url, send_platform_info=False)
    for target in ("PT-BR", "ZH-HANS"):
        glossary = client.create_glossary("Tiere", "DE", target, {"Hund": "cão"})
        translated = client.translate_text("Ein Hund.", source_lang="DE", target_lang=target, glossary=glossary)
        assert "Ein cão." in str(translated)
        assert client.get_glossary_entries(glossary) == {"Hund": "cão"}


def test_csv_and_errors(client: deepl.DeepLClient) -> None:
    made = client.create_glossary_from_csv("animals", "DE", "EN", 'Hund,"hound, big",de,en\nKatze,cat\n')
    assert client.get_glossary_entries(made) == {"Hund": "hound, big", "Katze": "cat"}
    spaced = client.create_glossary_from_csv("spaces", "DE", "EN", '"großer\nHund","big\thound"\n')
    assert client.get_glossary_entries(spaced) == {"großer Hund": "big hound"}
    with pytest.raises(
        deepl.DeepLException, match="row 2: expected a term, a comma and its translation, not 'Katze cat'"
    ):
        client.create_glossary_from_csv("tabs", "DE", "EN", "Hund,hound\nKatze\tcat\n")
    with pytest.raises(deepl.DeepLException, match="Hund: dog in row 1, hound in row 3"):
        client.create_glossary_from_csv("contradiction", "DE", "EN", "Hund,dog\n,\nHund,hound\n")
    with pytest.raises(deepl.DeepLException, match="control character"):
        client.create_glossary_from_csv("controls", "DE", "EN", "Hund,hou\x1bnd\n")
    with pytest.raises(deepl.DeepLException, match="Hund: dog in line 1, hound in line 2"):
        client.create_glossary("contradiction", "DE", "EN", {"Hund": "dog", "Hund ": "hound"})
    with pytest.raises(deepl.DeepLException, match="FR is not supported"):
        client.create_glossary("French", "FR", "EN", ENTRIES)
    with pytest.raises(deepl.DeepLException, match="from de to en, and one model"):
        client.translate_text("Ein Hund.", source_lang="DE", target_lang="ES", glossary=made.glossary_id)


@pytest.mark.parametrize("entries_format", ["tsv", "csv"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_only_line_ends_separate_terms(server: Running, entries_format: str, line_end: str) -> None:
    headers = {"Authorization": "DeepL-Auth-Key k"}
    separator = {"tsv": "\t", "csv": ","}[entries_format]
    terms = [("Hund\u2028dog", "hound"), ("Katze\x85", "cat"), ("Maus", "a\x0cb"), ("Kuh", "cow")]
    entries = line_end.join(separator.join(term) for term in terms)
    body = {"name": "n", "source_lang": "de", "target_lang": "en", "entries_format": entries_format, "entries": entries}
    made = httpx.post(f"{server.url}/v2/glossaries", json=body, headers=headers)
    assert (made.status_code, made.json().get("entry_count")) == (201, len(terms)), made.text


def test_the_reply_names_the_used_terms(server: Running) -> None:
    headers = {"Authorization": "DeepL-Auth-Key k"}
    body = {"name": "n", "source_lang": "de", "target_lang": "en", "entries_format": "tsv", "entries": "Hund\thound"}
    made = httpx.post(f"{server.url}/v2/glossaries", json=body, headers=headers)
    assert made.status_code == 201
    request = {"text": ["Ein Hund.", "Eine Katze."], "source_lang": "DE", "target_lang": "EN"}
    chosen = request | {"glossary_id": made.json()["glossary_id"]}
    first, second = httpx.post(f"{server.url}/v2/translate", json=chosen, headers=headers).json()["translations"]
    assert first["terms"] == [{"source": "Hund", "target": "hound", "used": "exactly"}]
    assert "terms" not in second
    for path, sent in (("/v2/translate", chosen), ("/v2/glossaries", body)):
        assert httpx.post(f"{server.url}{path}", json=sent).status_code == 403


def test_dictionaries_are_read_when_a_glossary_is_created(client: deepl.DeepLClient) -> None:
    word_forms._dictionary.cache_clear()
    word_forms.form_finder.cache_clear()
    client.create_glossary("animals", "DE", "EN", ENTRIES)
    deadline = time.monotonic() + 60
    while not word_forms._dictionary.cache_info().currsize:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_keys_see_only_their_own_glossaries(start_server: StartServer) -> None:
    server = start_server(require_keys=True, glossaries=2)
    alice, bob = (
        deepl.DeepLClient(server.service.keys.add(name), server_url=server.url, send_platform_info=False)
        for name in ("alice", "bob")
    )
    made = alice.create_glossary("animals", "DE", "EN", ENTRIES)
    assert bob.list_glossaries() == []
    for use in (bob.get_glossary, bob.get_glossary_entries, bob.delete_glossary):
        with pytest.raises(deepl.GlossaryNotFoundException):
            use(made.glossary_id)
    bob.create_glossary("animals", "DE", "EN", ENTRIES)
    with pytest.raises(deepl.DeepLException, match="too many glossaries"):
        bob.create_glossary("more animals", "DE", "EN", ENTRIES)
    with pytest.raises(deepl.AuthorizationException):
        deepl.DeepLClient("wrong", server_url=server.url).list_glossaries()
    logging.getLogger("deepl").handlers.clear()


def test_one_client_cannot_use_all_glossaries(start_server: StartServer) -> None:
    """Also if the server requires no keys, so that a client may have any number of them."""
    server = start_server(glossaries=5, glossaries_per_client=2)

    def create(key: str, address: str = "192.0.2.1") -> int:
        headers = {"Authorization": f"DeepL-Auth-Key {key}", "X-Forwarded-For": address}
        languages = {"source_lang": "de", "target_lang": "en", "entries_format": "tsv", "entries": "Hund\thound"}
        reply = httpx.post(f"{server.url}/v2/glossaries", json={"name": "n", **languages}, headers=headers)
        assert reply.status_code == 201 or "too many glossaries" in reply.json()["message"]
        return reply.status_code

    assert [create("a"), create("b"), create("c"), create("a")] == [201, 201, 400, 400]
    assert [create("d", "2001:db8::1"), create("e", "2001:db8::2"), create("f", "2001:db8::3")] == [201, 201, 400]
    key = server.service.keys.add("alice")
    assert [create(key), create(key)] == [201, 400], "the limit of all clients"


def test_files_of_older_versions_count(tmp_path: Path) -> None:
    path, glossary = tmp_path / "glossaries.sqlite3", Glossary.parse(["Hund\thound"])
    with closing(sqlite3.connect(path)) as database, database:
        columns = (
            "number TEXT PRIMARY KEY, owner TEXT, name TEXT, source TEXT, target TEXT, created TEXT, terms INTEGER"
        )
        database.execute(f"CREATE TABLE glossaries ({columns}, lines TEXT)")
        database.execute("INSERT INTO glossaries VALUES ('n', 'alice', 'old', 'de', 'en', '', 1, 'Hund	dog')")
    store = GlossaryStore(path, 10, 2)
    store.add("alice", "address", "new", ("de", "en"), glossary)
    assert [each.name for each in store.all("alice")] == ["old", "new"]
    with pytest.raises(RequestError, match="too many"):
        store.add("alice", "another address", "new", ("de", "en"), glossary)


def test_glossaries_survive_a_restart_and_damage_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, glossary = tmp_path / "state" / "glossaries.sqlite3", Glossary.parse(["Hund\thound"])
    made = GlossaryStore(path, 10, 10).add("alice", "address", "animals", ("de", "en"), glossary)
    again = GlossaryStore(path, 10, 10)
    assert again.all("alice") == [made]
    assert again.find("alice", made.number).glossary().terms == glossary.terms
    assert path.stat().st_mode & 0o077 == 0
    path.write_bytes(b"damaged" * 1000)
    with pytest.raises(RequestError, match="cannot read"):
        again.all("alice")
    assert "file is not a database" in caplog.text


def test_a_real_translator_uses_the_terms(finished_run: Path) -> None:
    from dragoman.documents.segment import Segment, with_glossary

    (model,) = load_models([finished_run], ModelOptions(engine="ctranslate2", compute_type="int8")).models
    glossary = Glossary.parse(["Hund\tWauwau"])
    segments = with_glossary([Segment("Ein Hund läuft."), Segment("Ein Mann.")], glossary)
    with_term, without = model.translate(segments)
    assert contains_term(with_term.text, "Wauwau")
    assert [each.terms for each in (with_term, without)] == [[CheckedTerm("Hund", "Wauwau", "exactly")], []]
