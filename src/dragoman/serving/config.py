"""Reading the settings of the server."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.errors import UserError
from dragoman.settings.serving import Serving

SECTION = "serving"


def load_serving(path: Path | None, overrides: Sequence[str] = ()) -> Serving:
    """The settings in the section [serving] of a TOML file, with changes.

    Args:
        path: The file, if there is one.
        overrides: ``serving.KEY=VALUE`` each.

    Raises:
        UserError: The file cannot be read, or a key or a value is wrong; all problems are reported together.
    """
    document = _read(path) if path else {}
    if foreign := [key for key in document if key != SECTION]:
        raise UserError(f"{path}: unknown section {foreign[0]!r}; expected only [{SECTION}]")
    values = document.get(SECTION, {})
    if not isinstance(values, dict):
        raise UserError(f"{path}: {SECTION} must be a section")
    for override in overrides:
        key, equals, text = (part.strip() for part in override.partition("="))
        if not key.startswith(f"{SECTION}.") or not equals:
            raise UserError(f"--set {override}: expected {SECTION}.KEY=VALUE or decoding.KEY=VALUE")
        values[key.removeprefix(f"{SECTION}.")] = _parse(text)
    return Serving(**values)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise UserError(f"{path}: {error}") from error


def _parse(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return text
