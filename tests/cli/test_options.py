"""Options that several commands share: --engine, --device and --verbose."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.cli.options import EngineOptions, open_translator
from dragoman.engines import EngineRequest

if TYPE_CHECKING:
    from conftest import Command


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_verbose_names_engine_and_device(engine: str, finished_run: Path, command: Command) -> None:
    arguments = ("translate", finished_run, "Ein Hund läuft.", "--device", "cpu", "--engine", engine)
    assert f"dragoman: engine: {engine}, device: cpu" in command(*arguments, "--verbose").error
    assert command(*arguments).error == ""


def test_verbose_explains_why_an_engine_is_not_used(finished_run: Path, command: Command) -> None:
    sampling = ("--set", "decoding.sampling=true")
    outcome = command("translate", finished_run, "Hund", "--verbose", *sampling)
    assert outcome.code == 0
    assert "ctranslate2 does not support decoding.sampling = true" in outcome.error


@pytest.mark.parametrize("members", [1, 3])
def test_verbose_names_all_bundles_of_an_ensemble(
    members: int, finished_run: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[EngineRequest] = []

    def count(request: EngineRequest) -> list[str]:
        requests.append(request)
        return []

    monkeypatch.setattr("dragoman.engines.torch_engine.unsupported", count)
    ensemble = [argument for _ in range(members - 1) for argument in ("--ensemble", finished_run)]
    outcome = command("translate", finished_run, "Hund", "--verbose", "--engine", "torch", *ensemble)
    assert outcome.code == 0
    lines = [line for line in outcome.error.splitlines() if line.startswith("dragoman: engine: torch")]
    assert len(lines) == len(requests) == 1
    assert lines[0].endswith("bundle: " + ", ".join([str(finished_run)] * members))


def test_unknown_engine_is_rejected(finished_run: Path, command: Command) -> None:
    outcome = command("translate", finished_run, "Ein Hund läuft.", "--engine", "troch")
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean 'torch'" in outcome.error


@pytest.mark.parametrize("device", ["cuda:99", "gpu"])
def test_missing_device_is_rejected(device: str, finished_run: Path, command: Command) -> None:
    outcome = command("translate", finished_run, "Ein Hund läuft.", "--device", device)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"device '{device}' cannot be used" in outcome.error


def test_what_a_translator_needs_is_exempt_from_collection(finished_run: Path) -> None:
    before = gc.get_freeze_count()
    try:
        translator = open_translator(finished_run, None, EngineOptions("torch"))
        assert gc.get_freeze_count() > before
        assert list(translator.stream(["Ein Hund läuft."]))
    finally:
        gc.unfreeze()
