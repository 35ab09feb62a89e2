"""CTranslate2 as an engine: the translations of ours, with the same tokens and scores."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from filelock import FileLock
from random_bundles import make_bundle, sentences

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.settings import Decoding
from dragoman.system.files import sha256
from dragoman.text.translation import Translation
from dragoman.translator import Translator

pytest.importorskip("ctranslate2")

from dragoman.engines import EngineRequest, open_engine
from dragoman.engines.ctranslate2.convert import convert
from dragoman.engines.ctranslate2.engine import CTranslate2Engine, import_error
from dragoman.export.ctranslate2.exporter import write

if TYPE_CHECKING:
    from conftest import Command, SmallDisk


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return make_bundle("words")


@pytest.fixture(scope="module")
def converted_bundle(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("converted")
    write(bundle, directory, "float32")
    return directory


@pytest.fixture
def saved(bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The bundle as a directory, and an empty cache directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bundle.save(tmp_path / "bundle")
    return tmp_path / "bundle"


def translator_for(
    bundle: Bundle, converted: Path, decoding: Decoding | None = None, token_scores: bool = True
) -> Translator:
    request = EngineRequest(bundle, decoding or bundle.recipe.decoding, token_scores=token_scores)
    return Translator(bundle, decoding, engine=CTranslate2Engine(request, converted))


def open_saved(path: Path, engine: str | None = None) -> Translator:
    """The translator of a saved bundle by this engine, or by the first that can."""
    bundle = Bundle.load(path)
    request = EngineRequest(bundle, bundle.recipe.decoding, path=path)
    return Translator(bundle, engine=open_engine(request, engine))


def test_the_widest_instructions_of_the_processor_are_used_unless_others_are_requested(
    saved: Path, monkeypatch: pytest.MonkeyPatch, process: Command
) -> None:
    capability = torch.backends.cpu.get_cpu_capability()
    widest = capability if capability.startswith("AVX") else ""  # other processors have other names
    monkeypatch.setenv("CT2_VERBOSE", "1")
    for requested, used in ((None, widest), ("GENERIC", "GENERIC")):
        if requested:
            monkeypatch.setenv("CT2_FORCE_CPU_ISA", requested)
        else:
            monkeypatch.delenv("CT2_FORCE_CPU_ISA", raising=False)
        outcome = process("translate", saved, "a", "--engine", "ctranslate2")
        assert f"Selected ISA: {used}" in outcome.error


def assert_alike(ours: list[Translation], theirs: list[Translation]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert other.text == one.text
        assert other.tokens == one.tokens
        assert other.truncated == one.truncated
        assert other.log_probabilities == pytest.approx(one.log_probabilities, abs=1e-4)
        assert other.score == pytest.approx(one.score, abs=1e-4)
        assert_alike(one.alternatives, other.alternatives)


@pytest.mark.parametrize(
    "settings",
    [
        {"beam_size": 1},
        {"beam_size": 1, "max_length": 5},
        {"beam_size": 4, "n_best": 3, "length_penalty": 0.0},
        {"beam_size": 5, "n_best": 2, "length_penalty": 1.0},
        {"beam_size": 6, "length_penalty": 2.0, "max_length_ratio": 4.0},
        {"beam_size": 3, "max_length": 5},
        {"beam_size": 3, "max_length_ratio": 0.01, "max_length_offset": 0},
    ],
    ids=str,
)
def test_translations_are_those_of_our_search(
    settings: dict[str, float], bundle: Bundle, converted_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoding = Decoding.model_validate({"max_length": 100, **settings})
    texts = [*sentences(), "", *("a b c " * 60, " ")]  # too long, and blank
    translator = translator_for(bundle, converted_bundle, decoding)
    searched: list[int] = []
    search_unfinished = CTranslate2Engine._search_unfinished

    def counted(self: CTranslate2Engine, unfinished: list[int], *arguments: Any) -> None:
        searched.append(len(unfinished))
        search_unfinished(self, unfinished, *arguments)

    monkeypatch.setattr(CTranslate2Engine, "_search_unfinished", counted)
    assert_alike(list(Translator(bundle, decoding).stream(texts)), list(translator.stream(texts)))
    if settings["beam_size"] > 1 and "max_length" not in str(settings):
        assert sum(searched) < len(sentences()), "CTranslate2 must have searched some"


def test_the_attention_of_given_translations_is_that_of_torch(bundle: Bundle, tmp_path: Path) -> None:
    """Also of tokens that the model would not choose, and of translations of very different lengths."""
    sources = bundle.source.encode([*sentences(), "a"])
    targets = [*bundle.target.encode(sentences())[::-1], [bundle.target.vocabulary.unk]]
    for rows in ({"layer": 0, "shifted": True}, {"layer": 1, "shifted": False}):
        changed = replace(bundle, alignment=rows)
        write(changed, tmp_path, "float32")
        engine = CTranslate2Engine(EngineRequest(changed, changed.recipe.decoding), tmp_path)
        expected = open_engine(EngineRequest(changed, changed.recipe.decoding), "torch").attention(sources, targets)
        for ours, theirs, source, target in zip(
            engine.attention(sources, targets), expected, sources, targets, strict=True
        ):
            assert ours.shape == theirs.shape == (len(target) + 1, len(source))
            np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert engine.attention([], []) == []


@pytest.mark.parametrize(
    "options", [{"beam_size": 4, "n_best": 2, "max_length": 60}, {"beam_size": 1, "max_length": 9}]
)
def test_without_log_probabilities_all_else_is_the_same(
    options: dict[str, int], bundle: Bundle, converted_bundle: Path
) -> None:
    decoding = Decoding.model_validate(options)
    whole = translator_for(bundle, converted_bundle, decoding)(sentences())
    bare = translator_for(bundle, converted_bundle, decoding, token_scores=False)(sentences())
    for one, other in zip(whole, bare, strict=True):
        assert other.text == one.text
        assert other.score == pytest.approx(one.score, abs=1e-4)
        assert [each.text for each in other.alternatives] == [each.text for each in one.alternatives]
    assert any(not each.log_probabilities for each in bare), "CTranslate2 must have searched some"
    assert all(each.log_probabilities for each in whole)


def test_batches_and_windows_change_nothing(bundle: Bundle, converted_bundle: Path) -> None:
    decoding = Decoding(beam_size=4, max_length=60, batch_tokens=40)
    engine = translator_for(bundle, converted_bundle, decoding)
    together = engine(sentences())
    assert_alike(together, [engine(text) for text in sentences()])
    assert_alike(together, list(engine.stream(sentences(), window=4)))
    assert_alike(together, engine(sentences()[::-1])[::-1])


@pytest.mark.parametrize("setting", ["sampling=true", "temperature=2.0", "cache=false"])
def test_unsupported_settings_are_refused_if_asked_for_and_else_left_to_another_engine(
    setting: str, saved: Path, command: Command
) -> None:
    option = ("--set", f"decoding.{setting}")
    refused = command("translate", saved, "Ein Hund", *option, "--engine", "ctranslate2")
    assert refused.code == 2
    assert f"decoding.{setting.partition('=')[0]} = " in refused.error
    usual, named = (command("translate", saved, "Ein Hund", *option, *engine) for engine in ((), ("--engine", "torch")))
    assert usual.code == 0
    assert (usual.out, usual.error) == (named.out, named.error), "the other engine is not mentioned"


def test_all_engines_print_the_same_json(saved: Path, command: Command) -> None:
    texts, beam = sentences()[:5], ("--json", "--set", "decoding.n_best=2")
    ours, theirs, usual = (
        [json.loads(line) for line in command("translate", saved, *texts, *beam, *engine).out.splitlines()]
        for engine in (("--engine", "torch"), ("--engine", "ctranslate2"), ())
    )
    assert [each["text"] for each in ours] == [each["text"] for each in theirs]
    assert [each["alternatives"][0]["tokens"] for each in ours] == [
        each["alternatives"][0]["tokens"] for each in theirs
    ]
    assert usual == theirs


def test_without_ctranslate2_another_engine_translates(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_error.cache_clear()
    monkeypatch.setitem(sys.modules, "ctranslate2", None)  # importing it raises ImportError
    try:
        with pytest.warns(UserWarning, match="torch translates, because ctranslate2, which is faster"):
            assert open_saved(saved).engine.name == "torch"
        with pytest.raises(UserError, match=r"its package cannot be imported .*ctranslate2"):
            open_saved(saved, "ctranslate2")
    finally:
        import_error.cache_clear()


@pytest.mark.parametrize("threads", [1, 2])
def test_there_is_a_worker_for_each_thread(threads: int, saved: Path) -> None:
    """Such as in an actor of Ray with one core, for which Ray sets OMP_NUM_THREADS."""
    translator = "dragoman.load(sys.argv[1], device='cpu').engine._workers.translator"
    program = f"import sys, dragoman; print({translator}.num_translators)"
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    command = [sys.executable, "-c", program, str(saved)]
    assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout == f"{threads}\n"


def test_int8_must_be_asked_for(saved: Path, command: Command) -> None:
    assert command("translate", saved, "Ein Hund", "--compute-type", "int8").code == 0
    assert sorted(path.name for path in saved.glob("ctranslate2-*")) == ["ctranslate2-int8"]
    refused = command("translate", saved, "Ein Hund", "--compute-type", "int8", "--engine", "torch")
    assert refused.code == 2
    assert "--compute-type int8" in refused.error


def test_a_bundle_is_converted_once_and_again_after_a_change(bundle: Bundle, saved: Path) -> None:
    place = convert(bundle, saved, "float32")
    assert place == saved / "ctranslate2-float32"
    written = (place / "model.bin").stat().st_mtime_ns
    assert convert(bundle, saved, "float32") == place
    assert (place / "model.bin").stat().st_mtime_ns == written
    other = make_bundle("words", model__heads=2)
    other.save(saved)
    bundle.save(saved.with_name("before"))
    convert(bundle, saved.with_name("before"), "float32").rename(place)  # a conversion of other weights
    assert_alike(Translator(other)(sentences()), open_saved(saved, "ctranslate2")(sentences()))


def test_a_bundle_that_was_replaced_since_it_was_read_is_not_converted(saved: Path) -> None:
    read = Bundle.load(saved)
    make_bundle("words", model__heads=2).save(saved)
    with pytest.raises(UserError, match="was replaced while it was read"):
        convert(read, saved, "float32")
    assert not list(saved.glob("ctranslate2*"))


@contextmanager
def held_lock(saved: Path, while_held: Callable[[], object]) -> Iterator[threading.Event]:
    """Another thread holds the lock of a conversion for a moment; the event is set just before it is released."""
    held, released = threading.Event(), threading.Event()

    def hold() -> None:
        with FileLock(saved / ".ctranslate2-float32.lock"):
            held.set()
            time.sleep(0.5)
            while_held()
            released.set()

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(10)
    with pytest.warns(UserWarning, match="waiting for another process that converts the same bundle"):
        yield released
    holder.join()


def test_a_conversion_by_another_process_is_awaited(bundle: Bundle, saved: Path) -> None:
    with held_lock(saved, lambda: None) as released:
        assert convert(bundle, saved, "float32").is_dir()
        assert released.is_set()


def test_a_bundle_that_is_replaced_while_its_conversion_waits_is_not_converted(saved: Path) -> None:
    read, new = Bundle.load(saved), make_bundle("words", model__heads=2)
    new.save(saved.with_name("new"))

    def replace_json() -> None:
        shutil.copy(saved.with_name("new") / "bundle.json", saved)

    with held_lock(saved, replace_json), pytest.raises(UserError, match="was replaced while it was read"):
        convert(read, saved, "float32")
    assert not list(saved.glob("ctranslate2*"))


def test_a_read_only_bundle_is_converted_in_the_cache_directory(
    bundle: Bundle, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != saved)
    place = convert(bundle, saved, "float32")
    assert place.is_relative_to(tmp_path / "cache")
    assert not list(saved.glob("ctranslate2*"))
    assert convert(bundle, saved, "float32") == place


@pytest.mark.parametrize("change", [('"dragoman": "', '"dragoman": "0.'), ('"model.bin": "', '"model.bin": "0')])
@pytest.mark.parametrize("name", [".ctranslate2-float32.lock", "ctranslate2-float32"])
def test_what_another_user_has_converted_is_converted_in_the_cache_directory_if_it_is_outdated_or_damaged(
    name: str, change: tuple[str, str], bundle: Bundle, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    converted = convert(bundle, saved, "float32") / "converted.json"
    outdated = converted.read_text("utf-8").replace(*change)
    converted.write_text(outdated, "utf-8")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != name)
    assert convert(bundle, saved, "float32").is_relative_to(tmp_path / "cache")
    assert converted.read_text("utf-8") == outdated


@pytest.mark.parametrize("name", [os.devnull, "../bundle.json"])
def test_a_conversion_that_lists_files_elsewhere_is_repeated(name: str, bundle: Bundle, saved: Path) -> None:
    converted = convert(bundle, saved, "float32") / "converted.json"
    intact = converted.read_text("utf-8")
    checksums = json.loads(intact)["sha256"] | {name: sha256(converted.parent / name)}
    converted.write_text(json.dumps(json.loads(intact) | {"sha256": checksums}), "utf-8")
    convert(bundle, saved, "float32")
    assert converted.read_text("utf-8") == intact


@pytest.mark.parametrize("checksums", [None, 5, [], {}, {"model.bin": 1}])
def test_a_conversion_whose_list_of_files_is_damaged_is_repeated(checksums: Any, bundle: Bundle, saved: Path) -> None:
    converted = convert(bundle, saved, "float32") / "converted.json"
    intact = converted.read_text("utf-8")
    converted.write_text(json.dumps(json.loads(intact) | {"sha256": checksums}), "utf-8")
    convert(bundle, saved, "float32")
    assert converted.read_text("utf-8") == intact


def test_where_nothing_can_be_written_another_engine_translates(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert open_saved(saved).engine.name != "ctranslate2"
    with pytest.raises(UserError, match="neither its directory nor the cache is writable"):
        open_saved(saved, "ctranslate2")


def test_a_full_disk_is_reported(saved: Path, small_disk: SmallDisk) -> None:
    small_disk.resize(16 + sum(file.stat().st_size for file in saved.iterdir()) // 1000)
    shutil.copytree(saved, small_disk.path / "bundle")
    with pytest.raises(UserError, match=r"could not be saved: .*; the engine torch needs no converted"):
        open_saved(small_disk.path / "bundle")


def test_prefixes_are_kept_by_every_engine(bundle: Bundle, converted_bundle: Path) -> None:
    texts, prefixes = ["Ein Hund läuft.", "Zwei Frauen lesen."], ["A", ""]
    torch_found = Translator(bundle)(texts, prefixes)
    assert_alike(torch_found, translator_for(bundle, converted_bundle)(texts, prefixes))


@pytest.mark.parametrize("name", ["model.bin", "config.json", "converted.json"])
def test_damaged_conversion_is_repeated(name: str, saved: Path, command: Command) -> None:
    expected = command("translate", saved, *sentences(), "--engine", "ctranslate2").out
    damaged = saved / "ctranslate2-float32" / name
    content = damaged.read_bytes()
    damaged.write_bytes(content[: len(content) // 2])
    outcome = command("translate", saved, *sentences(), "--engine", "ctranslate2")
    assert (outcome.code, outcome.out) == (0, expected)
    assert damaged.read_bytes() == content
