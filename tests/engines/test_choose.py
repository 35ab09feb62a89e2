"""The first engine that supports a request translates, and says why others were passed over."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import torch
from random_bundles import make_bundle, sentences

import dragoman
from dragoman.bundle import Bundle
from dragoman.engines import ENGINES, EngineRequest, choose, open_engine
from dragoman.engines.choose import TargetScores
from dragoman.engines.scoring import score_targets
from dragoman.errors import UserError
from dragoman.search.hypothesis import Hypothesis
from dragoman.serving.models import ModelOptions, load_models
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return make_bundle()


def request_for(bundle: Bundle, path: Path | None = None, **options: Any) -> EngineRequest:
    decoding = bundle.recipe.decoding.model_copy(update=options.pop("decoding", {}))
    return EngineRequest(bundle, decoding, path=path, **options)


def test_the_order_of_preference_is_that_of_the_table(bundle: Bundle, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    bundle.save(tmp_path / "bundle")
    assert choose(request_for(bundle, tmp_path / "bundle")).name == next(iter(ENGINES)) == "ctranslate2"


def test_reasons_are_given_for_engines_that_are_rejected(bundle: Bundle, tmp_path: Path) -> None:
    bundle.save(tmp_path / "bundle")
    choice = choose(request_for(bundle, tmp_path / "bundle", decoding={"min_length": 3, "cache": False}))
    assert choice.name == "torch"
    assert choice.rejected["ctranslate2"] == ["decoding.cache = false", "decoding.min_length = 3"]
    assert str(choice).startswith("torch (ctranslate2 does not support ")
    assert choose(request_for(bundle)).rejected["ctranslate2"] == ["a bundle that is not on disk"]


def test_python_the_command_line_and_the_server_choose_the_same_engine(
    bundle: Bundle, tmp_path: Path, command: Command
) -> None:
    pytest.importorskip("ctranslate2")
    bundle.save(tmp_path / "bundle")
    for settings in ({}, {"sampling": True}, {"min_length": 2}, {"no_repeat_ngram": 3}, {"beam_size": 1}):
        loaded = dragoman.load(tmp_path / "bundle", settings, "cpu").engine.name
        changes = [f"decoding.{key}={str(value).lower()}" for key, value in settings.items()]
        (served,) = load_models([tmp_path / "bundle"], ModelOptions(device="cpu", overrides=changes)).models
        options = [argument for change in changes for argument in ("--set", change)]
        shown = command("translate", tmp_path / "bundle", "Ein Hund", "--verbose", "--device", "cpu", *options).error
        assert f"dragoman: engine: {loaded}" in shown
        assert served.words is not None
        assert served.words._translator.engine.name == loaded


def test_requested_engine_without_support_is_rejected(bundle: Bundle) -> None:
    with pytest.raises(UserError, match="the engine torch does not support --compute-type int8"):
        choose(request_for(bundle, compute_type="int8"), "torch")
    with pytest.raises(UserError, match=r"engine 'torhc': no such engine; choose from .*did you mean 'torch'"):
        choose(request_for(bundle), "torhc")
    with pytest.raises(UserError, match="no engine can translate with these settings:\n  ctranslate2 does not"):
        choose(request_for(bundle, compute_type="bfloat16", decoding={"min_length": 2}))


def test_the_engine_of_earlier_versions_is_the_engine_torch(bundle: Bundle) -> None:
    with pytest.warns(UserWarning, match="the engine cpu is a part of the engine torch now"):
        assert choose(request_for(bundle), "cpu").name == "torch"


def test_weights_have_half_precision_on_gpus_that_support_it(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    assert request_for(bundle).weight_type == "float32"
    for fast, weights in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, fast=fast: fast)
        request = request_for(bundle, device=torch.device("cuda"))
        assert request.weight_type == weights
        assert choose(request).name == "torch"
        assert request_for(bundle, device=torch.device("cuda"), compute_type="float32").weight_type == "float32"
    with pytest.raises(UserError, match="--compute-type bfloat16 on the device cpu"):
        choose(request_for(bundle, compute_type="bfloat16"), "torch")
    with pytest.raises(UserError, match="--compute-type bfloat16"):
        choose(request_for(bundle, compute_type="bfloat16"), "ctranslate2")


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("variant", ["pre-norm, tied", "post-norm, two vocabularies", "rotary, swiglu"])
def test_engines_agree(variant: str, beam_size: int, tmp_path: Path) -> None:
    bundle = make_bundle(variant)
    bundle.save(tmp_path / "bundle")
    sources = [ids for ids in bundle.source.encode(sentences()) if ids]
    update = {"beam_size": beam_size, "n_best": beam_size, "max_length": 40}
    engines = [open_engine(request_for(bundle, decoding=update | each), "torch") for each in ({"cache": False}, {})]
    request = request_for(bundle, tmp_path / "bundle", decoding=update)
    engines += [open_engine(request)]
    expected = engines[0].translate(sources)
    for engine in engines[1:]:
        found = engine.translate(sources)
        assert [best[0].tokens for best in found] == [best[0].tokens for best in expected]
        for ours, theirs in zip(found, expected, strict=True):
            assert ours[0].log_probabilities == pytest.approx(theirs[0].log_probabilities, abs=1e-4)


def test_every_engine_scores_given_translations_with_the_model(bundle: Bundle, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    bundle.save(tmp_path / "bundle")
    sources = bundle.source.encode(sentences())
    targets = bundle.target.encode(["A dog runs.", ""] * (len(sources) // 2) + ["Two women."] * (len(sources) % 2))
    engines = [open_engine(request_for(bundle, tmp_path / "bundle"), name) for name in ENGINES]
    expected = score_targets([bundle.model], bundle, sources, targets)
    assert [len(each.log_probabilities) for each in expected] == [len(target) + 1 for target in targets]
    for engine in engines:
        for ours, theirs in zip(engine.score(sources, targets), expected, strict=True):
            assert ours.log_probabilities == pytest.approx(theirs.log_probabilities, abs=1e-4)
            assert ours.predictions == theirs.predictions


def test_an_engine_records_its_search_if_another_must_be_opened_for_it(bundle: Bundle, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    bundle.save(tmp_path / "bundle")
    by_name = {name: dragoman.load(tmp_path / "bundle", device="cpu", engine=name) for name in ENGINES}
    ours, theirs = (each.explain("Ein Hund läuft.") for each in by_name.values())
    assert ours.translation.text == theirs.translation.text
    assert ours.steps == theirs.steps


def test_scores_do_not_depend_on_how_many_tokens_are_scored_together(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, targets = (side.encode(sentences()) for side in (bundle.source, bundle.target))
    engine = open_engine(request_for(bundle), "torch")
    together = engine.score(sources, targets)
    monkeypatch.setattr("dragoman.engines.scoring.LOGIT_ROWS", 7)
    for one, other in zip(engine.score(sources, targets), together, strict=True):
        assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-5)


def test_a_new_engine_is_one_module_and_one_line(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    class Parrot:
        name, max_length, weight_type, model = "parrot", 21, "float32", bundle.model

        def translate(
            self, sources: Any, prefixes: Any = None, trace: Any = None, copies: Any = None
        ) -> list[list[Hypothesis]]:
            word = bundle.target.encode(["parrot"])[0]
            return [[Hypothesis(word, [0.0] * (len(word) + 1), 0.0)] for _ in sources]

        def score(self, sources: Any, targets: Any) -> list[TargetScores]:
            return [TargetScores([0.0] * (len(target) + 1), []) for target in targets]

    module: Any = ModuleType("parrot_engine")
    module.unsupported, module.open_engine = lambda request: [], lambda request: Parrot()
    monkeypatch.setitem(sys.modules, "parrot_engine", module)
    monkeypatch.setitem(ENGINES, "parrot", "parrot_engine")
    translator = Translator(bundle, engine=open_engine(request_for(bundle), "parrot"))
    assert [str(each) for each in translator(["Ein Hund", "", "Zwei Hunde"])] == ["parrot", "", "parrot"]
    assert translator.source_limit == 20


def test_verbose_names_the_engine_and_the_reasons(bundle: Bundle, tmp_path: Path, command: Command) -> None:
    bundle.save(tmp_path / "bundle")
    arguments = ("translate", tmp_path / "bundle", "Ein Hund", "--verbose", "--device", "cpu")
    shown = command(*arguments, "--set", "decoding.sampling=true")
    assert shown.code == 0
    assert "dragoman: engine: " in shown.error
    assert "ctranslate2 does not support " in shown.error
    assert "device: cpu" in shown.error
    assert command(*arguments[:3]).error == ""


@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without a GPU")
def test_a_device_that_is_not_there_is_refused(bundle: Bundle, tmp_path: Path, command: Command) -> None:
    bundle.save(tmp_path / "bundle")
    refused = command("translate", tmp_path / "bundle", "Ein Hund", "--device", "cuda")
    assert refused.code == 2
    assert "device 'cuda' cannot be used" in refused.error
