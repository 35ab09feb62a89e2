"""What is wrong with a recipe: every problem, one line each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from dragoman.errors import nearest
from dragoman.settings import Recipe, Settings

Place = tuple[str | int, ...]
"""Where a value stands in a recipe: ``("data", "train", 0)``."""


def find_problems(error: ValidationError, document: Mapping[str, Any]) -> Iterator[str]:
    """A line for each key that is unknown, missing or unfit, then one for each rule that the fit keys break.

    Args:
        error: What validating the recipe raised; pydantic leaves out the rules of sections with unfit keys.
        document: The recipe as plain data, every section there.
    """
    unfit: set[Place] = set()
    for detail in error.errors():
        place = _own_place(detail["loc"])
        if detail["type"] == "value_error" or place in unfit:
            continue
        unfit.add(place)
        if detail["type"] == "extra_forbidden" and place == detail["loc"]:
            yield f"{_spell(place)}: unknown key{_hint(place)}"
        elif detail["type"] == "missing" and place == detail["loc"]:
            yield f"{_spell(place)}: missing; must be {_allowed(place)}"
        else:
            yield f"{_spell(place)} = {_shown(document, place)}: must be {_allowed(place)}"
    yield from _broken_rules(Recipe, document, unfit)


def field_at(place: Place) -> FieldInfo | None:
    """The declaration of the key at a place, if there is such a key."""
    owner = section_at(place[:-1]) if place else None
    return owner.model_fields.get(str(place[-1])) if owner else None


def section_at(place: Place) -> type[Settings] | None:
    """The section at a place, or None if something else or nothing is there; the empty place is the recipe's."""
    if not place:
        return Recipe
    field = field_at(place)
    kind = field.annotation if field else None
    return kind if isinstance(kind, type) and issubclass(kind, Settings) else None


def describe(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """What a JSON schema allows, in words: ``a number >= 0 and < 1``."""
    if "$ref" in schema:
        return "a table of " + " and ".join(definitions[schema["$ref"].rpartition("/")[2]]["properties"])
    if "anyOf" in schema:
        return " or ".join(describe(one, definitions) for one in schema["anyOf"] if one.get("type") != "null")
    if "enum" in schema:
        return "one of " + ", ".join(repr(value) for value in schema["enum"])
    if "prefixItems" in schema:
        return f"a list of {len(schema['prefixItems'])}, each {describe(schema['prefixItems'][0], definitions)}"
    if schema["type"] == "array":
        amount = "a list of at least one" if schema.get("minItems") else "a list"
        return f"{amount}, each {describe(schema['items'], definitions)}"
    kinds = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "a text"}
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    bounds = " and ".join(f"{sign} {schema[bound]:g}" for bound, sign in signs.items() if bound in schema)
    shape = f"matching {schema['pattern']}" if "pattern" in schema else ""
    filled = "that is not empty" if schema.get("minLength") else ""
    return " ".join(word for word in (kinds[schema["type"]], bounds, shape, filled) if word)


def _allowed(place: Place) -> str:
    """What the key, or the item of a list, at a place may be."""
    if section_at(place):
        return "a section"
    key = place[:-1] if isinstance(place[-1], int) else place
    owner = section_at(key[:-1])
    assert owner is not None, "an unfit key belongs to a section"
    schema = owner.model_json_schema()
    allowed = schema["properties"][key[-1]]
    if key != place:
        allowed = allowed["prefixItems"][place[-1]] if "prefixItems" in allowed else allowed["items"]
    return describe(allowed, schema.get("$defs", {}))


def _hint(place: Place) -> str:
    """The same key in another section, else the nearest key of this one, else all keys of this one."""
    key = str(place[-1])
    homes = [
        f"{name}.{key}" for name in Recipe.model_fields if (other := section_at((name,))) and key in other.model_fields
    ]
    section = section_at(place[:-1])
    assert section is not None, "pydantic finds unknown keys in sections only"
    if homes:
        return f"; did you mean {' or '.join(map(repr, homes))}?"
    return nearest(key, section.model_fields) or f"; allowed: {', '.join(section.model_fields)}"


def _own_place(place: Place) -> Place:
    """The place of the recipe's own key or list item, without pydantic's path through unions and tables below it."""
    for length in range(1, len(place)):
        if not section_at(place[:length]):
            return place[: length + 1] if isinstance(place[length], int) else place[:length]
    return place


def _spell(place: Place) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).removeprefix(".")


def _shown(document: Any, place: Place) -> str:
    for step in place:
        document = document[step]
    shown = json.dumps(document, ensure_ascii=False, default=str)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _broken_rules(section: type[Settings], document: Any, unfit: set[Place], place: Place = ()) -> Iterator[str]:
    """Check the rules of a section, after those of the sections in it, as far as the values they read are fit."""
    for name in section.model_fields:
        if (inner := section_at((*place, name))) and isinstance(document.get(name), dict):
            yield from _broken_rules(inner, document[name], unfit, (*place, name))
    values = _fit_values(section, document, unfit, place)
    for rule in section.rules:
        try:
            problem = rule(values)
        except AttributeError:  # the rule reads an unfit value, and that is a problem told already
            continue
        if problem:
            yield f"{_spell(place)}: {problem}" if place else problem


def _fit_values(section: type[Settings], document: Any, unfit: set[Place], place: Place) -> SimpleNamespace:
    """The values of a section, given or default, without the missing and the unfit ones."""
    values = SimpleNamespace()
    for name, field in section.model_fields.items():
        here = (*place, name)
        inner = section_at(here)
        if inner and here not in unfit:
            setattr(values, name, _fit_values(inner, document.get(name, {}), unfit, here))
        elif not any(other[: len(here)] == here for other in unfit):
            setattr(values, name, document.get(name, field.default))
    return values
