"""Uploaded files: their language, how many are translated and stored at once, and what stays of them."""

from __future__ import annotations

import asyncio
import errno
import io
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from detectors import german_or_english
from running_server import Running, StartServer

from dragoman.documents.formats import open_document
from dragoman.errors import UserError
from dragoman.serving import documents
from dragoman.serving.downloads import Downloads
from dragoman.settings.serving import Serving

GERMAN = "Eine Frau liest ein Buch im Park. Ein Hund läuft über die Wiese."
EPUB = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="c.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
    "c.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml" '
    'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
    "a.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{GERMAN}</p></body></html>',
}
DOCX = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    "word/document.xml": '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    f"<w:p><w:r><w:t>{GERMAN}</w:t></w:r></w:p></w:body></w:document>",
}


def archive(files: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archived:
        for name, content in files.items():
            archived.writestr(name, content)
    return data.getvalue()


def send(running: Running, name: str = "brief.txt", data: bytes = GERMAN.encode(), **fields: str) -> httpx.Response:
    fields = {"source": "de", "target": "en", **fields}
    return httpx.post(f"{running.url}/translate_file", data=fields, files={"file": (name, data)}, timeout=30)


def send_to_deepl(running: Running, name: str = "brief.txt", data: bytes = GERMAN.encode(), **fields: str) -> Any:
    fields = {"target_lang": "EN", **fields}
    return httpx.post(f"{running.url}/v2/document", data=fields, files={"file": (name, data)}, timeout=30)


def wait_for_state(running: Running, reply: httpx.Response) -> tuple[str, dict[str, str], dict[str, Any]]:
    """The address of a document, its key, and its state when it is no longer being translated."""
    started = reply.json()
    url, key = f"{running.url}/v2/document/{started['document_id']}", {"document_key": started["document_key"]}
    while (state := httpx.post(url, data=key).json())["status"] == "translating":
        time.sleep(0.01)
    return url, key, state


@pytest.fixture(scope="module")
def detecting(start_server: StartServer) -> Running:
    running = start_server()
    running.service.detector = german_or_english()
    return running


@pytest.mark.parametrize(("name", "files"), [("a.docx", DOCX), ("a.epub", EPUB)])
def test_the_language_of_an_archive_is_that_of_its_text(detecting: Running, name: str, files: dict[str, str]) -> None:
    data = archive(files)
    reply = send(detecting, name, data, source="auto")
    assert reply.status_code == 200, reply.text
    translated = httpx.get(reply.json()["translatedFileUrl"]).content
    url, key, _ = wait_for_state(detecting, send_to_deepl(detecting, name, data))
    for content in (translated, httpx.post(f"{url}/result", data=key).content):
        with zipfile.ZipFile(io.BytesIO(content)) as archived:
            assert "en[Eine Frau liest ein Buch im Park.]" in archived.read(list(files)[-1]).decode()


def test_a_file_in_no_known_language_gets_a_message(detecting: Running) -> None:
    data = "Собака бежит по лугу.".encode()
    message = "The language of the file was not recognized; choose it."
    reply = send(detecting, data=data, source="auto")
    assert (reply.status_code, reply.json()["error"]) == (400, message)
    assert wait_for_state(detecting, send_to_deepl(detecting, data=data))[2]["message"] == message


@pytest.mark.parametrize("name", ["a.exe", f"a.{'x' * 3000}", "a.docx"], ids=["program", "long suffix", "no archive"])
def test_files_in_the_target_language_are_opened_too(detecting: Running, name: str) -> None:
    reply = send(detecting, name, b"MZ", source="en")
    assert reply.status_code == 400
    assert send(detecting, "a.txt", b"A dog.", source="en").status_code == 200


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.po", 'msgid ""\nmsgstr "Language: en\\n"\n\nmsgid "Hund"\nmsgstr "dog"\n'),
        ("a.txt", "123\n456\n"),
        ("a.json", "{}"),
        ("a.html", "<p>123</p>"),
    ],
)
def test_a_file_without_anything_to_translate_stays_as_it_is(detecting: Running, name: str, data: str) -> None:
    reply = send(detecting, name, data.encode(), source="auto")
    assert reply.status_code == 200, reply.text
    assert httpx.get(reply.json()["translatedFileUrl"]).text == data


def test_no_more_files_than_allowed_are_translated_at_once(start_server: StartServer) -> None:
    running = start_server(documents=1)
    running.fakes["de-en"].gate.clear()
    first = send_to_deepl(running, source_lang="DE")
    assert first.status_code == 200
    assert send_to_deepl(running, source_lang="DE").status_code == 503
    assert send(running).status_code == 503
    running.fakes["de-en"].gate.set()
    assert wait_for_state(running, first)[2]["status"] == "done"
    assert send(running).status_code == 200


