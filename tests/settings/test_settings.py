"""Declarations of settings and their rules."""

from __future__ import annotations

from types import NoneType
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from dragoman.settings import Decoding, Model, Recipe, Settings, Training
from dragoman.settings.recipe_errors import field_at, section_at


def optional_keys() -> list[tuple[str, str]]:
    """Section and key of every setting that may be None."""
    sections = {name: section for name in Recipe.model_fields if (section := section_at((name,)))}
    return [
        (name, key)
        for name, section in sections.items()
        for key, field in section.model_fields.items()
        if NoneType in get_args(field.annotation)
    ]


@pytest.mark.parametrize(("section", "key"), optional_keys())
def test_optional_settings_are_unset_by_default(section: str, key: str) -> None:
    field = field_at((section, key))
    assert field is not None
    assert field.default is None, "TOML has no None, so a missing key must mean None"


@pytest.mark.parametrize(
    ("section", "values", "problem"),
    [
        (Model, {"d_model": 10, "heads": 3}, "d_model = 10 is not divisible by heads = 3"),
        (Training, {}, "exactly one of epochs, steps and minutes"),
        (Training, {"steps": 1, "epochs": 1}, "exactly one of epochs, steps and minutes"),
        (Decoding, {"top_k": 1}, "top_k and top_p need sampling"),
    ],
)
def test_constructors_check_rules(section: type[Settings], values: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        section(**values)
