"""The built-in recipes load and explain every key; the documentation of settings is up to date."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from dragoman.recipe import builtin_recipes, load_recipe

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes").glob("*.toml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipe_loads_and_is_named_after_its_file(path: Path) -> None:
    assert load_recipe(path).name == path.stem


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_key_has_a_comment(path: Path) -> None:
    explained = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("#"):
            explained = True
        elif "=" in line:
            assert explained, f"{path.name} line {number}: no comment above this block"
        else:
            explained = False


def test_package_contains_all_recipes() -> None:
    assert [path.name for path in builtin_recipes().values()] == [path.name for path in RECIPES]


def test_documentation_of_settings_is_up_to_date() -> None:
    written = runpy.run_path(str(ROOT / "docs" / "generate_recipes.py"))
    page, own_data = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("recipes.md", "own-data.md"))
    assert page == written["render"](), "run make docs"
    serving = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    assert serving == written["with_serving"](serving), "run make docs"
    assert own_data == written["with_table"](own_data), "run make docs"
    recipe = (ROOT / "recipes" / "own-data.toml").read_text(encoding="utf-8")
    assert recipe == written["own_data_recipe"](), "run make docs"
