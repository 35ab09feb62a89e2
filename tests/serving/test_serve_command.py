"""`dragoman serve` and `dragoman serve-key` as processes: signals, replaced bundles, settings."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from running_server import StartServer

from dragoman.errors import UserError
from dragoman.serving import start
from dragoman.serving.models import ModelOptions
from dragoman.translator import load

if TYPE_CHECKING:
    from conftest import Command

TEXTS = ["ein mann mit einem hut", "eine frau liest ein buch", "ein hund läuft über die wiese"]


JSON = {"Content-Type": "application/json"}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def serving(
    bundle: Path, state: Path, *options: str, on_start: Callable[[subprocess.Popen[str]], None] = lambda process: None
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address and the process of ``dragoman serve``."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "dragoman",
        "serve",
        str(bundle),
        "--port",
        str(port),
        "--engine",
        "torch",
        *options,
    ]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=os.environ | {"XDG_DATA_HOME": str(state)}
    )
    url = f"http://127.0.0.1:{port}"
    try:
        on_start(process)
        while process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                assert httpx.get(f"{url}/health/ready").status_code == 200
                break
            time.sleep(0.05)
        yield url, process
    finally:
        process.kill()
        process.communicate()


def translate(url: str, text: str) -> httpx.Response:
    return httpx.post(f"{url}/translate", json={"q": text, "source": "de", "target": "en"}, timeout=30)


@pytest.fixture(scope="module")
def bundle(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the bundle that tests may damage."""
    path = tmp_path_factory.mktemp("served") / "bundle"
    shutil.copytree(finished_run / "bundle", path)
    return path


def test_bundles_are_replaced_and_the_server_stops_without_losing_a_request(
    bundle: Path, tmp_path: Path, finished_run: Path
) -> None:
    expected = {text: each.text for text, each in zip(TEXTS, load(finished_run)(TEXTS), strict=True)}
    stop = threading.Event()
    answers: list[tuple[str, httpx.Response]] = []

    def ask(number: int) -> None:
        while not stop.is_set():
            text = TEXTS[number % len(TEXTS)]
            answers.append((text, translate(url, text)))

    with contextlib.ExitStack() as stack:
        url, process = stack.enter_context(serving(bundle, tmp_path))
        clients = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for client in clients:
            client.start()
        weights = (bundle / "model.safetensors").read_bytes()
        (bundle / "model.safetensors").write_bytes(weights[:-1])
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        lines = (json.loads(line) for line in process.stderr if line.startswith("{"))
        damaged = next(line for line in lines if "again" in line["message"])
        assert (damaged["level"], "could not be loaded" in damaged["message"]) == ("error", True)
        (bundle / "model.safetensors").write_bytes(weights)
        process.send_signal(signal.SIGHUP)
        assert next(line for line in lines if "again" in line["message"])["level"] == "info"
        stop.set()
        for client in clients:
            client.join()
        assert answers
        for text, reply in answers:
            assert reply.json()["translatedText"] == expected[text]
        connection = http.client.HTTPConnection("127.0.0.1", httpx.URL(url).port, timeout=30)
        slow = stack.enter_context(contextlib.closing(connection))
        slow.request(
            "POST", "/translate", json.dumps({"q": ". ".join(TEXTS * 20), "source": "de", "target": "en"}), JSON
        )
        time.sleep(0.3)  # for the request to arrive
        process.terminate()
        response = slow.getresponse()
        assert (response.status, bool(response.read())) == (200, True), "open requests are finished"
        assert process.wait(30) == 0


def test_a_server_that_is_stopped_under_load_answers_what_it_has_accepted(
    bundle: Path, tmp_path: Path, finished_run: Path
) -> None:
    expected = {text: each.text for text, each in zip(TEXTS, load(finished_run)(TEXTS), strict=True)}
    answers: list[tuple[str, httpx.Response]] = []
    lost: list[httpx.HTTPError] = []

    def ask(number: int) -> None:
        events: list[str] = []
        text = TEXTS[number % len(TEXTS)]
        body = {"q": text, "source": "de", "target": "en"}
        with httpx.Client(timeout=30) as client:
            while True:
                events.clear()
                try:
                    trace = {"trace": lambda event, _: events.append(event)}
                    answers.append((text, client.post(f"{url}/translate", json=body, extensions=trace)))
                except httpx.HTTPError as error:
                    if "connection.connect_tcp.complete" not in events:  # else the server has not accepted it
                        lost.append(error)
                    return

    with serving(bundle, tmp_path, "--set", "serving.requests_per_minute=1000000") as (url, process):
        clients = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
        assert process.stderr is not None
        lines: list[str] = []
        logs = threading.Thread(target=lines.extend, args=(process.stderr,))  # the server waits for a reader
        for thread in (logs, *clients):
            thread.start()
        while len(answers) < 50 and any(client.is_alive() for client in clients):
            time.sleep(0.01)
        process.terminate()
        for client in clients:
            client.join(30)
            assert not client.is_alive(), "a client hangs"
        assert process.wait(30) == 0
        logs.join()
    assert len(answers) >= 50
    for text, reply in answers:
        assert (reply.status_code, reply.json()["translatedText"]) == (200, expected[text])
    assert {type(each) for each in lost} <= {httpx.ConnectError}, "no request is lost on a connection that was answered"
    accepted = [line for line in lines if '"endpoint": "translate_libretranslate"' in line]
    assert len(accepted) == len(answers), "no request is accepted and then lost"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not show what a process ignores")
