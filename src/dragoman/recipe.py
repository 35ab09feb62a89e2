"""Recipes as TOML files: read with overrides, checked completely, written with every resolved value."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from importlib.resources import files
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args

import tomli_w
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from dragoman.errors import UserError, nearest, shortened
from dragoman.settings import Recipe
from dragoman.settings.data import direction_problem, resolve_directions
from dragoman.settings.recipe import field_at, section_at
from dragoman.settings.recipe_errors import find_problems
from dragoman.system.files import write_text

__all__ = ["Recipe", "build_recipe", "builtin_recipes", "load_recipe", "save_recipe"]

_EXPECTED = "; expected a recipe, which is a TOML file (bundles and runs are directories)"
_MAX_BYTES = 10_000_000
_MAX_DEPTH = 20
_MAX_BITS = 64
_LISTED = 50  # problems in a message
_SURROGATE = re.compile("[\ud800-\udfff]")

BUDGETS = ("training.epochs", "training.steps", "training.minutes")


def load_recipe(path: Path, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe in a TOML file, or the built-in recipe with this name if there is no such file.

    Args:
        path: A TOML file, or a name such as ``quickstart``.
        overrides: See `build_recipe`.

    Raises:
        UserError: With the line of a syntax error, or with every unknown key and invalid value of the recipe.
    """
    if not os.path.isfile(path) and path.parent == Path() and path.stem in builtin_recipes():
        path = builtin_recipes()[path.stem]
    document = _read_toml(path)
    if not document and not overrides:
        raise UserError(f"{path}: has no key, not even name{_EXPECTED}")
    return build_recipe(document, overrides, origin=str(path))


def parse_recipe(text: str, overrides: Sequence[str], origin: str) -> Recipe:
    """The recipe in a text in TOML, see `build_recipe`."""
    return build_recipe(tomllib.loads(text), overrides, origin)


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
    _require_plain_data(document, origin)
    data = deepcopy(dict(document))
    problems: list[str] = []
    if overrides:
        problems += _apply_overrides(data, overrides)
        _require_plain_data(data, origin)
    problems += remove_deleted(data)
    if isinstance(data.get("data"), dict):
        data["data"] = resolve_directions(data["data"])
    # A missing section counts as empty, so that each missing key is reported.
    data = {name: {} for name in Recipe.model_fields if section_at((name,))} | data
    try:
        recipe = Recipe.model_validate_json(json.dumps(data, default=str), strict=True)
    except ValidationError as error:
        problems += find_problems(error, data)
    else:
        problems += filter(None, [direction_problem(recipe.data)])
    if not problems:
        return recipe
    if len(problems) == 1:
        raise UserError(f"{origin}: {problems[0]}")
    more = [f"and {len(problems) - _LISTED:,} more"] if len(problems) > _LISTED else []
    raise UserError("\n  ".join([f"{origin}: {len(problems):,} problems", *problems[:_LISTED], *more]))


