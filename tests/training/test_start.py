"""Trainings that start from a bundle: what they copy, refuse, need when resumed, and report."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import dragoman
from dragoman.bundle import Bundle
from dragoman.dataset.prepare import prepare
from dragoman.errors import UserError
from dragoman.evaluation.evaluate import evaluate
from dragoman.system.files import sha256
from dragoman.training.loop.trainer import Trainer
from dragoman.training.run import run_data
from dragoman.training.run.log import read_metrics
from dragoman.training.run.run import train

if TYPE_CHECKING:
    from conftest import RecipeMaker
    from dragoman.settings import Recipe

SHORT = ("training.steps=12", "training.validations=3", "training.average=1", "model.dropout=0.1")
SHARE = "training.start_share=0.5"

pytestmark = pytest.mark.usefixtures("bare_runs")


@pytest.fixture
def base(finished_run: Path, tmp_path: Path) -> Path:
    """A copy of the tiny run's bundle, which tests may change."""
    ignored = shutil.ignore_patterns("ctranslate2-*", ".ctranslate2-*")
    return Path(shutil.copytree(finished_run / "bundle", tmp_path / "base", ignore=ignored))


class Adapting:
    """Makes recipes that start from the base, on other text."""

    def __init__(self, make_recipe: RecipeMaker, base: Path, corpus: Path) -> None:
        self._make, self.base, self._text = make_recipe, base, f'["{corpus}/validation.{{lang}}"]'

    def recipe(self, *overrides: str) -> Recipe:
        text = (f"data.train={self._text}", f"data.test={self._text}")
        return self._make(*SHORT, *text, f"training.start_from={self.base}", *overrides)


@pytest.fixture
def adapting(make_recipe: RecipeMaker, base: Path, corpus: Path) -> Adapting:
    return Adapting(make_recipe, base, corpus)


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "bundle" / "model.safetensors")


