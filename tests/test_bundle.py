"""Bundles: what is loaded is what was saved; what is damaged is told, and nothing whole is lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import dragoman
from dragoman.bundle import Bundle, find_bundle
from dragoman.errors import UserError
from dragoman.settings import Text
from dragoman.system.files import sha256
from dragoman.text.registry import train_tokenizers
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command, FileLimit, SmallDisk

TEXTS = ["Ein Hund läuft.", "Zwei Frauen lesen ein Buch.", ""]
Digests = Callable[[Path], dict[str, str]]


CONVERTED = shutil.ignore_patterns("ctranslate2-*")


@pytest.fixture
def bundle(finished_run: Path, tmp_path: Path) -> Path:
    """A copy of the tiny run's bundle, to be damaged."""
    return Path(shutil.copytree(finished_run / "bundle", tmp_path / "bundle", ignore=CONVERTED))


def change_about(bundle: Path, **changes: Any) -> None:
    """Change what bundle.json says; None leaves a key out."""
    about = json.loads((bundle / "bundle.json").read_text()) | changes
    kept = {key: value for key, value in about.items() if value is not None}
    (bundle / "bundle.json").write_text(json.dumps(kept))


def sign(bundle: Path) -> None:
    """Make the digests in bundle.json those of the files."""
    digests = json.loads((bundle / "bundle.json").read_text())["sha256"]
    change_about(bundle, sha256={name: sha256(bundle / name) for name in digests})


def test_loaded_bundle_is_the_saved_one(translator: Translator, tmp_path: Path) -> None:
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


