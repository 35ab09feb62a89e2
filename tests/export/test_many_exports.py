"""Exports of a model with several directions: one for all, or a package for each; every direction is exact."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from many_bundles import CODES, DIRECTIONS, make_many, texts
from readme_program import run_readme_program
from web_pages import serve_directory

from dragoman.bundle import Bundle, choose_direction
from dragoman.export.parity import Sample
from dragoman.export.protocol import describe_masking
from dragoman.export.run import export, load_exporter
from dragoman.settings import Decoding
from dragoman.text.masking import Masking
from dragoman.text.multilingual import MultilingualTokenizer, language_tokens, name_direction
from dragoman.translator import Translator

EXAMPLE = Path(__file__).parents[2] / "examples" / "onnx_greedy.py"
FORMATS = ["ctranslate2", "onnx", "huggingface", "argos"]


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    """All six directions; unigram, because Argos supports every such vocabulary, and shallow, because ONNX is slow."""
    return make_many(text__tokenizer="unigram", model__encoder_layers=1, decoding__max_length=12)


@pytest.mark.parametrize("name", FORMATS)
def test_every_direction_is_exact(name: str, bundle: Bundle, tmp_path: Path) -> None:
    """The translations of each direction are those of the bundle with the settings of the format."""
    if name != "ctranslate2":
        pytest.importorskip({"onnx": "onnxscript", "huggingface": "transformers", "argos": "sentencepiece"}[name])
    parity = export(bundle, name, tmp_path / "out", sample=Sample(texts("test", 5)["de"]))
    assert parity.largest_difference < 1e-4
    assert parity.same_text == 1
    if name == "argos":
        packages = {path.name for path in (tmp_path / "out").glob("*.argosmodel")}
        assert packages == {f"many-{name_direction(each)}.argosmodel" for each in DIRECTIONS}
    found = []
    for source, target in DIRECTIONS if name in ("ctranslate2", "argos") else ():
        view = choose_direction(bundle, source, target)
        exported = load_exporter(name).load(view, tmp_path / "out", "float32")
        own = texts("test", 5)[source]
        found.append(exported.translate(own))
        assert found[-1] == [str(each) for each in Translator(view, exported.decoding, engine=None).stream(own)]
    assert not found or len({tuple(each) for each in found}) >= 4, "languages make a difference"


def test_one_direction_can_be_exported(bundle: Bundle, tmp_path: Path) -> None:
    export(choose_direction(bundle, "en", "szl"), "argos", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").glob("*.argosmodel")] == ["many-en-szl.argosmodel"]


def test_the_programs_of_exports_translate_into_each_language(bundle: Bundle, tmp_path: Path) -> None:
    own = texts("test", 4)["de"]
    export(bundle, "ctranslate2", tmp_path / "ct2")
    readme = tmp_path / "ct2" / "README.md"
    program = readme.read_text("utf-8")
    for target in ("en", "szl"):
        readme.write_text(program.replace("DIRECTION = ('de', 'en')", f"DIRECTION = ('de', '{target}')"), "utf-8")
        view = choose_direction(bundle, "de", target)
        expected = [str(each) for each in Translator(view)(own)]
        assert run_readme_program(tmp_path / "ct2", own, "translate(text)", needs_dragoman=True) == expected


def test_the_masks_of_each_direction_are_stated() -> None:
    assert describe_masking(make_many()) == ""
    bundle = make_many(text__placeholders=True)
    assert isinstance(bundle.source, MultilingualTokenizer)
    masks = {"de-en": Masking(frozenset({"0"}), None, frozenset({"0,0"})), "de-szl": Masking(frozenset({"00"}))}
    own = bundle.source
    source = MultilingualTokenizer(own.tokenizer, own.tokens, own.language, own.marks, masks)
    section = describe_masking(replace(bundle, source=source))
    assert "- de-en: `mask = Masking(frozenset(['0']), None, frozenset(['0,0'])).mask(text)`" in section
    assert "- de-szl: `mask = Masking(frozenset(['00']), None, frozenset([])).mask(text)`" in section


def test_the_tokens_of_languages_are_stated(bundle: Bundle, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    export(bundle, "onnx", tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))
    assert config["languages"] == language_tokens(bundle.source)
    assert list(config["languages"]) == list(CODES)


def test_the_example_for_onnx_translates_into_each_language(bundle: Bundle, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    export(bundle, "onnx", tmp_path / "out")
    text = texts("test", 3)["de"][2]
    command = [sys.executable, str(EXAMPLE), str(tmp_path / "out"), text]
    for target in ("en", "szl"):
        found = subprocess.run([*command, target], capture_output=True, text=True, check=True).stdout.strip()
        assert (
            found
            == Translator(choose_direction(bundle, "de", target), Decoding(beam_size=1, max_length=150))(text).text
        )
    for wrong in ([], ["fr"]):
        refused = subprocess.run([*command, *wrong], capture_output=True, text=True)
        assert refused.returncode == 1
        assert refused.stderr.strip() == "choose the language to translate into: de, en, szl"


def test_the_page_translates_every_direction(bundle: Bundle, browser: Any, web_runtime: None, tmp_path: Path) -> None:
    exporter = load_exporter("web")
    (site := tmp_path / "site").mkdir()
    exporter.write(bundle, site, "float32")
    with serve_directory(site) as address:
        opened = browser.new_page()
        opened.goto(address)
        opened.locator("#offline").wait_for()
        names = {"de": "German", "en": "English", "szl": "Silesian"}
        assert set(opened.locator("#from option").all_text_contents()) == set(names.values())
        for source, target in DIRECTIONS:
            opened.locator("#from").select_option(source)
            targets = set(opened.locator("#to option").all_text_contents())
            assert targets == {name for code, name in names.items() if code != source}
            opened.locator("#to").select_option(target)
            text = texts("test", 3)[source][2]
            opened.locator("#output").evaluate("output => output.ariaBusy = 'unknown'")
            opened.locator("#source").fill(text)
            opened.locator("#output[aria-busy=false]").wait_for()
            view = choose_direction(bundle, source, target)
            assert opened.locator("#output").text_content() == (
                exporter.load(view, site, "float32").translate([text])[0] or text
            )
        opened.close()
