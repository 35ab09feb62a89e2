"""A server with one bundle of several directions: every client translates all of them, and batches mix them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import deepl
import httpx
import pytest
from libretranslatepy import LibreTranslateAPI
from many_bundles import CODES, DIRECTIONS, make_many, texts
from running_server import Running, StartServer

import dragoman
from dragoman.documents.segment import Segment
from dragoman.errors import UserError
from dragoman.serving.detection import LanguageDetector
from dragoman.serving.fair_queue import FairQueue, Job, Priority
from dragoman.serving.mixed_batches import mixing_key, translate_jobs
from dragoman.serving.models import ModelOptions, ModelTable, load_models
from dragoman.text.glossary import Glossary, Term

CENTERED = [("de", "en"), ("en", "de"), ("szl", "en"), ("en", "szl")]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "bundle"
    make_many(decoding__max_length=12).save(path)
    return path


@pytest.fixture(scope="module")
def models(path: Path) -> ModelTable:
    return load_models([path], ModelOptions())


@pytest.fixture(scope="module")
def many_server(start_server: StartServer, models: ModelTable) -> Running:
    running = start_server()
    running.service.use_models(models, LanguageDetector.of(models))
    return running


@pytest.fixture(scope="module")
def expected(path: Path) -> dict[tuple[str, str], str]:
    """The translation of a sentence in each direction; what the model leaves empty stays as it is."""
    translate = dragoman.load(path)
    return {
        (source, target): translate(sentence(source), source_language=source, target_language=target).text
        or sentence(source)
        for source, target in DIRECTIONS
    }


def sentence(code: str) -> str:
    return texts("test", 3)[code][2]


def libretranslate(server: Running, source: str, target: str) -> str:
    return str(LibreTranslateAPI(server.url).translate(sentence(source), source, target))


def deepl_client(server: Running, source: str, target: str) -> str:
    client = deepl.DeepLClient("any", server_url=server.url, send_platform_info=False)
    logging.getLogger("deepl").handlers.clear()
    result: Any = client.translate_text(
        sentence(source), source_lang=source.upper(), target_lang="EN-GB" if target == "en" else target.upper()
    )
    return str(result.text)


def apertium(server: Running, source: str, target: str) -> str:
    query = {"q": sentence(source), "langpair": f"{source}|{target}"}
    return str(httpx.get(f"{server.url}/translate", params=query, timeout=30).json()["responseData"]["translatedText"])


@pytest.mark.parametrize("translate", [libretranslate, deepl_client, apertium])
def test_every_client_translates_every_direction(
    translate: Any, many_server: Running, expected: dict[tuple[str, str], str]
) -> None:
    assert {pair: translate(many_server, *pair) for pair in DIRECTIONS} == expected


def test_each_source_lists_its_targets_and_is_recognized(many_server: Running) -> None:
    listed = httpx.get(f"{many_server.url}/languages").json()
    assert {each["code"]: each["targets"] for each in listed} == {
        code: [other for other in CODES if other != code] for code in CODES
    }
    assert {each["name"] for each in listed} == {"German", "English", "Silesian"}
    for code in CODES:
        found = httpx.post(f"{many_server.url}/detect", data={"q": sentence(code)}).json()
        assert found[0]["language"] == code


def test_few_words_are_in_a_language_that_can_be_translated_if_they_may_be(models: ModelTable) -> None:
    detector = LanguageDetector.of(models)
    words = {word.strip(".,") for code in ("de", "szl") for text in texts("test", 40)[code] for word in text.split()}
    ranked = {word: detector.detect(word) for word in sorted(words)}
    vague = [word for word, found in ranked.items() if found[0][1] < 0.9 and found[1][1] > 0.1]
    assert vague
    for word in vague:
        (best, _), (second, share), *_ = ranked[word]
        others = [code for code in CODES if code != best]
        assert detector.detect_each([word], others) == [(second, share)]
        assert detector.detect_each([word])[0][0] == detector.detect_each([word], CODES)[0][0] == best
    for code in CODES:
        assert detector.detect_each([sentence(code)], [each for each in CODES if each != code])[0][0] == code


def test_a_pivot_replaces_only_directions_that_were_never_trained(tmp_path: Path) -> None:
    make_many(CENTERED).save(tmp_path / "centered")
    models = load_models([tmp_path / "centered"], ModelOptions())
    assert [len(models.route(*pair)) for pair in CENTERED] == [1] * 4
    assert [(each.source, each.target) for each in models.route("de", "szl")] == [("de", "en"), ("en", "szl")]
    make_many([("de", "en"), ("szl", "de"), ("en", "szl")]).save(tmp_path / "circle")
    circle = load_models([tmp_path / "circle"], ModelOptions())
    assert [len(circle.route(source, target)) for source, target in DIRECTIONS] == [1, 2, 2, 1, 1, 2]


def test_few_words_may_be_in_the_target_language(models: ModelTable) -> None:
    detector = LanguageDetector.of(models)
    words = {word.strip(".,") for code in CODES for text in texts("test", 40)[code] for word in text.split()}
    found = 0
    for word in words:
        best, *others = detector.detect(word)
        for target in (code for code, share in others if share >= 0.1 and best[1] < 0.9):
            assert detector.detect_each([word], (), target)[0][0] == target
            assert detector.detect_each([word], [best[0]], target)[0][0] == best[0]
            found += 1
    assert found


def test_a_language_that_was_only_read_or_only_written_is_not_the_other(tmp_path: Path) -> None:
    make_many([("de", "en"), ("szl", "en")]).save(tmp_path / "into-english")
    make_many([("de", "en"), ("de", "szl"), ("szl", "en")]).save(tmp_path / "from-german")
    served = [load_models([tmp_path / name], ModelOptions()) for name in ("into-english", "from-german")]
    assert [[pair for pair in DIRECTIONS if models.route(*pair)] for models in served] == [
        [("de", "en"), ("szl", "en")],
        [("de", "en"), ("de", "szl"), ("szl", "en")],
    ]


def test_a_bundle_of_one_direction_comes_before_one_of_several(path: Path, finished_run: Path) -> None:
    for paths in ([path, finished_run], [finished_run, path]):
        table = load_models(paths, ModelOptions())
        assert {pair: table.route(*pair)[0].is_shared for pair in DIRECTIONS} == {
            pair: pair != ("de", "en") for pair in DIRECTIONS
        }
    with pytest.raises(UserError, match="two bundles translate from de to en"):
        load_models([finished_run, finished_run], ModelOptions())


def test_a_list_is_translated_although_one_language_of_it_cannot_be(start_server: StartServer, tmp_path: Path) -> None:
    make_many([("de", "en"), ("en", "szl")]).save(tmp_path / "bundle")
    models, server = load_models([tmp_path / "bundle"], ModelOptions()), start_server()
    server.service.use_models(models, LanguageDetector.of(models))
    query = {"q": [sentence("de"), sentence("szl")], "source": "auto", "target": "en"}
    translated = httpx.post(f"{server.url}/translate", json=query, timeout=30).json()["translatedText"]
    assert translated[0] != sentence("de")
    assert translated[1] == sentence("szl")
    refused = httpx.post(f"{server.url}/translate", json=query | {"q": [sentence("szl")]}, timeout=30)
    assert refused.status_code == 400


@pytest.mark.parametrize("glossary", [None, Glossary([Term("Hund", "beagle")])], ids=["plain", "glossary"])
def test_sentences_of_all_directions_are_one_batch(
    glossary: Glossary | None, models: ModelTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [
        (model.translate, Segment(text, aligned=number == 1, glossary=glossary if number == 2 else None))
        for model in models.models
        for number, text in enumerate(texts("test", 3)[model.source])
    ]
    alone = [each for job in jobs for each in translate_jobs([job])]
    assert len({mixing_key(translate) for translate, _ in jobs}) == 1
    engine = models.models[0].words._translator.engine  # type: ignore[union-attr]
    calls, search = [], engine.translate

    def count(sources: Sequence[Any], *more: Any) -> Any:
        calls.append(len(sources))
        return search(sources, *more)

    monkeypatch.setattr(engine, "translate", count)
    together = translate_jobs(jobs)
    assert [(each.text, each.links, each.terms) for each in together] == [
        (each.text, each.links, each.terms) for each in alone
    ]
    assert max(calls) >= (len(jobs) if glossary is None else 3), "equal sentences are translated once"
    if glossary is None:
        assert len(calls) == 1


def test_a_queue_mixes_directions_of_one_model_only(models: ModelTable) -> None:
    def other(segments: Sequence[Segment]) -> list[Any]:
        return []

    queue = FairQueue()
    first, second, *_ = models.models
    for translate in (first.translate, other, second.translate):
        queue.add("client", Job(translate, Segment("a"), 5, Priority.INTERACTIVE))
    batch = queue.take(100)
    assert [job.translate for job in batch] == [first.translate, second.translate]
    assert [job.translate for job in queue.take(100)] == [other]
