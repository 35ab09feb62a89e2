"""Recipes as TOML files: read with overrides, checked completely, written with every resolved value."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from importlib.resources import files
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import tomli_w
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from dragoman.errors import UserError, nearest
from dragoman.settings import Recipe
from dragoman.settings.recipe_errors import field_at, find_problems, section_at
from dragoman.system.files import write_text

__all__ = ["Recipe", "build_recipe", "builtin_recipes", "load_recipe", "save_recipe"]

BUDGETS = ("training.epochs", "training.steps", "training.minutes")


def load_recipe(path: Path, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe in a TOML file, or the built-in recipe with this name if there is no such file.

    Args:
        path: A TOML file, or a name such as ``quickstart``.
        overrides: See `build_recipe`.

    Raises:
        UserError: With the line of a syntax error, or with every unknown key and invalid value of the recipe.
    """
    if not path.is_file() and path.parent == Path() and path.stem in builtin_recipes():
        path = builtin_recipes()[path.stem]
    return build_recipe(_read_toml(path), overrides, origin=str(path))


def builtin_recipes() -> dict[str, Path]:
    """The recipes that come with dragoman, by name."""
    folder = Path(str(files("dragoman"))) / "recipes"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def build_recipe(document: Mapping[str, Any], overrides: Sequence[str] = (), origin: str = "recipe") -> Recipe:
    """Build a recipe from plain data, such as `Recipe.to_dict` returns, and overrides.

    Args:
        document: Sections and keys as in a recipe file.
        overrides: ``SECTION.KEY=VALUE`` each. VALUE is parsed as TOML if it is valid TOML, and is a string otherwise;
            ``none`` unsets a key that may be unset. An override of training.epochs, steps or minutes replaces the
            budget in the document, because exactly one may be given.
        origin: The name of the document in error messages.

    Raises:
        UserError: With every problem, one line each.
    """
    data = deepcopy(dict(document))
    problems = _apply_overrides(data, overrides)
    # A missing section counts as empty, so that each missing key is reported.
    data = {name: {} for name in Recipe.model_fields if section_at((name,))} | data
    try:
        recipe = Recipe.model_validate_json(json.dumps(data, default=str), strict=True)
    except ValidationError as error:
        problems += find_problems(error, data)
    if not problems:
        return recipe
    if len(problems) == 1:
        raise UserError(f"{origin}: {problems[0]}")
    raise UserError("\n  ".join([f"{origin}: {len(problems)} problems", *problems]))


def save_recipe(recipe: Recipe, path: Path) -> None:
    """Write every resolved value as TOML; on an error, an existing file is unchanged."""
    write_text(path, tomli_w.dumps(recipe.to_dict()))


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        known = [other.stem for other in path.parent.glob("*.toml")] + list(builtin_recipes())
        raise UserError(f"{path}: no such recipe{nearest(path.stem, known)}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UserError(f"{path} line {line}: not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        what, _, where = str(error).removesuffix(")").rpartition(" (at ")
        raise UserError(f"{path} {where.partition(',')[0]}: {what}") from error


def _apply_overrides(data: dict[str, Any], overrides: Sequence[str]) -> list[str]:
    """Apply overrides to a recipe's data, in order; returns the problems."""
    parts = [[part.strip() for part in override.partition("=")] for override in overrides]
    training = data.get("training")
    if isinstance(training, dict) and any(key in BUDGETS and text != "none" for key, _, text in parts):
        for budget in BUDGETS:
            training.pop(budget.removeprefix("training."), None)
    return [problem for key, equals, text in parts if (problem := _apply_override(data, key, equals, text))]


def _apply_override(data: dict[str, Any], key: str, equals: str, text: str) -> str | None:
    *sections, last = key.split(".")
    if not equals or not all([*sections, last]):
        return f"--set {key}{equals}{text}: expected SECTION.KEY=VALUE"
    for name in sections:
        data = data.setdefault(name, {})
        if not isinstance(data, dict):
            return f"--set {key}={text}: {name!r} is not a section"
    field = field_at((*sections, last))
    if text == "none" and field and NoneType in get_args(field.annotation):
        data.pop(last, None)
    else:
        data[last] = _parse_value(text, field)
    return None


def _parse_value(text: str, field: FieldInfo | None) -> Any:
    """A TOML value, or the text itself if it is not TOML, or if the key takes a string and the value is not one."""
    try:
        values = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    wants_text = field is not None and field.annotation is str
    if len(values) > 1 or (wants_text and not isinstance(values["value"], str)):
        return text
    return values["value"]
