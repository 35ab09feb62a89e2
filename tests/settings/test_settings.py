"""Declarations of settings and their rules."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType
from typing import Any, get_args

import pytest

from dragoman.errors import UserError
from dragoman.settings import Augmentation, Decoding, Model, Recipe, Settings, Training
from dragoman.settings.recipe import field_at, section_at


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
        (
            Augmentation,
            {"typos": 0.6, "upper_case": 0.5},
            "up to 1.1, which is more than 1: upper_case = 0.5, typos = 0.6",
        ),
        (Decoding, {"top_k": 1}, "top_k and top_p need sampling"),
        (Decoding, {"beam": 3}, "Decoding: beam: unknown key; did you mean 'beam_size'"),
        (Decoding, {"beam_size": 0, "n_best": None}, r"Decoding: beam_size: .*\n  Decoding: n_best: "),
        (Decoding, {"temperature": float("nan")}, "Decoding: temperature: "),
        (Model, {"max_length": 100_000, "d_model": 512}, "max_length \\* d_model must be at most 33,554,432"),
        (Recipe, {"name": "a" * 201}, "Recipe: name: .*200 characters"),
    ],
)
def test_constructors_report_every_problem(section: type[Settings], values: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        section(**values)


def number_schemas(schema: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every number in a JSON schema, with its place."""
    if isinstance(schema, list):
        for part in schema:
            yield from number_schemas(part, place)
    elif isinstance(schema, dict):
        if schema.get("type") in ("integer", "number"):
            yield place, schema
        for key, part in schema.items():
            yield from number_schemas(part, f"{place}.{key}")


def test_every_number_has_a_lower_and_an_upper_bound() -> None:
    found = list(number_schemas(Recipe.model_json_schema(), ""))
    assert len(found) > 50
    for place, schema in found:
        assert schema.keys() & {"minimum", "exclusiveMinimum"}, place
        assert schema.keys() & {"maximum", "exclusiveMaximum"}, place
