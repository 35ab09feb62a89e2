"""Bundles: a loaded bundle equals the saved one; damage is reported; failures to save change nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import dragoman
from dragoman.bundle import Bundle, bundle_digest, find_bundle, same_languages
from dragoman.engines.choose import ENGINES
from dragoman.errors import UserError
from dragoman.evaluation.scoring import score
from dragoman.model.build import build_model
from dragoman.settings import Text
from dragoman.system.files import sha256
from dragoman.text.registry import load_tokenizers, train_tokenizers
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command, FileLimit, SmallDisk
    from dragoman.model.transformer import Transformer

TEXTS = ["Ein Hund läuft.", "Zwei Frauen lesen ein Buch.", ""]
Digests = Callable[[Path], dict[str, str]]

CONVERTED = shutil.ignore_patterns("ctranslate2-*", ".ctranslate2-*")
"""What the engine ctranslate2 adds to the bundle of the tiny run when another test translates with it."""


@pytest.fixture
def bundle(finished_run: Path, tmp_path: Path) -> Path:
    """A copy of the tiny run's bundle, which tests may damage."""
    return Path(shutil.copytree(finished_run / "bundle", tmp_path / "bundle", ignore=CONVERTED))


def change_json(bundle: Path, **changes: Any) -> None:
    """Change keys of bundle.json; None removes a key."""
    about = json.loads((bundle / "bundle.json").read_text()) | changes
    kept = {key: value for key, value in about.items() if value is not None}
    (bundle / "bundle.json").write_text(json.dumps(kept))


def update_digests(bundle: Path) -> None:
    """Change the digests in bundle.json to those of the files."""
    digests = json.loads((bundle / "bundle.json").read_text())["sha256"]
    change_json(bundle, sha256={name: sha256(bundle / name) for name in digests})


def test_loaded_bundle_equals_the_saved_one(translator: Translator, tmp_path: Path) -> None:
    saved = replace(translator.bundle, scores={"test": {"bleu": 12.3}})
    saved.save(tmp_path / "copy")
    loaded = Bundle.load(tmp_path / "copy")
    assert loaded.recipe == saved.recipe
    assert loaded.scores == saved.scores
    assert loaded.source.to_json() == saved.source.to_json()
    assert not loaded.model.training
    source, target = torch.randint(4, 400, (2, 7)), torch.randint(4, 400, (2, 9))
    with torch.inference_mode():
        assert torch.equal(loaded.model(source, target), saved.model(source, target))
    assert Translator(loaded)(TEXTS) == translator(TEXTS)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_each_parameter_is_saved_once_in_float32(dtype: torch.dtype, translator: Translator, tmp_path: Path) -> None:
    model = deepcopy(translator.bundle.model).to(dtype)
    replace(translator.bundle, weights=model).save(tmp_path / "copy")
    weights = load_file(tmp_path / "copy" / "model.safetensors")
    assert weights.keys() == dict(model.named_parameters()).keys()
    for name, parameter in model.named_parameters():
        assert weights[name].dtype == torch.float32
        assert torch.equal(weights[name], parameter.float())


def test_loading_imports_no_compiler(finished_run: Path) -> None:
    """torch imports its compiler for some operations on the device "meta", which takes longer than everything else."""
    load = f"from dragoman.bundle import Bundle; Bundle.load({str(finished_run)!r}).model"
    command = [sys.executable, "-c", f"{load}; import sys; sys.exit('torch._dynamo' in sys.modules)"]
    assert subprocess.run(command).returncode == 0


def test_languages_are_compared_without_regions_as_far_as_they_are_known() -> None:
    assert all(same_languages(("en", "de"), each) for each in (("en-GB", "de-CH"), ("und", "deu")))
    assert not any(same_languages(("en", "de"), each) for each in (("de", "en"), ("und", "en")))


def test_load_accepts_runs_and_bundles(finished_run: Path) -> None:
    assert find_bundle(finished_run) == find_bundle(finished_run / "bundle") == finished_run / "bundle"
    assert dragoman.load(finished_run)(TEXTS) == dragoman.load(str(finished_run / "bundle"))(TEXTS)


def test_bundle_does_not_need_its_run(bundle: Path, translator: Translator) -> None:
    assert dragoman.load(bundle)(TEXTS) == translator(TEXTS)


