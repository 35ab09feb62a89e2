"""Translation memories of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from running_server import StartServer

from dragoman.corpus.pair import Pair
from dragoman.corpus.writers import write_corpus
from dragoman.errors import UserError
from dragoman.serving.config import load_serving
from dragoman.serving.detection import LanguageDetector
from dragoman.serving.models import ModelOptions, load_models


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("memory") / "memory.tmx")
    pairs = [Pair("Ein Hund.", "This  is a dog!"), Pair("Ein Mann liest. Er steht.", "A standing man, reading")]
    write_corpus(pairs, path, ("de", "en"))
    return path


def test_exact_matches_are_returned_unchanged(finished_run: Path, memory: str, start_server: StartServer) -> None:
    running = start_server()
    settings = load_serving(None, [f"serving.memories={{de-en = '{memory}'}}"])
    models = load_models([finished_run], ModelOptions(memories=settings.memories))
    running.service.use_models(models, LanguageDetector.of(models))

    def translate(**request: Any) -> Any:
        languages = {"source": "de", "target": "en"}
        return httpx.post(f"{running.url}/translate", json=request | languages, timeout=30).json()

    reply = translate(q=["Ein Hund.", " Ein Hund. ", "Eine Frau."])
    assert reply["translatedText"][:2] == ["This  is a dog!", " This  is a dog! "]
    assert [each["kind"] for each in reply["match"]] == ["exact", "exact", "none"]
    html = translate(q="<p>Ein <b>Hund</b>.</p>", format="html")["translatedText"]
    assert html.replace("<b>", "").replace("</b>", "") == "<p>This  is a dog!</p>"
    assert "match" not in translate(q="Eine Frau.")
    several = translate(q=["Ein Mann liest. Er steht.", "Ein Mann liest."])
    assert several["translatedText"][0] == "A standing man, reading"
    assert [each["kind"] for each in several["match"]] == ["exact", "none"]
    html = translate(q="<p>Ein Mann liest.\nEr steht.</p>", format="html")["translatedText"]
    assert html == "<p>A standing man, reading</p>"
    file = {"file": ("a.txt", b"Ein Mann liest. Er steht.\n")}
    asked = {"q": "Ein Hund. Eine Frau.", "source": "de", "target": "en"}
    known, other = httpx.post(f"{running.url}/page/translate", json=asked, timeout=30).json()["segments"]
    assert {probability for _, _, probability in known["words"]} == {1.0}, "words of a memory are not shaded"
    assert any(probability < 1.0 for _, _, probability in other["words"])
    sent = httpx.post(f"{running.url}/translate_file", data={"source": "de", "target": "en"}, files=file, timeout=30)
    assert httpx.get(sent.json()["translatedFileUrl"]).text == "A standing man, reading\n"


def test_a_memory_for_no_bundle_or_without_text_is_refused(finished_run: Path, memory: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"serving\.memories: no bundle for en-de, only for de-en"):
        load_models([finished_run], ModelOptions(memories={"en-de": memory}))
    with pytest.raises(UserError, match=r"missing\.tmx"):
        load_models([finished_run], ModelOptions(memories={"de-en": str(tmp_path / "missing.tmx")}))