def interrupt(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Make all trainings stop after a step."""
    take_step = Trainer.take_step

    def stopping(trainer: Trainer, batches: Any) -> None:
        take_step(trainer, batches)
        trainer.stop.requested = trainer.state.progress.step == step

    monkeypatch.setattr(Trainer, "take_step", stopping)


def damage(base: Path, name: str) -> None:
    """Write NaN into a tensor of a bundle, and its new digest into bundle.json."""
    path, about = base / "model.safetensors", json.loads((base / "bundle.json").read_text())
    tensors = load_file(path)
    tensors[name][0] = torch.nan
    save_file(tensors, path)
    about["sha256"]["model.safetensors"] = sha256(path)
    (base / "bundle.json").write_text(json.dumps(about))


def test_final_weights_are_the_mean_of_trained_and_initial_ones(adapting: Adapting, tmp_path: Path) -> None:
    old = load_file(adapting.base / "model.safetensors")
    assert train(adapting.recipe(), tmp_path / "alone")
    assert train(adapting.recipe("training.start_share=0.25"), tmp_path / "mixed")
    trained, mixed = weights(tmp_path / "alone"), weights(tmp_path / "mixed")
    for name, tensor in mixed.items():
        torch.testing.assert_close(tensor, 0.75 * trained[name] + 0.25 * old[name])
    before, after = Bundle.load(adapting.base), Bundle.load(tmp_path / "mixed")
    assert before.source.to_json() == after.source.to_json()


@pytest.mark.parametrize(
    "more",
    [
        pytest.param((), marks=pytest.mark.slow),
        pytest.param((SHARE,), marks=pytest.mark.slow),
        (SHARE, "training.new_vocabulary=true", "text.vocabulary_size=350"),
    ],
)
def test_a_resumed_adaptation_is_the_same_bit_for_bit(
    more: tuple[str, ...], adapting: Adapting, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighted = f'{{corpus = "{corpus}/train.{{lang}}", weight = 0.3}}'
    recipe = adapting.recipe(*more, f'data.train=["{corpus}/test.{{lang}}", {weighted}]', "training.ema_decay=0.9")
    assert train(recipe, tmp_path / "whole")
    with monkeypatch.context() as patches:
        interrupt(patches, step=5)
        assert not train(recipe, tmp_path / "parts")
    if not more:
        shutil.rmtree(adapting.base)  # the checkpoint suffices
    assert train(recipe, tmp_path / "parts", resume=True)
    whole, parts = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_a_bundle_that_is_replaced_while_the_text_is_read_is_not_used(
    adapting: Adapting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a resumed run would mix in other weights than those it started from."""
    recipe, run, before = adapting.recipe(SHARE), tmp_path / "run", tmp_path / "before"
    assert train(recipe, tmp_path / "whole")
    shutil.copytree(adapting.base, before)

    def replace_bundle(*arguments: Any) -> Any:
        bundle = Bundle.load(adapting.base)
        with torch.no_grad():
            bundle.model.output.weight += 1
        bundle.save(adapting.base)
        return prepare(*arguments)

    with monkeypatch.context() as patches:
        patches.setattr(run_data, "prepare", replace_bundle)
        interrupt(patches, step=5)
        assert not train(recipe, run)
    with pytest.raises(UserError, match="not the bundle that the run was started from, or it was changed"):
        train(recipe, run, resume=True)
    shutil.rmtree(adapting.base)
    before.rename(adapting.base)
    assert train(recipe, run, resume=True)
    whole, parts = weights(tmp_path / "whole"), weights(run)
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_a_run_that_uses_the_old_weights_needs_their_bundle(
    adapting: Adapting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, run = adapting.recipe(SHARE), tmp_path / "run"
    with monkeypatch.context() as patches:
        interrupt(patches, step=5)
        assert not train(recipe, run)
    tensors = load_file(adapting.base / "model.safetensors")
    bundle = Bundle.load(adapting.base)
    with torch.no_grad():
        bundle.model.output.weight += 1
    bundle.save(adapting.base)
    with pytest.raises(UserError, match="not the bundle that the run was started from, or it was changed"):
        train(recipe, run, resume=True)
    shutil.rmtree(adapting.base)
    with pytest.raises(UserError, match=r"training.start_from: .*base"):
        train(recipe, run, resume=True)
    assert tensors


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.d_model=64", "model.d_model: 64 in the recipe, 32 in the bundle"),
        ("model.norm=post", "model.norm: 'post' in the recipe, 'pre' in the bundle"),
        ("text.vocabulary_size=500", "text.vocabulary_size: 500 in the recipe, 400 in the bundle"),
        ("text.lowercase=true", "text.lowercase: True in the recipe, False in the bundle"),
        ("data.target_language=fr", "translates de-en, not de-fr"),
        ("training.start_from=missing", "training.start_from: missing"),
    ],
)
def test_a_bundle_that_does_not_fit_is_refused(override: str, message: str, adapting: Adapting, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        train(adapting.recipe(override), tmp_path / "run")
    assert message in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_settings_without_weights_may_differ(adapting: Adapting, tmp_path: Path) -> None:
    changes = ("model.dropout=0.4", "model.max_length=200", "data.source_language=de-AT", "model.implementation=torch")
    same = ("model.attention_dropout=0.4", "model.activation_dropout=0.4", "training.steps=1")
    text = str(adapting.recipe().data.train[0])
    named = tmp_path / "text.tsv"
    lines = zip(*(Path(text.format(lang=code)).read_text("utf-8").splitlines() for code in ("de", "en")), strict=True)
    named.write_text("".join(f"{one}\t{other}\n" for one, other in lines), "utf-8")
    recipe = adapting.recipe(*changes, *same, f'data.train=["{named}"]', "data.validation=[]", "data.test=[]")
    assert train(recipe, tmp_path / "run")


def test_broken_weights_are_refused(adapting: Adapting, tmp_path: Path) -> None:
    damage(adapting.base, "encoder.0.attention.qkv.weight")
    with pytest.raises(UserError, match=r"training.start_from: .*contains NaN or infinite values"):
        train(adapting.recipe(), tmp_path / "run")
    (adapting.base / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(UserError, match=r"training.start_from: .*damaged"):
        train(adapting.recipe(), tmp_path / "run")


def test_scores_before_and_after_are_logged_and_shown(adapting: Adapting, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert train(adapting.recipe(), run)
    lines = [line for line in read_metrics(run / "metrics.jsonl") if line["kind"] == "comparison"]
    old_test, new_test = (f"{corpus}/{name}.{{lang}}" for name in ("test", "validation"))
    assert {line["name"]: line["old_text"] for line in lines} == {new_test: False, "validation": False, old_test: True}
    sources, references = ((corpus / f"test.{code}").read_text("utf-8").splitlines() for code in ("de", "en"))
    for key, path in (("before", adapting.base), ("after", run)):
        report, _ = evaluate(dragoman.load(path), sources, references)
        logged = next(line for line in lines if line["old_text"])[key]
        assert (logged["bleu"], logged["chrf"]) == pytest.approx((report.bleu, report.chrf), abs=0.3)
    page = (run / "report.html").read_text("utf-8")
    assert "Before and after" in page
    assert f"{old_test} (old text)" in page


def test_another_language_needs_another_vocabulary(adapting: Adapting, tmp_path: Path) -> None:
    """Text of the bundle in other languages is not scored."""
    bundle = Bundle.load(adapting.base)
    data = bundle.recipe.data.model_copy(update={"source_language": "nl"})
    replace(bundle, recipe=bundle.recipe.model_copy(update={"data": data})).save(adapting.base)
    with pytest.raises(UserError, match="translates nl-en, not de-en"):
        train(adapting.recipe(), tmp_path / "run")
    settings = ("training.new_vocabulary=true", "text.vocabulary_size=350")
    assert train(adapting.recipe(*settings), tmp_path / "run")
    assert len(dragoman.load(tmp_path / "run").bundle.source.vocabulary) == 350
    assert train(adapting.recipe(*settings, "training.start_share=0.5"), tmp_path / "mixed")
    name = next(name for name in weights(tmp_path / "run") if name.endswith("attention.qkv.weight"))
    old, new = load_file(adapting.base / "model.safetensors")[name], weights(tmp_path / "run")[name]
    torch.testing.assert_close(weights(tmp_path / "mixed")[name], (old + new) / 2)
    assert not [line for line in read_metrics(tmp_path / "run" / "metrics.jsonl") if line["kind"] == "comparison"]


def test_old_text_that_is_gone_is_announced(
    adapting: Adapting, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = Bundle.load(adapting.base)
    data = bundle.recipe.data.model_copy(update={"test": ("gone.tsv",)})
    replace(bundle, recipe=bundle.recipe.model_copy(update={"data": data})).save(adapting.base)
    assert train(adapting.recipe("training.steps=1", "training.validations=1"), tmp_path / "run")
    assert "old text is not scored: gone.tsv" in capsys.readouterr().err