def test_readme_has_languages_parameters_and_scores(bundle: Path, translator: Translator) -> None:
    readme = (bundle / "README.md").read_text()
    assert "from German (de) to English (en)" in readme
    ((name, score),) = translator.bundle.scores.items()
    assert f"{name}: BLEU {score['bleu']:.2f}, chrF {score['chrf']:.2f}" in readme
    score = translator.bundle.validation
    assert f"validation: BLEU {score['bleu']:.2f}, chrF {score['chrf']:.2f}, chrF++ " in readme
    assert "The validation text is validation.{lang}. It chose the checkpoint" in readme
    assert "What it is bad at" in readme
    assert f"with a vocabulary of {len(translator.bundle.source.vocabulary):,} entries." in readme
    assert f"{sum(parameter.numel() for parameter in translator.bundle.model.parameters()):,} parameters" in readme


def test_save_replaces_an_existing_bundle(bundle: Path, translator: Translator) -> None:
    (bundle / "leftover").write_text("from an older version")
    replace(translator.bundle, scores={"new": 1}).save(bundle)
    assert Bundle.load(bundle).scores == {"new": 1}
    assert not (bundle / "leftover").exists()
    assert [path.name for path in bundle.parent.iterdir()] == ["bundle"]


@pytest.mark.parametrize("lost", [["bundle.json"], ["model.safetensors"], ["model.safetensors", "README.md"]], ids=str)
def test_save_replaces_an_incomplete_bundle(lost: list[str], bundle: Path, translator: Translator) -> None:
    for name in lost:
        (bundle / name).unlink()
    translator.bundle.save(bundle)
    assert Bundle.load(bundle).digest == translator.bundle.digest


@pytest.mark.parametrize("name", ["thesis.doc", "bundle.json"])
def test_save_replaces_nothing_else(name: str, translator: Translator, tmp_path: Path) -> None:
    content = '{"format": "webpack"}'
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match="is not a bundle; move or delete it"):
        translator.bundle.save(tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, content)]


def test_save_refuses_a_name_that_is_too_long(translator: Translator, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="File name too long"):
        translator.bundle.save(tmp_path / ("a" * 300))


def test_a_bundle_that_was_being_replaced_is_found(bundle: Path, translator: Translator) -> None:
    """Its process was killed between the two renames."""
    bundle.rename(bundle.with_name(f".{bundle.name}.old-999999999"))
    loaded = Bundle.load(bundle)
    for name, weight in translator.bundle.model.named_parameters():
        assert torch.equal(weight, dict(loaded.model.named_parameters())[name])


def doubled(translator: Translator) -> Transformer:
    """The model of a translator with other weights."""
    model = deepcopy(translator.bundle.model)
    with torch.no_grad():
        model.source_embedding.weight.mul_(2)
    return model


def test_the_model_of_a_replaced_bundle_is_not_mixed_with_its_other_files(bundle: Path, translator: Translator) -> None:
    read, unread = Bundle.load(bundle), Bundle.load(bundle)
    before = read.model
    replace(translator.bundle, weights=doubled(translator)).save(bundle)
    assert read.model is before
    with pytest.raises(UserError, match="the bundle was replaced or deleted after it was loaded; load it again"):
        _ = unread.model


