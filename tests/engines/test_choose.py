"""The first engine that supports a request translates, and says why others were passed over."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import torch
from random_bundles import make_bundle, sentences

from dragoman.bundle import Bundle
from dragoman.engines import ENGINES, EngineRequest, choose, open_engine
from dragoman.errors import UserError
from dragoman.kernels.operators import HAS_ONEDNN_LINEAR
from dragoman.search.hypothesis import Hypothesis
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command

needs_onednn = pytest.mark.skipif(not HAS_ONEDNN_LINEAR, reason="this processor has no AVX-512")


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


@needs_onednn
def test_reasons_are_given_for_engines_that_are_rejected(bundle: Bundle, tmp_path: Path) -> None:
    bundle.save(tmp_path / "bundle")
    choice = choose(request_for(bundle, tmp_path / "bundle", decoding={"min_length": 3, "cache": False}))
    assert choice.name == "torch"
    assert "decoding.min_length = 3" in choice.rejected["ctranslate2"]
    assert choice.rejected["cpu"] == ["decoding.cache = false"]
    assert str(choice).startswith("torch (ctranslate2 does not support ")
    assert choose(request_for(bundle)).rejected["ctranslate2"] == ["a bundle that is not on disk"]


@needs_onednn
@pytest.mark.parametrize("variant", ["torch's layers", "rotary, swiglu"])
def test_only_our_model_has_prepacked_weights(variant: str) -> None:
    name = choose(request_for(make_bundle(variant))).name
    assert name == ("torch" if "torch" in variant else "cpu")


def test_requested_engine_without_support_is_rejected(bundle: Bundle) -> None:
    with pytest.raises(UserError, match=r"the engine cpu does not support decoding.cache = false"):
        choose(request_for(bundle, decoding={"cache": False}), "cpu")
    with pytest.raises(UserError, match=r"engine 'torhc': no such engine; choose from .*did you mean 'torch'"):
        choose(request_for(bundle), "torhc")
    with pytest.raises(UserError, match="no engine can translate with these settings:\n  ctranslate2 does not"):
        choose(request_for(bundle, compute_type="bfloat16", decoding={"min_length": 2}))


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
        choose(request_for(bundle, compute_type="bfloat16"), "cpu")


def test_without_oneDNN_torch_translates(  # noqa: N802
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [str(each) for each in Translator(bundle)(sentences())]
    monkeypatch.setattr("dragoman.engines.cpu.engine.HAS_ONEDNN_LINEAR", False)
    translator = Translator(bundle)
    assert translator.engine.name == "torch"
    assert [str(each) for each in translator(sentences())] == expected


@needs_onednn
@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("variant", ["pre-norm, tied", "post-norm, two vocabularies", "rotary, swiglu"])
def test_engines_agree(variant: str, beam_size: int) -> None:
    bundle = make_bundle(variant)
    sources = [ids for ids in bundle.source.encode(sentences()) if ids]
    update = {"beam_size": beam_size, "n_best": beam_size, "max_length": 40}
    expected: list[list[Hypothesis]] = []
    for name, options in (("torch", {"cache": False}), ("torch", {}), ("cpu", {})):
        found = open_engine(request_for(bundle, decoding=update | options), name).translate(sources)
        expected = expected or found
        assert [[each.tokens for each in best] for best in found] == [[e.tokens for e in best] for best in expected]
        for ours, theirs in zip(found, expected, strict=True):
            for one, other in zip(ours, theirs, strict=True):
                assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-4)


@needs_onednn
def test_scores_of_given_translations_agree(bundle: Bundle) -> None:
    sources = bundle.source.encode(sentences())
    targets = bundle.target.encode(["A dog runs.", ""] * (len(sources) // 2) + ["Two women."] * (len(sources) % 2))
    one, other = (open_engine(request_for(bundle), name).score(sources, targets) for name in ("torch", "cpu"))
    assert [len(each) for each in one] == [len(target) + 1 for target in targets]
    for ours, theirs in zip(one, other, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)


def test_scores_do_not_depend_on_how_many_tokens_are_scored_together(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, targets = (side.encode(sentences()) for side in (bundle.source, bundle.target))
    engine = open_engine(request_for(bundle), "torch")
    together = engine.score(sources, targets)
    monkeypatch.setattr("dragoman.engines.scoring.LOGIT_ROWS", 7)
    for one, other in zip(engine.score(sources, targets), together, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_a_new_engine_is_one_module_and_one_line(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    class Parrot:
        name, max_length, weight_type, model = "parrot", 21, "float32", bundle.model

        def translate(
            self, sources: Any, prefixes: Any = None, trace: Any = None, copies: Any = None
        ) -> list[list[Hypothesis]]:
            word = bundle.target.encode(["parrot"])[0]
            return [[Hypothesis(word, [0.0] * (len(word) + 1), 0.0)] for _ in sources]

        def score(self, sources: Any, targets: Any) -> list[list[float]]:
            return [[0.0] * (len(target) + 1) for target in targets]

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
