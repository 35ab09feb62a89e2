"""LibreTranslate's protocol: every way to send a request, every reply, every error."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from running_server import Running, StartServer

TEXT = {"q": "Ein Hund läuft.", "source": "de", "target": "en"}
FORM = {"content-type": "application/x-www-form-urlencoded"}
ANSWER = "en[Ein Hund läuft.]"


@pytest.mark.parametrize(
    "sent",
    [
        {"json": TEXT},
        {"data": TEXT},
        {"files": {name: (None, value) for name, value in TEXT.items()}},
        {"params": TEXT},
        {"content": "q=Ein Hund läuft.&source=de&target=en".encode(), "headers": FORM},
        {"json": TEXT | {"source": "DE", "target": "en-US"}},
        {"json": TEXT | {"format": "text", "api_key": ""}},
    ],
    ids=["JSON", "form", "multipart", "query", "form in UTF-8", "capitals and regions", "empty key"],
)
def test_requests_are_read_wherever_the_client_puts_them(server: Running, sent: dict[str, Any]) -> None:
    reply = httpx.post(f"{server.url}/translate", **sent)
    assert reply.status_code == 200
    assert reply.json()["translatedText"] == ANSWER
    assert reply.json()["detectedLanguage"]["language"] == "de"


def test_a_list_has_a_reply_for_each_text(server: Running) -> None:
    texts = ["Ein Hund.", "", "😀", "Ein Mann. Eine Frau.", "Ein Hund."]
    reply = httpx.post(f"{server.url}/translate", json=TEXT | {"q": texts, "alternatives": 2}).json()
    assert reply["translatedText"] == ["en[Ein Hund.]", "", "😀", "en[Ein Mann.] en[Eine Frau.]", "en[Ein Hund.]"]
    assert [len(each) for each in reply["alternatives"]] == [2, 0, 0, 2, 2]
    assert reply["alternatives"][3] == ["en2[Ein Mann.] en2[Eine Frau.]", "en3[Ein Mann.] en3[Eine Frau.]"]
    assert len(reply["detectedLanguage"]) == len(texts)


def test_alternatives_are_in_the_reply_only_if_requested(server: Running) -> None:
    assert "alternatives" not in server.translate("Ein Hund.").json()
    reply = httpx.post(f"{server.url}/translate", json=TEXT | {"alternatives": "1"}).json()
    assert reply["alternatives"] == ["en2[Ein Hund läuft.]"]


def test_two_models_are_combined_and_the_reply_names_the_language_between(server: Running) -> None:
    reply = server.translate("Ein Hund.", "de", "es").json()
    assert (reply["translatedText"], reply["pivot"]) == ("es[en[Ein Hund.]]", "en")
    assert "pivot" not in server.translate("Ein Hund.").json()


def test_the_language_that_html_states_does_not_matter(server: Running) -> None:
    html = {"q": '<p lang="fr">Ein Hund.</p>', "format": "html"}
    reply = httpx.post(f"{server.url}/translate", json=TEXT | html | {"target": "es"}).json()
    assert reply["translatedText"] == '<p lang="fr">es[en[Ein Hund.]]</p>'
    many = html | {"q": '<p lang="fr">Ein Mann und eine Frau sehen einen Hund.</p>'}
    assert (
        httpx.post(f"{server.url}/detect", json=many).json()
        == httpx.post(f"{server.url}/detect", json={"q": "Ein Mann und eine Frau sehen einen Hund."}).json()
    )


def test_text_in_the_target_language_is_returned(server: Running) -> None:
    assert server.translate("A dog.", "en", "en").json()["translatedText"] == "A dog."


ERRORS: list[tuple[dict[str, Any], int, str]] = [
    ({}, 400, "Invalid request: missing q parameter"),
    ({"q": []}, 400, "Invalid request: missing q parameter"),
    ({"q": "a"}, 400, "Invalid request: missing source parameter"),
    ({"q": "a", "source": "de"}, 400, "Invalid request: missing target parameter"),
    (TEXT | {"source": "zz"}, 400, "zz is not supported; languages: de, en, es"),
    (TEXT | {"target": "zz"}, 400, "zz is not supported; languages: de, en, es"),
    (
        TEXT | {"source": "en", "target": "de"},
        400,
        "German (de) is not available as a target language from English (en); targets: es",
    ),
    (TEXT | {"format": "xyz"}, 400, "xyz format is not supported"),
    (TEXT | {"format": 5}, 400, "Invalid request: format must be a string"),
    (TEXT | {"source": ["de"]}, 400, "Invalid request: source must be a string"),
    (TEXT | {"q": "a" * 101}, 400, "Invalid request: request (101) exceeds text limit (100)"),
    (TEXT | {"q": ["a"] * 6}, 400, "Invalid request: request (6) exceeds list limit (5)"),
    (TEXT | {"alternatives": "many"}, 400, "Invalid request: alternatives parameter is not a number"),
    (TEXT | {"alternatives": True}, 400, "Invalid request: alternatives parameter is not a number"),
    (TEXT | {"alternatives": 1.5}, 400, "Invalid request: alternatives parameter is not a number"),
    (TEXT | {"alternatives": 4}, 400, "Invalid request: alternatives parameter must be <= 3"),
    (TEXT | {"q": ["a", 3]}, 400, "Invalid request: q must be a string or a list of strings"),
    (TEXT | {"q": {"a": 3}}, 400, "Invalid request: q must be a string or a list of strings"),
]


@pytest.fixture(scope="module")
def small_server(start_server: StartServer) -> Running:
    return start_server(characters=100, queue_tokens=100, list_length=5)


@pytest.mark.parametrize(("request_body", "status", "message"), ERRORS, ids=[message for *_, message in ERRORS])
def test_wrong_requests_get_a_message(
    small_server: Running, request_body: dict[str, Any], status: int, message: str
) -> None:
    reply = httpx.post(f"{small_server.url}/translate", json=request_body)
    assert (reply.status_code, reply.json()) == (status, {"error": message})


@pytest.mark.parametrize("content", [b"{", b"[]", b'"text"', b"\xff", b"[" * 100_000, rb'{"q": "\ud800"}'])
def test_invalid_json_gets_a_message(server: Running, content: bytes) -> None:
    reply = httpx.post(f"{server.url}/translate", content=content, headers={"content-type": "application/json"})
    assert (reply.status_code, reply.json()) == (400, {"error": "Invalid JSON format"})


def test_an_invalid_form_gets_a_message(server: Running) -> None:
    headers = {"content-type": "multipart/form-data; boundary=x"}
    assert httpx.post(f"{server.url}/translate", content=b"--y\r\n", headers=headers).status_code == 400
    headers = {"content-type": "multipart/form-data"}
    assert httpx.post(f"{server.url}/translate", content=b"q=1", headers=headers).status_code == 400


def test_a_query_that_is_no_utf8_gets_a_message(server: Running) -> None:
    reply = httpx.post(f"{server.url}/translate?q=%ff&source=de&target=en")
    assert (reply.status_code, reply.json()) == (400, {"error": "Invalid query"})


@pytest.mark.parametrize("path", ["/translate", "/detect", "/suggest", "/translate_file"])
def test_a_wrong_method_is_405(server: Running, path: str) -> None:
    assert httpx.get(f"{server.url}{path}").status_code == 405
    assert "error" in httpx.get(f"{server.url}{path}").json()


def test_unknown_paths_are_404(server: Running) -> None:
    assert httpx.get(f"{server.url}/nothing").status_code == 404


def test_keys(start_server: StartServer) -> None:
    locked = start_server(require_keys=True)
    key = locked.service.keys.add("alice")
    missing = httpx.post(f"{locked.url}/translate", json=TEXT)
    assert (missing.status_code, missing.json()["error"]) == (
        400,
        "Please contact the server operator to get an API key",
    )
    wrong = httpx.post(f"{locked.url}/translate", json=TEXT | {"api_key": key[:-1]})
    assert (wrong.status_code, wrong.json()["error"]) == (403, "Invalid API key")
    with_key = TEXT | {"api_key": key}
    ways: list[dict[str, Any]] = [{"json": with_key}, {"params": with_key}, {"data": with_key}]
    for sent in ways:
        assert httpx.post(f"{locked.url}/translate", **sent).json()["translatedText"] == ANSWER
    assert httpx.get(f"{locked.url}/frontend/settings").json()["keyRequired"] is True


def test_languages_name_what_can_be_reached(server: Running) -> None:
    languages = httpx.request("GET", f"{server.url}/languages", json={}).json()
    assert {each["code"]: sorted(each["targets"]) for each in languages} == {
        "de": ["en", "es"],
        "en": ["es"],
        "es": ["en"],
    }
    assert {each["name"] for each in languages} == {"German", "English", "Spanish"}


def test_frontend_settings_have_every_key_that_clients_read(server: Running) -> None:
    settings = httpx.get(f"{server.url}/frontend/settings").json()
    assert settings.keys() == {
        "charLimit",
        "frontendTimeout",
        "apiKeys",
        "keyRequired",
        "suggestions",
        "filesTranslation",
        "supportedFilesFormat",
        "language",
    }


def test_health_is_exactly_what_other_programs_expect(server: Running) -> None:
    assert httpx.request("GET", f"{server.url}/health", json={"a": 1}).text == '{"status":"ok"}'
    assert httpx.get(f"{server.url}/health/live").status_code == 200
    assert httpx.get(f"{server.url}/health/ready").status_code == 200


def test_suggestions_are_off(server: Running) -> None:
    reply = httpx.post(f"{server.url}/suggest", data=TEXT | {"s": "A dog runs."})
    assert (reply.status_code, reply.json()["error"]) == (403, "Suggestions are disabled on this server.")


def test_files_come_back_under_names_that_nobody_can_guess(server: Running) -> None:
    content = "Ein Hund.\r\n\r\n  - Eine Frau. Ein Mann.\n"
    files = {"file": ("brief.txt", content.encode())}
    reply = httpx.post(f"{server.url}/translate_file", data={"source": "de", "target": "en"}, files=files)
    url = reply.json()["translatedFileUrl"]
    assert url.startswith(f"{server.url}/download_file/")
    assert len(url.rpartition("/")[2]) > 30
    download = httpx.get(url)
    assert download.text == "en[Ein Hund.]\r\n\r\n  - en[Eine Frau.] en[Ein Mann.]\n"
    assert 'filename="brief_en.txt"' in download.headers["content-disposition"]
    server.service.downloads.remove(url.rpartition("/")[2])
    assert httpx.get(url).status_code == 404
    assert httpx.get(f"{server.url}/download_file/..%2f..%2fetc%2fpasswd").status_code == 404


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.exe", b"MZ", "not supported"),
        ("a.txt", b"\x89PNG\r\n", "is "),
        ("", b"a", "empty file"),
        ("a.docx", b"PK", "a.docx"),
    ],
)
def test_wrong_files_get_a_message(server: Running, name: str, content: bytes, message: str) -> None:
    reply = httpx.post(
        f"{server.url}/translate_file", data={"source": "de", "target": "en"}, files={"file": (name, content)}
    )
    assert reply.status_code == 400
    assert message in reply.json()["error"]


def test_other_sites_may_use_the_server(server: Running) -> None:
    reply = httpx.post(f"{server.url}/translate", json=TEXT, headers={"origin": "https://example.org"})
    assert reply.headers["access-control-allow-origin"] == "*"


def test_the_specification_lists_operations_that_exist(server: Running) -> None:
    specification = httpx.get(f"{server.url}/spec").json()
    assert specification["swagger"] == "2.0"
    for path, operations in specification["paths"].items():
        for method in operations:
            assert httpx.request(method, f"{server.url}{path}").status_code not in (404, 405)


def test_languages_that_are_only_targets_are_listed(start_server: StartServer) -> None:
    languages = httpx.get(f"{start_server(('de-en',)).url}/languages").json()
    assert {each["code"]: each["targets"] for each in languages} == {"de": ["en"], "en": []}


def test_a_405_names_what_is_allowed(server: Running) -> None:
    for path in ("/translate", "/detect"):
        assert httpx.get(f"{server.url}{path}").headers["allow"] == "POST"


def test_the_documentation_is_the_specification(server: Running) -> None:
    assert httpx.get(f"{server.url}/docs", follow_redirects=True).json() == httpx.get(f"{server.url}/spec").json()


def test_a_list_that_is_nested_too_deeply_is_a_text(server: Running) -> None:
    text = "%5B%22a%22," + "%5B" * 5000
    parts = re.findall(r"en\[(.*?)\]", server.translate(text).json()["translatedText"])
    assert "".join(parts) == text  # a long text is divided


@pytest.mark.parametrize("q", ["%5B%22%5Cud800%22%5D", "%5B%22Ein Hund.%22, %22%5Cudc00%22%5D"])
def test_lone_surrogates_of_an_encoded_list_are_refused(start_server: StartServer, q: str) -> None:
    server = start_server(corrections=1)
    httpx.post(f"{server.url}/suggest", data=TEXT | {"s": "A dog runs."})
    for path in ("translate", "detect"):
        reply = httpx.post(f"{server.url}/{path}", data=TEXT | {"q": q})
        assert (reply.status_code, "q must be" in reply.text) == (400, True)