def test_a_file_whose_thread_still_runs_counts(start_server: StartServer, monkeypatch: pytest.MonkeyPatch) -> None:
    running, gate = start_server(documents=1, document_seconds=0.2), threading.Event()

    def open_slowly(*arguments: Any) -> Any:
        gate.wait(30)
        return open_document(*arguments)

    monkeypatch.setattr(documents, "open_document", open_slowly)
    assert "took longer" in send(running).json()["error"]
    assert "too many files" in send(running).json()["error"]
    gate.set()
    deadline = time.monotonic() + 60
    while send(running).status_code != 200:
        assert time.monotonic() < deadline


def test_nothing_but_a_message_stays_of_a_failed_upload(detecting: Running) -> None:
    reply = send_to_deepl(detecting, "a.exe", b"MZ", source_lang="DE")
    assert wait_for_state(detecting, reply)[2]["status"] == "error"
    document = detecting.service.uploads[reply.json()["document_id"]]
    assert all(isinstance(value, str | bool) for value in vars(document).values())
    assert not detecting.service.tasks


def test_one_client_cannot_use_the_whole_disk(start_server: StartServer) -> None:
    running = start_server(stored_bytes=4 * 2 * 65_536)
    assert [send(running).status_code for _ in range(3)] == [200, 200, 429]
    key = running.service.keys.add("alice")
    assert send(running, api_key=key).status_code == 200
    running.service.downloads.remove(running.service.downloads.files()[0].name)


@pytest.mark.parametrize(("number", "status"), [(errno.ENOSPC, 507), (errno.EACCES, 500)])
def test_only_a_full_disk_is_called_full(
    detecting: Running, monkeypatch: pytest.MonkeyPatch, number: int, status: int
) -> None:
    def fail(path: Path, data: bytes) -> int:
        raise OSError(number, "no")

    monkeypatch.setattr(Path, "write_bytes", fail)
    reply = send(detecting)
    assert (reply.status_code, "disk is full" in reply.json()["error"]) == (status, status == 507)


def test_a_server_that_is_stopped_first_finishes_documents(start_server: StartServer) -> None:
    running = start_server()
    fake = running.fakes["de-en"]
    fake.gate.clear()
    reply = send_to_deepl(running, source_lang="DE")
    assert httpx.get(f"{running.url}/health/ready").status_code == 200
    running.server.should_exit = True
    time.sleep(0.3)
    assert httpx.get(f"{running.url}/health/ready").status_code == 503
    fake.gate.set()
    url, key, _ = wait_for_state(running, reply)
    assert httpx.post(f"{url}/result", data=key).text.startswith("en[")
    running.thread.join(5)
    assert not running.thread.is_alive()


def test_a_file_may_have_exactly_as_many_bytes_as_allowed(start_server: StartServer) -> None:
    running, data = start_server(file_bytes=1000), b"Ein Hund. " * 100
    for path in (send, send_to_deepl):
        assert path(running, data=data).status_code == 200
        assert path(running, data=data + b".").status_code == 413


def test_spaces_around_the_name_of_a_file_are_ignored(start_server: StartServer) -> None:
    assert send(start_server(), name=" brief.txt ").status_code == 200


def test_a_file_that_is_gone_is_not_found(start_server: StartServer) -> None:
    running = start_server()
    link = send(running).json()["translatedFileUrl"]
    assert httpx.get(link).status_code == 200
    (path,) = running.service.downloads.files()
    path.unlink()
    assert httpx.get(link).status_code == 404


def test_links_have_the_public_address(start_server: StartServer) -> None:
    running = start_server(public_url="https://example.org/tools/")
    files, fields = {"file": ("a.txt", GERMAN.encode())}, {"source": "de", "target": "en"}
    foreign = {"Host": "evil.example"}
    reply = httpx.post(f"{running.url}/translate_file", data=fields, files=files, headers=foreign, timeout=30)
    link = reply.json()["translatedFileUrl"]
    (path,) = running.service.downloads.files()
    assert link == f"https://example.org/tools/download_file/{path.name}"


@pytest.mark.parametrize("address", ["example.org", "javascript:alert(1)", "https://", "https://a b", "https://a?b"])
def test_a_public_address_must_be_one(address: str) -> None:
    with pytest.raises(UserError, match="public_url"):
        Serving(public_url=address)


