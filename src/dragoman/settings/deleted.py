"""Settings that earlier versions had. Recipes and bundles that contain them with their default still load."""

from __future__ import annotations

from typing import Any, NamedTuple


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
