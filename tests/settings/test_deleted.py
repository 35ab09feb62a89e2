"""Settings of earlier versions: their default loads, other values are refused by name, and bundles always load."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.recipe import DELETED, build_recipe
from dragoman.settings.recipe import field_at

if TYPE_CHECKING:
    from conftest import RecipeMaker

OTHER_VALUES = {"decoding.shortlist": True, "training.pull_to_start": 10.0, "training.validation_beam_size": 4}


def with_setting(document: dict[str, Any], name: str, value: object) -> dict[str, Any]:
    section, _, key = name.partition(".")
    return document | {section: document[section] | {key: value}}


@pytest.mark.parametrize("name", DELETED)
def test_deleted_settings_load_with_their_default_only(name: str, make_recipe: RecipeMaker) -> None:
    assert field_at(tuple(name.split("."))) is None
    recipe = make_recipe()
    default, other = DELETED[name].default, OTHER_VALUES[name]
    assert build_recipe(with_setting(recipe.to_dict(), name, default)) == recipe
    assert build_recipe(recipe.to_dict(), [f"{name}={json.dumps(default)}"]) == recipe
    refused = f"^recipe: {name}: this setting was removed"
    with pytest.raises(UserError, match=refused):
        build_recipe(with_setting(recipe.to_dict(), name, other))
    with pytest.raises(UserError, match=refused):
        build_recipe(recipe.to_dict(), [f"{name}={json.dumps(other)}"])


def test_deleted_settings_are_reported_with_other_problems(make_recipe: RecipeMaker) -> None:
    document = with_setting(make_recipe().to_dict(), "decoding.beam_size", 0)
    with pytest.raises(UserError, match=r"2 problems(.|\n)*shortlist(.|\n)*beam_size"):
        build_recipe(with_setting(document, "decoding.shortlist", True))


def test_bundles_load_with_any_value_of_deleted_settings(finished_run: Path, tmp_path: Path) -> None:
    shutil.copytree(finished_run / "bundle", tmp_path / "bundle")
    path = tmp_path / "bundle" / "bundle.json"
    about = json.loads(path.read_text("utf-8"))
    for name, value in OTHER_VALUES.items():
        about["recipe"] = with_setting(about["recipe"], name, value)
    about["sha256"]["shortlist.safetensors"] = "of an earlier version"
    (tmp_path / "bundle" / "shortlist.safetensors").write_bytes(b"not read")
    path.write_text(json.dumps(about), "utf-8")
    assert Bundle.load(tmp_path / "bundle").recipe == Bundle.load(finished_run).recipe