def test_a_bundle_that_is_replaced_while_it_is_read_is_the_new_one(
    bundle: Path, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, new = load_tokenizers, replace(translator.bundle, weights=doubled(translator))

    def read_and_replace(directory: Path) -> Any:
        tokenizers = read(directory)
        monkeypatch.undo()
        new.save(bundle)
        return tokenizers

    monkeypatch.setattr(dragoman.bundle, "load_tokenizers", read_and_replace)
    loaded = Bundle.load(bundle)
    assert torch.equal(loaded.model.source_embedding.weight, new.model.source_embedding.weight)
    assert loaded.json_sha256 == sha256(bundle / "bundle.json")
    assert loaded.digest == bundle_digest(bundle)


def test_full_disk_leaves_the_existing_bundle_unchanged(
    finished_run: Path, translator: Translator, small_disk: SmallDisk, digests: Digests
) -> None:
    small_disk.resize(300)
    path = small_disk.path / "bundle"
    shutil.copytree(finished_run / "bundle", path, ignore=CONVERTED)
    before = digests(small_disk.path)
    with pytest.raises(UserError, match=r"bundle: could not be saved: .*No space left on device"):
        translator.bundle.save(path)
    assert digests(small_disk.path) == before
    assert Translator(Bundle.load(path))(TEXTS) == Translator(translator.bundle)(TEXTS)
    small_disk.resize(1000)
    translator.bundle.save(path)


@pytest.mark.parametrize("limit", [100, 100_000])
def test_failed_write_leaves_the_existing_bundle_unchanged(
    limit: int, bundle: Path, translator: Translator, files_limited_to: FileLimit, digests: Digests
) -> None:
    before = digests(bundle.parent)
    with files_limited_to(limit), pytest.raises(UserError, match=r"bundle: could not be saved: .*File too large"):
        translator.bundle.save(bundle)
    assert digests(bundle.parent) == before


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def to_file(name: str, damage: Callable[[Path], None]) -> Callable[[Path], None]:
    """Damage one file of a bundle."""
    return lambda bundle: damage(bundle / name)


def empty(bundle: Path) -> None:
    shutil.rmtree(bundle)
    bundle.mkdir()


def replace_by_file(bundle: Path) -> None:
    shutil.rmtree(bundle)
    bundle.write_text("x")


def extend(path: Path) -> None:
    """Append zeros, which take no space on the disk; reading them would take memory and minutes."""
    os.truncate(path, 100_000_000_000)


FILES = ("model.safetensors", "source.tokenizer.json", "target.tokenizer.json")
DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    **{f"truncated {name}": (to_file(name, truncate), f"{name}: damaged") for name in FILES},
    **{f"flipped {name}": (to_file(name, flip), f"{name}: damaged") for name in FILES},
    "huge bundle.json": (to_file("bundle.json", extend), "bundle.json: damaged (larger than 50,000,000 bytes)"),
    **{f"huge {name}": (to_file(name, extend), f"{name}: damaged") for name in FILES},
    **{f"without {name}": (to_file(name, Path.unlink), f"{name}: missing") for name in FILES},
    "missing directory": (shutil.rmtree, "bundle: no such bundle"),
    "empty directory": (empty, "bundle: not a dragoman bundle"),
    "a file": (replace_by_file, "bundle: not a dragoman bundle, which is a directory"),
    "invalid JSON": (lambda path: truncate(path / "bundle.json"), "bundle.json: not valid JSON"),
    "no JSON object": (lambda path: (path / "bundle.json").write_text("[]"), "bundle.json: not a JSON object"),
    "other program": (
        lambda path: (path / "bundle.json").write_text('{"model_type": "marian"}'),
        "bundle.json: not a dragoman bundle",
    ),
    "newer version": (
        lambda path: change_json(path, version=2, recipe=["something new"], sha256=None),
        "bundle.json: bundle format 2 is newer than the 1",
    ),
    "no version": (lambda path: change_json(path, version=None), "bundle.json: bundle format None"),
    "long version": (lambda path: change_json(path, version="x" * 1_000_000), f"bundle format {'x' * 59}… is"),
    "long format": (lambda path: change_json(path, format=["x"] * 100_000), "(its format is ['x', 'x', "),
    "long number": (
        lambda path: (path / "bundle.json").write_text('{"version": ' + "9" * 100_000 + "}"),
        "bundle.json: a number has too many digits",
    ),
    "no digests": (lambda path: change_json(path, sha256=None), "bundle.json: damaged (the table 'sha256' is missing)"),
    "invalid digests": (lambda path: change_json(path, sha256=["x"]), "bundle.json: damaged (the table 'sha256'"),
    "invalid scores": (lambda path: change_json(path, scores=7), "bundle.json: damaged (the table 'scores'"),
    "deeply nested": (
        lambda path: (path / "bundle.json").write_text('{"a":' * 100_000),
        "bundle.json: not valid JSON (nested too deeply)",
    ),
    "no recipe": (lambda path: change_json(path, recipe=None), "bundle.json: damaged (the table 'recipe' is missing)"),
    "invalid recipe": (lambda path: change_json(path, recipe="x"), "bundle.json: damaged (the table 'recipe'"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_load_names_the_damaged_file(damage: Callable[[Path], object], message: str, bundle: Path) -> None:
    damage(bundle)
    with pytest.raises(UserError) as error:
        Bundle.load(bundle)
    assert message in str(error.value)
    assert str(bundle) in str(error.value)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d_model": 64}, "model.safetensors: source_embedding.weight has shape (400, 32), not (400, 64)"),
        ({"decoder_layers": 2}, "model.safetensors: its weights do not fit the recipe"),
        ({"tie": "none"}, "model.safetensors: its weights do not fit the recipe"),
        ({"heads": 5}, "bundle.json: model: d_model = 32 is not divisible by heads = 5"),
        ({"hats": 5}, "bundle.json: model.hats: unknown key"),
    ],
    ids=str,
)
def test_load_rejects_a_recipe_that_does_not_fit_the_weights(
    change: dict[str, Any], message: str, bundle: Path
) -> None:
    recipe = json.loads((bundle / "bundle.json").read_text())["recipe"]
    change_json(bundle, recipe=recipe | {"model": recipe["model"] | change})
    with pytest.raises(UserError) as error:
        _ = Bundle.load(bundle).model
    assert f"{bundle}/{message}" in str(error.value)


