"""Export to CTranslate2: the same probabilities for every model variant, and a README whose program is exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from random_bundles import VARIANTS, make_bundle, sentences
from readme_program import run_readme_program

from conftest import fixed_captions
from dragoman.bundle import Bundle
from dragoman.documents.translate import TextTranslator
from dragoman.errors import UserError
from dragoman.export.parity import Sample, measure_parity
from dragoman.export.run import export
from dragoman.translator import Translator

pytest.importorskip("ctranslate2")

from dragoman.engines.ctranslate2.spec import specify
from dragoman.export.ctranslate2.exporter import load, write


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_has_the_same_probabilities(variant: str, tmp_path: Path) -> None:
    parity = export(make_bundle(variant), "ctranslate2", tmp_path / "out", sample=Sample(sentences()))
    assert parity.largest_difference < 1e-4
    assert parity.values > 300
    assert parity.same_text > 0.9, "hypotheses of random weights can have nearly equal scores"


def test_a_change_of_any_weight_is_recognized(tmp_path: Path) -> None:
    bundle = make_bundle()
    write(bundle, tmp_path, "float32")
    for name, parameter in list(bundle.model.named_parameters())[::7]:
        before = parameter.detach().clone()
        with torch.no_grad():
            parameter.flatten()[-1] += 0.5
        parity = measure_parity("ctranslate2", bundle, load(bundle, tmp_path, "float32"), Sample())
        assert parity.problems, f"the change of {name} was not recognized"
        with torch.no_grad():
            parameter.copy_(before)


def test_int8_is_smaller_and_nearly_the_same(tmp_path: Path) -> None:
    bundle = make_bundle("pre-norm, rotary")
    sizes = {}
    for compute_type in ("float32", "int8"):
        parity = export(bundle, "ctranslate2", tmp_path / compute_type, compute_type)
        assert parity.compute_type == compute_type
        sizes[compute_type] = (tmp_path / compute_type / "model.bin").stat().st_size
    assert parity.mean_difference < 0.5  # 0.03 with VNNI; without it, sums of 16 bits overflow: 0.33
    assert sizes["int8"] < 0.5 * sizes["float32"]


def test_exporting_does_not_change_the_weights(tmp_path: Path) -> None:
    bundle = make_bundle()
    before = {name: parameter.detach().clone() for name, parameter in bundle.model.named_parameters()}
    export(bundle, "ctranslate2", tmp_path / "out", "int8")
    for name, parameter in bundle.model.named_parameters():
        assert torch.equal(parameter, before[name])


LONG = {"decoding__max_length": 150, "decoding__max_length_ratio": 3.0}
"""Limits that few translations reach: there, CTranslate2 keeps fewer hypotheses than our search."""

README_CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "beam": ("pre-norm, tied", LONG),
    "large length penalty": ("unigram, silu", {**LONG, "decoding__length_penalty": 2.0}),
    "two vocabularies": ("post-norm, two vocabularies", LONG),
    "greedy, short limit": ("pre-norm, rotary", {"decoding__beam_size": 1, "decoding__max_length": 9}),
    "words": ("words", {**LONG, "decoding__beam_size": 6, "decoding__length_penalty": 0.0}),
    "split words": ("split words", {**LONG, "decoding__length_penalty": 0.0}),
    "minimum length": ("pre-norm, tied", {**LONG, "decoding__min_length": 12}),
    "no repetition": ("pre-norm, tied", {**LONG, "decoding__no_repeat_ngram": 2}),
    "greedy, no token twice": (
        "pre-norm, rotary",
        {**LONG, "decoding__beam_size": 1, "decoding__min_length": 5, "decoding__no_repeat_ngram": 1},
    ),
}


@pytest.mark.parametrize("case", README_CASES)
def test_the_program_in_the_readme_returns_the_translations_of_dragoman(case: str, tmp_path: Path) -> None:
    variant, options = README_CASES[case]
    bundle = make_bundle(variant, **options)
    write(bundle, tmp_path, "float32")
    texts = [*sentences(), *(source for source, _ in fixed_captions("test")[60:120]), "a b c " * 80, "  ", "Hund Ω"]
    translations = run_readme_program(tmp_path, texts, "translate(text)", needs_dragoman="words" in variant)
    expected = [str(translation) for translation in Translator(bundle).stream(texts)]
    assert translations == expected
    captions_only = texts[len(sentences()) :][:60]
    documents = TextTranslator(Translator(bundle)).stream(captions_only)  # as `dragoman translate` does it
    found = zip(translations[len(sentences()) :], captions_only, strict=False)
    assert [str(translation) for translation in documents] == [translation or text for translation, text in found]
    for setting in ("min_length", "no_repeat_ngram"):
        if f"decoding__{setting}" in options:
            without = bundle.recipe.decoding.model_copy(update={setting: 0})
            assert [str(translation) for translation in Translator(bundle, without).stream(texts)] != expected


def test_the_readme_says_what_the_program_agrees_with(tmp_path: Path) -> None:
    for compute_type, is_exact in (("float32", True), ("int8", False)):
        directory = tmp_path / compute_type
        directory.mkdir()
        write(make_bundle(), directory, compute_type)
        readme = (directory / "README.md").read_text("utf-8")
        assert ("returns the same translation as `dragoman translate`" in readme) == is_exact
        assert ("--compute-type int8" in readme) != is_exact


def test_the_specification_refuses_unknown_position_encodings() -> None:
    bundle = make_bundle()
    bundle.model.settings = bundle.model.settings.model_copy(update={"positions": "unheard-of"})
    with pytest.raises(UserError, match=r"does not support model\.positions = 'unheard-of'"):
        specify(bundle)


def test_special_tokens_must_be_the_same_in_both_languages(tmp_path: Path) -> None:
    other = make_bundle("words", text__specials__eos="<end>")
    bundle = make_bundle("words")
    mixed = Bundle(bundle.recipe, bundle.model, bundle.source, other.target)
    with pytest.raises(UserError, match=r"text\.specials: source and target must be the same"):
        export(mixed, "ctranslate2", tmp_path / "out")
