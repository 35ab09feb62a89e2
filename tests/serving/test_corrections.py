"""Corrections: stored only if the operator allows it, and used only if the operator approves them."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
from running_server import Running, StartServer

from conftest import Command
from dragoman.corpus.corpus import read_corpus
from dragoman.serving.storage import CORRECTIONS_FILE, CorrectionStore

TEXT = {"q": "Ein Hund läuft.", "source": "de", "target": "en"}


def suggest(server: Running, translation: str, **changes: str) -> httpx.Response:
    return httpx.post(f"{server.url}/suggest", data={**TEXT, "s": translation, **changes})


def translated(server: Running, **changes: str) -> object:
    return httpx.post(f"{server.url}/translate", data={**TEXT, **changes}).json()["translatedText"]


def test_only_approved_corrections_are_used(start_server: StartServer, command: Command, tmp_path: Path) -> None:
    server = start_server(corrections=10, state_directory=str(tmp_path / "state"))
    config, output = tmp_path / "serving.toml", tmp_path / "pairs.tsv"
    config.write_text(f"[serving]\nstate_directory = '{tmp_path / 'state'}'\n")
    assert command("data", "list-corrections", "--config", config).out == ""
    assert httpx.get(f"{server.url}/frontend/settings").json()["suggestions"] is True
    for translation in ("A dog\truns.", "A dog is running.", "A dog is running."):
        assert suggest(server, translation).json() == {"success": True}
    assert translated(server) == "en[Ein Hund läuft.]"
    rows = command("data", "list-corrections", "--config", config).out.splitlines()
    directory = f"serving.state_directory={tmp_path / 'state'}"
    assert command("data", "list-corrections", "--set", directory).out.splitlines() == rows
    assert rows == ["1\tnew\tde-en\tEin Hund läuft.\tA dog runs.", "2\tnew\tde-en\tEin Hund läuft.\tA dog is running."]

    assert command("data", "approve-corrections", "2", "--config", config).code == 0
    assert translated(server) == "A dog is running."
    assert translated(server, q="Ein Hund läuft") == "en[Ein Hund läuft]"
    assert translated(server, format="html") == "en[Ein Hund läuft.]"
    assert translated(server, target="es") == "es[en[Ein Hund läuft.]]"
    body = {**TEXT, "q": ["Hallo.", TEXT["q"], "Danke."]}
    reply = httpx.post(f"{server.url}/translate", json=body).json()
    assert reply["translatedText"] == ["en[Hallo.]", "A dog is running.", "en[Danke.]"]

    options = ("--languages", "de-en", "--config", config, "--output", output)
    assert command("data", "export-corrections", *options).code == 0
    assert output.read_text("utf-8") == "Ein Hund läuft.\tA dog is running.\n"
    assert command("data", "remove-corrections", "2", "--config", config).code == 0
    assert translated(server) == "en[Ein Hund läuft.]"
    outcome = command("data", "approve-corrections", "7", "--config", config)
    assert (outcome.code, "number 7" in outcome.error) == (2, True)


def test_control_characters_reach_neither_the_terminal_nor_the_pairs(command: Command, tmp_path: Path) -> None:
    CorrectionStore(tmp_path / CORRECTIONS_FILE, 10).add(
        ("de", "en"), TEXT["q"], "A\x1b]0;x\x07 dog\u202e."
    )  # as an older version accepted it
    given = ("--set", f"serving.state_directory={tmp_path}")
    listed = command("data", "list-corrections", *given).out
    assert "\x1b" not in listed
    assert "\u202e" not in listed
    assert command("data", "approve-corrections", "1", *given).code == 0
    output = tmp_path / "pairs.tsv"
    assert command("data", "export-corrections", "--languages", "de-en", *given, "--output", output).code == 0
    (pair,) = read_corpus(str(output), source_language="de", target_language="en")
    assert pair.source == TEXT["q"]


def test_numbers_of_removed_corrections_are_not_used_again(tmp_path: Path) -> None:
    store = CorrectionStore(tmp_path / CORRECTIONS_FILE, 10)
    for translation in ("A dog runs.", "A dog is running."):
        store.add(("de", "en"), TEXT["q"], translation)
    store.remove([2])
    store.add(("de", "en"), TEXT["q"], "The dog runs.")
    assert [each.number for each in store.all()] == [1, 3]


def test_suggestions_are_limited_and_checked(start_server: StartServer) -> None:
    server = start_server(corrections=1, characters=100)
    for refused in (" \u2028\n", "A\0 dog.", "A \x1b dog.", "A\x1fdog."):
        assert suggest(server, refused).status_code == suggest(server, "A dog.", q=refused).status_code == 400
    assert suggest(server, "").status_code == suggest(server, "A", source="fr").status_code == 400
    assert suggest(server, "A" * 101).status_code == 400
    assert suggest(server, "A dog.").status_code == 200
    assert suggest(server, "A dog.").status_code == 200, "equal ones are stored once"
    full = suggest(server, "Another dog.")
    assert (full.status_code, "Retry-After" in full.headers) == (503, True)


def test_reading_does_not_change_the_file(tmp_path: Path) -> None:
    """Another user may only be allowed to read it."""
    store = CorrectionStore(tmp_path / CORRECTIONS_FILE, 10)
    store.add(("de", "en"), "Ein Hund.", "A dog.")
    os.utime(tmp_path / CORRECTIONS_FILE, (1, 1))
    assert [each.translation for each in store.all()] == ["A dog."]
    assert (tmp_path / CORRECTIONS_FILE).stat().st_mtime == 1