def save_recipe(recipe: Recipe, path: Path) -> None:
    """Write every resolved value as TOML; on an error, an existing file is unchanged."""
    write_text(path, tomli_w.dumps(recipe.to_dict()))


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)  # a device such as /dev/zero has no end
        if len(data) > _MAX_BYTES:
            raise UserError(f"{path}: larger than {_MAX_BYTES:,} bytes{_EXPECTED}")
        return tomllib.loads(data.decode("utf-8-sig"))
    except FileNotFoundError:
        known = [other.stem for other in path.parent.glob("*.toml")] + list(builtin_recipes())
        raise UserError(f"{path}: no such recipe{nearest(path.stem, known)}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UserError(f"{path} line {line}: not UTF-8{_EXPECTED}") from error
    except tomllib.TOMLDecodeError as error:
        what, _, where = str(error).removesuffix(")").rpartition(" (at ")
        raise UserError(f"{path} {where.partition(',')[0]}: {what}{_EXPECTED}") from error
    except ValueError as error:
        raise UserError(f"{path}: a number has too many digits{_EXPECTED}") from error
    except RecursionError as error:  # thousands of brackets
        raise UserError(f"{path}: nested too deeply{_EXPECTED}") from error


def _require_plain_data(document: Mapping[str, Any], origin: str) -> None:
    """Check that a document can be copied and written as JSON.

    Raises:
        UserError: It is nested too deeply, or contains a key that is not a string, text that is not Unicode, or a huge
            number.
    """
    waiting: list[tuple[Any, tuple[Any, ...]]] = [(document, ())]
    while waiting:
        value, place = waiting.pop()
        problem = None
        if len(place) > _MAX_DEPTH:
            problem = "nested too deeply"
        elif isinstance(value, Mapping):
            if wrong := [key for key in value if not isinstance(key, str) or _SURROGATE.search(key)]:
                problem = f"the key {shortened(ascii(wrong[0]))} is not valid Unicode text"
            waiting += [(part, (*place, key)) for key, part in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(part, (*place, index)) for index, part in enumerate(value)]
        elif isinstance(value, str) and _SURROGATE.search(value):
            problem = f"{shortened(ascii(value))} is not valid Unicode text"
        elif isinstance(value, int) and value.bit_length() > _MAX_BITS:
            problem = "the number is too large"
        if problem:
            where = ": ".join(part for part in (origin, ".".join(shortened(str(step)) for step in place)) if part)
            raise UserError(f"{where}: {problem}")


def _apply_overrides(data: dict[str, Any], overrides: Sequence[str]) -> list[str]:
    """Apply overrides to a recipe's data, in order; returns the problems."""
    parts = [[part.strip() for part in override.partition("=")] for override in overrides]
    training = data.get("training")
    if isinstance(training, dict) and any(key in BUDGETS and text != "none" for key, _, text in parts):
        for budget in BUDGETS:
            training.pop(budget.removeprefix("training."), None)
    return [problem for key, equals, text in parts if (problem := _apply_override(data, key, equals, text))]


def overridden(overrides: Sequence[str], key: str) -> Any:
    """The value of a key with one section, such as ``training.minutes``; None if it is not set, or not valid."""
    data: dict[str, Any] = {}
    _apply_overrides(data, [each for each in overrides if each.partition("=")[0].strip() == key])
    section, _, last = key.partition(".")
    field = field_at((section, last))
    assert field is not None, key
    try:
        declared: Any = Annotated[field.annotation, field]
        return TypeAdapter(declared).validate_python(data.get(section, {}).get(last), strict=True)
    except ValidationError:  # as building the recipe will report
        return None


def _apply_override(data: dict[str, Any], key: str, equals: str, text: str) -> str | None:
    *sections, last = key.split(".")
    if not equals or not all([*sections, last]):
        return f"--set {key}{equals}{text}: expected SECTION.KEY=VALUE"
    if len(sections) > _MAX_DEPTH:
        return f"--set {shortened(key)}: nested too deeply"
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
    except (ValueError, RecursionError):  # not TOML, or a number of thousands of digits, or thousands of brackets
        return text
    wants_text = field is not None and field.annotation is str
    if len(values) > 1 or (wants_text and not isinstance(values["value"], str)):
        return text
    return values["value"]


class Deleted(NamedTuple):
    """A deleted setting: its default, and what users do instead."""

    default: Any
    instead: str


DELETED = {
    "decoding.shortlist": Deleted(False, "the search always chooses among all tokens, so delete this key"),
    "training.pull_to_start": Deleted(0.0, "to forget less, mix in old text or set training.start_share"),
    "training.validation_beam_size": Deleted(1, "validations search greedily, which is faster, so delete this key"),
}
"""Deleted settings by key, ``SECTION.KEY``."""


def remove_deleted(document: dict[str, Any]) -> list[str]:
    """Remove deleted settings from a recipe as plain data, in place.

    Returns:
        A problem for each that has another value than its default.
    """
    problems = []
    for name, setting in DELETED.items():
        section, _, key = name.partition(".")
        values = document.get(section)
        if isinstance(values, dict) and key in values and values.pop(key) != setting.default:
            problems.append(f"{name}: this setting was removed: {setting.instead}")
    return problems