def test_weights_are_saved_once_in_float32_whatever_the_model_is_in(translator: Translator, tmp_path: Path) -> None:
    translator.bundle.save(tmp_path / "copy")
    weights = load_file(tmp_path / "copy" / "model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float32}
    assert sum(weight.numel() for weight in weights.values()) == sum(
        parameter.numel() for parameter in translator.bundle.model.parameters()
    )


def test_run_and_bundle_are_both_accepted(finished_run: Path) -> None:
    assert find_bundle(finished_run) == find_bundle(finished_run / "bundle") == finished_run / "bundle"
    assert dragoman.load(finished_run)(TEXTS) == dragoman.load(str(finished_run / "bundle"))(TEXTS)


def test_bundle_needs_nothing_of_its_run(bundle: Path, translator: Translator) -> None:
    assert dragoman.load(bundle)(TEXTS) == translator(TEXTS)
    card = (bundle / "README.md").read_text()
    assert "from de to en" in card
    assert "34," in card, "the number of parameters"


def test_saving_over_a_bundle_replaces_it(bundle: Path, translator: Translator) -> None:
    (bundle / "leftover").write_text("of an older version")
    replace(translator.bundle, scores={"new": 1}).save(bundle)
    assert Bundle.load(bundle).scores == {"new": 1}
    assert not (bundle / "leftover").exists()
    assert [path.name for path in bundle.parent.iterdir()] == ["bundle"]


def test_full_disk_leaves_the_old_bundle(
    finished_run: Path, translator: Translator, small_disk: SmallDisk, digests: Digests
) -> None:
    small_disk.resize(300)
    path = small_disk.path / "bundle"
    shutil.copytree(finished_run / "bundle", path, ignore=CONVERTED)
    before = digests(small_disk.path)
    with pytest.raises(UserError, match=r"bundle: could not be saved: .*No space left on device"):
        translator.bundle.save(path)
    assert digests(small_disk.path) == before
    assert dragoman.load(path)(TEXTS) == translator(TEXTS)
    small_disk.resize(1000)
    translator.bundle.save(path)


@pytest.mark.parametrize("limit", [100, 100_000])
def test_file_grown_too_large_leaves_the_old_bundle(
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


def to_file(name: str, harm: Callable[[Path], None]) -> Callable[[Path], None]:
    """Harm one file of a bundle."""
    return lambda bundle: harm(bundle / name)


def empty(bundle: Path) -> None:
    shutil.rmtree(bundle)
    bundle.mkdir()


def become_file(bundle: Path) -> None:
    shutil.rmtree(bundle)
    bundle.write_text("x")


FILES = ("model.safetensors", "source.tokenizer.json", "target.tokenizer.json")
DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    **{f"truncated {name}": (to_file(name, truncate), f"{name}: damaged") for name in FILES},
    **{f"flipped {name}": (to_file(name, flip), f"{name}: damaged") for name in FILES},
    **{f"without {name}": (to_file(name, Path.unlink), f"{name}: missing") for name in FILES},
    "nothing there": (shutil.rmtree, "bundle: no such bundle"),
    "empty directory": (empty, "bundle: not a dragoman bundle"),
    "a file": (become_file, "bundle: not a dragoman bundle"),
    "broken json": (lambda path: truncate(path / "bundle.json"), "bundle.json: not valid JSON"),
    "no object": (lambda path: (path / "bundle.json").write_text("[]"), "bundle.json: not a JSON object"),
    "foreign": (
        lambda path: (path / "bundle.json").write_text('{"model_type": "marian"}'),
        "bundle.json: not a dragoman bundle",
    ),
    "newer": (
        lambda path: change_about(path, version=2, recipe=["something new"], sha256=None),
        "bundle.json: bundle format 2 is newer than the 1",
    ),
    "no version": (lambda path: change_about(path, version=None), "bundle.json: "),
    "no digests": (lambda path: change_about(path, sha256=None), "bundle.json: damaged"),
    "odd digests": (lambda path: change_about(path, sha256=["x"]), "bundle.json: "),
    "no recipe": (lambda path: change_about(path, recipe=None), "bundle.json: "),
    "odd recipe": (lambda path: change_about(path, recipe="quickstart"), "bundle.json: "),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_told_with_the_file(damage: Callable[[Path], object], message: str, bundle: Path) -> None:
    damage(bundle)
    with pytest.raises(UserError) as told:
        Bundle.load(bundle)
    assert message in str(told.value)
    assert str(bundle) in str(told.value)


@pytest.mark.parametrize(
    ("section", "change"),
    [
        ("model", {"d_model": 64}),
        ("model", {"decoder_layers": 2}),
        ("model", {"tie": "none"}),
        ("model", {"heads": 5}),
        ("model", {"hats": 5}),
    ],
)
def test_recipe_that_does_not_fit_the_weights_is_told(section: str, change: dict[str, Any], bundle: Path) -> None:
    recipe = json.loads((bundle / "bundle.json").read_text())["recipe"]
    change_about(bundle, recipe=recipe | {section: recipe[section] | change})
    with pytest.raises(UserError) as told:
        Bundle.load(bundle)
    assert str(bundle) in str(told.value)


def test_tokenizer_that_does_not_fit_the_weights_is_told(bundle: Path) -> None:
    settings = Text(vocabulary_size=300)
    other, _ = train_tokenizers(TEXTS, TEXTS, settings, source_language="de", target_language="en")
    for name in ("target.tokenizer.json", "source.tokenizer.json"):  # one of them, then both
        (bundle / name).write_text(json.dumps(other.to_json()))
        sign(bundle)
        with pytest.raises(UserError) as told:
            Bundle.load(bundle)
        assert str(bundle) in str(told.value)


def test_weights_under_other_names_are_told(bundle: Path) -> None:
    weights = load_file(bundle / "model.safetensors")
    save_file({f"model.{name}": weight for name, weight in weights.items()}, bundle / "model.safetensors")
    sign(bundle)
    with pytest.raises(UserError, match=r"model\.safetensors: its weights do not fit the recipe"):
        Bundle.load(bundle)


def test_unfinished_run_is_told_how_to_finish(finished_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(finished_run / "recipe.toml", run)
    with pytest.raises(UserError, match="run: this run has no bundle yet; finish it with dragoman train --resume"):
        Bundle.load(run)


@pytest.mark.parametrize("name", ["flipped model.safetensors", "nothing there", "newer"])
def test_damage_ends_a_command_with_code_2(name: str, bundle: Path, command: Command) -> None:
    damage, message = DAMAGE[name]
    damage(bundle)
    for verb in (("translate", bundle, "Hund"), ("info", bundle)):
        outcome = command(*verb)
        assert outcome.code == 2
        assert outcome.out == ""
        assert message in outcome.error or (verb[0] == "info" and "no such recipe" in outcome.error)


def test_all_files_have_the_same_permissions(finished_run: Path) -> None:
    modes = {path.stat().st_mode for path in (finished_run / "bundle").iterdir() if path.is_file()}
    assert len(modes) == 1
