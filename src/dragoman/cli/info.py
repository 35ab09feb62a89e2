"""dragoman info and dragoman settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.options import AsJson, DataDirectory, Overrides
from dragoman.cli.output import print_json
from dragoman.errors import UserError, nearest

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


def info(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE|RUN|RECIPE")],
    as_json: AsJson = False,
    overrides: Overrides = None,
    data_dir: DataDirectory = None,
) -> None:
    """Describe a bundle, run or recipe.

    Prints the number of parameters by part, vocabulary sizes, settings, scores, and the engine that translates.

    Example: dragoman info recipes/multi30k-de-en.toml --json
    """
    from dragoman.training.run.describe import describe

    about = describe(path, overrides or [], data_dir)
    if as_json:
        print_json(about)
    else:
        _print_tree(about)


def settings(
    section: Annotated[str | None, typer.Argument(metavar="SECTION", help="Only this section.")] = None,
    advanced: Annotated[bool, typer.Option("--advanced", help="Also list settings that few users need.")] = False,
) -> None:
    """List the settings of recipes and --set.

    Prints each setting with its default and its meaning.

    Example: dragoman settings training --advanced
    """
    from dragoman.settings import Recipe
    from dragoman.settings.recipe import section_at

    sections = {name: found for name in Recipe.model_fields if (found := section_at((name,)))}
    if section is not None and section not in sections:
        raise UserError(f"no section {section!r}; there are {', '.join(sections)}{nearest(section, sections)}")
    for name in sections if section is None else (section,):
        _print_settings((name,), advanced)


def _print_settings(place: tuple[str, ...], advanced: bool) -> None:
    """Print the settings of a section, and of the sections in it."""
    from dragoman.settings.recipe import section_at

    section = section_at(place)
    assert section is not None
    for key, field in section.model_fields.items():
        extra, name = field.json_schema_extra, ".".join((*place, key))
        if isinstance(extra, dict) and extra.get("advanced") and not advanced:
            continue
        if section_at((*place, key)):
            _print_settings((*place, key), advanced)
        else:
            print(f"{name} = {_default(field)}\n    {field.description}")


def _default(field: FieldInfo) -> str:
    """The default of a setting in TOML syntax, which equals JSON for these values."""
    if field.is_required():
        return "(required)"
    return "(not set)" if field.default is None else json.dumps(field.default)


def _print_tree(data: dict[str, Any], indent: str = "") -> None:
    for key, value in data.items():
        if isinstance(value, dict) and value:
            print(f"{indent}{key}")
            _print_tree(value, indent + "  ")
        else:
            print(f"{indent}{key}: {_show(value)}")


def _show(value: Any) -> str:
    """A value in words: strings as they are, integers with commas, others as JSON."""
    if value == {}:
        return "none"
    if value is None:
        return "(not set)"
    if isinstance(value, str):
        return value
    return f"{value:,}" if type(value) is int else json.dumps(value, ensure_ascii=False)