def test_files_of_a_server_that_was_killed_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    program = (
        "import asyncio, os, signal, tempfile; from dragoman.serving.downloads import Downloads;"
        f"tempfile.tempdir = {str(tmp_path)!r}; files = Downloads(10**6);"
        "asyncio.run(files.add(b'secret', 'a.txt', 'a')); os.kill(os.getpid(), signal.SIGKILL)"
    )
    running = Downloads(10**6)
    token = asyncio.run(running.add(b"kept", "b.txt", "b"))
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode < 0
    assert len(list(tmp_path.rglob("*.txt"))) == 2
    other = Downloads(10**6)
    assert [path.read_bytes() for path in tmp_path.rglob("*.txt")] == [b"kept"]
    other.close()
    assert running.get(token).path.exists()
    running.close()
    assert not list(tmp_path.iterdir())


def test_a_file_whose_request_is_cancelled_while_it_is_written_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    started, gate, write_bytes = threading.Event(), threading.Event(), Path.write_bytes

    def write_slowly(path: Path, data: bytes) -> int:
        started.set()
        gate.wait(30)
        return write_bytes(path, data)

    async def cancel(downloads: Downloads) -> None:
        adding = asyncio.create_task(downloads.add(b"x", "a.txt", "client"))
        await asyncio.to_thread(started.wait, 30)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        gate.set()  # asyncio.run waits for its threads

    monkeypatch.setattr(Path, "write_bytes", write_slowly)
    downloads = Downloads(10**6)
    asyncio.run(cancel(downloads))
    assert downloads.files() == []
    downloads.require_room("client", 10**6)
    downloads.close()


def test_the_content_of_all_files_in_work_is_limited(start_server: StartServer) -> None:
    running = start_server(documents_bytes=3000)
    fake = running.fakes["de-en"]
    fake.gate.clear()
    large = archive({**EPUB, "b.xhtml": "x" * 3000})
    assert len(large) < 2000
    first = send_to_deepl(running, "a.epub", large, source_lang="DE")
    assert first.status_code == 200, "a single file may be larger"
    for name, data in (("brief.txt", GERMAN.encode()), ("b.epub", large)):
        assert send_to_deepl(running, name, data, source_lang="DE").status_code == 503
    fake.gate.set()
    assert wait_for_state(running, first)[2]["status"] == "done"
    small = GERMAN.encode() * 10
    fake.gate.clear()
    replies = [send_to_deepl(running, data=small, source_lang="DE") for _ in range(6)]
    statuses = [reply.status_code for reply in replies]
    assert statuses == [200] * (3000 // len(small)) + [503] * (6 - 3000 // len(small))
    fake.gate.set()
    assert all(wait_for_state(running, reply)[2]["status"] == "done" for reply in replies if reply.status_code == 200)


def test_the_content_of_all_files_that_arrive_is_limited(start_server: StartServer) -> None:
    running = start_server(documents_bytes=3000, body_bytes=500)
    arrived, gate = threading.Event(), threading.Event()
    head = b'--b\r\ncontent-disposition: form-data; name="%b"%b\r\n\r\n'
    fields = [head % (b"source", b"") + b"de\r\n", head % (b"target", b"") + b"en\r\n"]
    start = b"".join([*fields, head % (b"file", b'; filename="a.txt"')]) + GERMAN.encode() * 30

    def body() -> Iterator[bytes]:
        yield start
        arrived.set()
        assert gate.wait(60)
        yield b"\r\n--b--\r\n"

    def send_slowly() -> int:
        headers = {"content-type": "multipart/form-data; boundary=b"}
        return httpx.post(f"{running.url}/translate_file", content=body(), headers=headers, timeout=60).status_code

    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(send_slowly)
        assert arrived.wait(60)
        while not running.service.documents.arrived_bytes:
            time.sleep(0.01)
        assert send(running, data=GERMAN.encode() * 30).status_code == 503
        assert send(running).status_code == 200, "a small one is no problem"
        gate.set()
        assert slow.result() == 200
    assert running.service.documents.arrived_bytes == 0
    assert send(running, data=GERMAN.encode() * 30).status_code == 200


def test_one_client_cannot_fill_the_list_of_documents(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.serving.deepl._MOST_DOCUMENTS", 8)
    running = start_server()
    replies = [send_to_deepl(running, "a.exe", b"MZ", source_lang="DE") for _ in range(3)]
    assert [reply.status_code for reply in replies] == [200, 200, 429]
    key = running.service.keys.add("alice")
    assert send_to_deepl(running, "a.exe", b"MZ", source_lang="DE", auth_key=key).status_code == 200