@pytest.mark.parametrize(
    "change",
    [
        {"d_model": 65_536, "heads": 4096},
        {"d_ff": 1_000_000},
        {"encoder_layers": 1000, "decoder_layers": 1000},
        {"encoder_layers": 1000, "implementation": "torch", "attention_dropout": 0.1, "activation_dropout": 0.1},
        {"positions": "learned", "max_length": 100_000},
        {"tie": "none", "d_model": 4096},
    ],
    ids=str,
)
def test_sizes_are_compared_with_the_weights_before_memory_is_allocated(
    change: dict[str, Any], bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices: list[str] = []

    def recorded(*arguments: Any, **options: Any) -> Any:
        devices.append(torch.get_default_device().type)
        return build_model(*arguments, **options)

    monkeypatch.setattr("dragoman.model.build.build_model", recorded)
    _ = Bundle.load(bundle).model
    assert devices == ["meta", "cpu"], "a good bundle is compared, then built"
    recipe = json.loads((bundle / "bundle.json").read_text())["recipe"]
    change_json(bundle, recipe=recipe | {"model": recipe["model"] | change})
    with pytest.raises(UserError, match=r"model\.safetensors: "):
        _ = Bundle.load(bundle).model
    assert set(devices[2:]) <= {"meta"}


def test_load_rejects_tokenizers_that_do_not_fit_the_weights(bundle: Path) -> None:
    settings = Text(vocabulary_size=300)
    other, _ = train_tokenizers(TEXTS, TEXTS, settings, source_language="de", target_language="en")
    one_replaced = "the vocabularies of the tokenizers differ in size"
    both_replaced = "source_embedding.weight has shape (400, 32), not (300, 32)"
    for name, message in (("target.tokenizer.json", one_replaced), ("source.tokenizer.json", both_replaced)):
        (bundle / name).write_text(json.dumps(other.to_json()))
        update_digests(bundle)
        with pytest.raises(UserError) as error:
            _ = Bundle.load(bundle).model
        assert str(bundle) in str(error.value)
        assert message in str(error.value)


def test_load_rejects_weights_with_other_names(bundle: Path) -> None:
    weights = load_file(bundle / "model.safetensors")
    save_file({f"model.{name}": weight for name, weight in weights.items()}, bundle / "model.safetensors")
    update_digests(bundle)
    with pytest.raises(UserError, match=r"model\.safetensors: its weights do not fit the recipe"):
        _ = Bundle.load(bundle).model


def test_load_of_an_unfinished_run_explains_how_to_finish_it(finished_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(finished_run / "recipe.toml", run)
    with pytest.raises(
        UserError, match=r"run: this run has no bundle yet; finish it with: dragoman train .*run --resume"
    ):
        Bundle.load(run)


@pytest.mark.parametrize("arguments", [("translate", "Hund"), ("info",)], ids=lambda arguments: arguments[0])
@pytest.mark.parametrize("name", ["flipped model.safetensors", "empty directory", "newer version"])
def test_damage_ends_a_command_with_code_2(
    name: str, arguments: tuple[str, ...], bundle: Path, command: Command
) -> None:
    damage, message = DAMAGE[name]
    damage(bundle)
    outcome = command(arguments[0], bundle, *arguments[1:])
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.error


def test_all_files_have_the_same_permissions(finished_run: Path) -> None:
    modes = {path.stat().st_mode for path in (finished_run / "bundle").iterdir() if path.is_file()}
    assert len(modes) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weight: weight * torch.nan, "NaN or infinite"),
        (lambda weight: weight.half(), r"data type F16, not F32 \(float32\)"),
    ],
    ids=["NaN", "float16"],
)
def test_load_rejects_invalid_values(
    change: Callable[[torch.Tensor], torch.Tensor], message: str, bundle: Path
) -> None:
    weights = load_file(bundle / "model.safetensors")
    name = next(iter(weights))
    save_file(weights | {name: change(weights[name])}, bundle / "model.safetensors")
    about = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    about["sha256"]["model.safetensors"] = sha256(bundle / "model.safetensors")
    (bundle / "bundle.json").write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(UserError, match=f"{name} .*{message}"):
        _ = Bundle.load(bundle).model


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("beam_size", [1, 3])
def test_weights_that_overflow_are_reported(engine: str, beam_size: int, bundle: Path) -> None:
    weights = load_file(bundle / "model.safetensors")
    save_file({name: weight * 1e37 for name, weight in weights.items()}, bundle / "model.safetensors")
    update_digests(bundle)
    translator = dragoman.load(bundle, engine=engine, beam_size=beam_size)
    with pytest.raises(UserError, match=r"bundle\.json: the probabilities of translations are not finite"):
        translator("Ein Hund läuft.")
    with pytest.raises(UserError, match=r"bundle\.json: the probabilities of translations are not finite"):
        list(score(translator, [("Ein Hund läuft.", "A dog is running.")]))