def test_requests_that_are_not_finished_when_the_server_must_end_get_a_503(bundle: Path, tmp_path: Path) -> None:
    texts = [" ".join(f"ein mann mit {start + number} hüten liest." for number in range(400)) for start in range(8)]
    with serving(bundle, tmp_path, "--set", "serving.shutdown_seconds=0") as (url, process):
        replies: list[httpx.Response] = []
        threads = [threading.Thread(target=lambda text=text: replies.append(translate(url, text))) for text in texts]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert process.wait(30) == 0
    assert all(reply.status_code == 200 or reply.headers["retry-after"] for reply in replies)
    assert {reply.status_code for reply in replies} <= {200, 503}
    assert any(reply.status_code == 503 for reply in replies)


def test_sighup_is_ignored_until_the_server_listens(bundle: Path, tmp_path: Path) -> None:
    early: list[subprocess.Popen[str]] = []

    def hang_up(process: subprocess.Popen[str]) -> None:
        status = Path(f"/proc/{process.pid}/status")
        while not int(re.findall(r"SigIgn:\s*(\w+)", status.read_text("utf-8"))[0], 16) & 1:
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        early.append(process)

    with serving(bundle, tmp_path, on_start=hang_up) as (url, process):
        assert early == [process]
        assert translate(url, TEXTS[0]).status_code == 200


def test_a_failure_to_load_bundles_again_is_logged(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError("geheim")

    async def reload() -> None:
        reloader.start()
        assert reloader._loading is not None
        await reloader._loading

    monkeypatch.setattr(start, "load_models", fail)
    running = start_server()
    reloader = start.BundleReloader(running.service, [], ModelOptions())
    asyncio.run(reload())
    assert "could not be loaded again" in caplog.text
    assert running.translate("Hund").json()["translatedText"] == "en[Hund]"


def test_a_signal_while_bundles_are_loaded_again_loads_them_once_more(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions, loading, release = ["old"], threading.Event(), threading.Event()
    loaded: list[str] = []

    def load(*arguments: object) -> None:
        loaded.append(versions[-1])
        loading.set()
        release.wait(10)
        raise UserError("not needed")

    async def reload() -> None:
        reloader.start()
        await asyncio.to_thread(loading.wait, 10)
        versions.append("new")
        for _ in range(3):
            reloader.start()
        release.set()
        assert reloader._loading is not None
        await reloader._loading

    monkeypatch.setattr(start, "load_models", load)
    reloader = start.BundleReloader(start_server().service, [], ModelOptions())
    asyncio.run(reload())
    assert loaded == ["old", "new"]


def test_keys_and_settings(bundle: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    key = command("serve-key", "add", "alice").out.strip()
    assert command("serve-key", "list").out == "alice\n"
    config = tmp_path / "serving.toml"
    config.write_text("[serving]\nrequire_keys = true\ncharacters = 100\n", encoding="utf-8")
    options = ("--config", str(config), "--set", "serving.list_length=2", "--set", "decoding.beam_size=2")
    with serving(bundle, tmp_path, *options) as (url, _):
        body = {"q": ["ein hund"], "source": "de", "target": "en"}
        assert httpx.post(f"{url}/translate", json=body).status_code == 400
        assert httpx.post(f"{url}/translate", json=body | {"api_key": key}).status_code == 200
        too_many = httpx.post(f"{url}/translate", json=body | {"api_key": key, "q": ["ein"] * 3})
        assert "exceeds list limit (2)" in too_many.json()["error"]
        command("serve-key", "remove", "alice")
        assert httpx.post(f"{url}/translate", json=body | {"api_key": key}).status_code == 403


def test_keys_of_another_directory(tmp_path: Path, command: Command) -> None:
    other = ("--set", f"serving.state_directory={tmp_path}/other")
    assert command("serve-key", "add", "alice", *other).code == 0
    assert command("serve-key", "list", *other).out == "alice\n"
    assert command("serve-key", "list", "--set", f"serving.state_directory={tmp_path}/none").out == ""
    assert "did you mean 'state_directory'" in command("serve-key", "list", "--set", "serving.state_dir=x").error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere"),
        (["nowhere", "--host", ""], "--host is empty"),
        (["BUNDLE", "BUNDLE"], "two bundles translate from de to en"),
        (["BUNDLE", "--set", "serving.charakters=3"], "did you mean 'characters'"),
        (["BUNDLE", "--set", "serving.characters=-3"], "characters"),
        (["BUNDLE", "--set", "training.steps=3"], "expected serving.KEY=VALUE or decoding.KEY=VALUE"),
        (["BUNDLE", "--set", "decoding.beam=3"], "decoding.beam"),
        (["BUNDLE", "--config", "missing.toml"], "missing.toml"),
    ],
)
def test_mistakes_get_a_message(bundle: Path, command: Command, arguments: list[str], message: str) -> None:
    result = command("serve", *(str(bundle) if each == "BUNDLE" else each for each in arguments))
    assert result.code == 2
    assert message in result.error


def test_a_port_in_use_is_an_error(bundle: Path, tmp_path: Path) -> None:
    with serving(bundle, tmp_path) as (url, _):
        port = str(httpx.URL(url).port)
        other = subprocess.run(
            [sys.executable, "-m", "dragoman", "serve", str(bundle), "--port", port], capture_output=True, text=True
        )
    assert other.returncode == 2
    assert f"port {port}" in other.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "status"),
    [("None", 0), ("SystemExit(3)", 3), ("SystemExit('no')", 1), ("KeyboardInterrupt()", 130), ("OSError('disk')", 1)],
)
def test_an_end_that_waits_for_no_thread_keeps_the_exit_status(error: str, status: int) -> None:
    program = (
        "import atexit, sys; from dragoman.serving.start import _exit_at_once;"
        f"atexit.register(lambda: print('waited')); _exit_at_once({error})"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (status, "")
    assert ("disk" in ended.stderr) == ("disk" in error), "errors are logged"
