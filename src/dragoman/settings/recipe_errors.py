"""Error messages for recipes: one line for each problem."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from pydantic import ValidationError

from dragoman.errors import nearest, shortened
from dragoman.settings import Recipe, Settings
from dragoman.settings.recipe import CORPUS_TABLES, Location, section_at


def find_problems(error: ValidationError, document: Mapping[str, Any]) -> Iterator[str]:
    """A line for each key that is unknown, missing or invalid, then one for each rule that valid keys break.

    Args:
        error: The error that validation raised; pydantic does not check the rules of sections with invalid keys.
        document: The recipe as plain data, with every section.
    """
    invalid: set[Location] = set()
    for detail in error.errors():
        location = _key_location(detail["loc"])
        if detail["type"] == "value_error" or any(other[: len(location)] == location for other in invalid):
            continue  # also a list without its invalid items, which pydantic may find too short
        invalid.add(location)
        written = _written(location, document)
        if detail["type"] == "extra_forbidden" and location == detail["loc"]:
            yield f"{_dotted(written)}: unknown key{_hint(location)}"
        elif detail["type"] == "missing" and location == detail["loc"]:
            yield f"{_dotted(written)}: missing; must be {_allowed(location)}"
        else:
            yield f"{_dotted(written)} = {_shown(document, written)}: must be {_allowed(location)}"
    yield from _broken_rules(Recipe, document, invalid)


def describe_schema(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """What a JSON schema allows, in words, such as ``a number >= 0 and < 1``."""
    if "$ref" in schema:
        table = definitions[schema["$ref"].rpartition("/")[2]]
        keys = ((key, value) for key, value in table["properties"].items() if key not in table["required"])
        optional = [" ".join(filter(None, (key, _bounds(value)))) for key, value in keys]
        more = f" (optional: {', '.join(optional)})" if optional else ""
        return f"a table of {' and '.join(table['required'])}{more}"
    if choices := schema.get("anyOf", schema.get("oneOf")):
        return " or ".join(describe_schema(one, definitions) for one in choices if one.get("type") != "null")
    if "enum" in schema:
        return "one of " + ", ".join(repr(value) for value in schema["enum"])
    if "prefixItems" in schema:
        items = schema["prefixItems"]
        return f"a list of {len(items)}, each {describe_schema(items[0], definitions)}"
    if schema["type"] == "array":
        amount = "a list of at least one" if schema.get("minItems") else "a list"
        return f"{amount}, each {describe_schema(schema['items'], definitions)}"
    if schema["type"] == "object":
        return f"a table, each {describe_schema(schema['additionalProperties'], definitions)}"
    return _describe_value(schema)


def _describe_value(schema: Mapping[str, Any]) -> str:
    kinds = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "a string"}
    pattern = f"matching {schema['pattern']}" if "pattern" in schema else ""
    filled = "that is not empty" if schema.get("minLength") else ""
    longest = f"of at most {schema['maxLength']:,} characters" if "maxLength" in schema else ""
    return " ".join(word for word in (kinds[schema["type"]], _bounds(schema), pattern, filled, longest) if word)


def _bounds(schema: Mapping[str, Any]) -> str:
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    return " and ".join(f"{sign} {_number(schema[bound])}" for bound, sign in signs.items() if bound in schema)


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _allowed(location: Location) -> str:
    """The allowed values of the key, or of the list item, at a location."""
    if section_at(location):
        return "a section"
    key = location[:-1] if isinstance(location[-1], int) else location
    owner = section_at(key[:-1])
    assert owner is not None, "an invalid key belongs to a section"
    schema = owner.model_json_schema()
    allowed = schema["properties"][key[-1]]
    if key != location:
        allowed = next(each for each in allowed.get("anyOf", [allowed]) if each["type"] == "array")  # perhaps unset
        allowed = allowed["prefixItems"][location[-1]] if "prefixItems" in allowed else allowed["items"]
    return describe_schema(allowed, schema.get("$defs", {}))


def _hint(location: Location) -> str:
    """A hint for an unknown key: the same key in another section, a similar key, or all keys of this section."""
    key, section = str(location[-1]), section_at(location[:-1])
    assert section is not None, "pydantic reports unknown keys in sections only"
    if section in CORPUS_TABLES.values():
        keys = list(section.model_fields)
        if location[:2] == ("data", "train"):  # there, a table may have a weight, and then it is another kind of table
            keys += [name for name in ("weight", "tagged", "one_way") if name not in keys]
        return nearest(key, keys) or f"; allowed: {', '.join(keys)}"
    elsewhere = [
        f"{name}.{key}" for name in Recipe.model_fields if (other := section_at((name,))) and key in other.model_fields
    ]
    if elsewhere:
        return f"; did you mean {' or '.join(map(repr, elsewhere))}?"
    return nearest(key, section.model_fields) or f"; allowed: {', '.join(section.model_fields)}"


def _key_location(location: Location) -> Location:
    """The location of a key, of a list item, or of a key of a table in it, without the other steps of pydantic."""
    for length in range(1, len(location)):
        step, following = location[length], location[length + 1 : length + 2]
        is_table = step in CORPUS_TABLES or (isinstance(step, int) and following and following[0] in CORPUS_TABLES)
        if not is_table and not section_at(location[:length]):
            return location[: length + 1] if isinstance(step, int) else location[:length]
    return location


def _written(location: Location, document: Any) -> Location:
    """Where the recipe has a key: without names of tables, and in the table of a weight if its corpus is none."""
    steps: list[str | int] = []
    for step in location:
        if step in CORPUS_TABLES or (
            step == "corpus" and isinstance(document, dict) and step not in document and step != location[-1]
        ):
            continue
        steps.append(step)
        if isinstance(document, dict):
            document = document.get(str(step))
        elif isinstance(document, list) and isinstance(step, int) and step < len(document):
            document = document[step]
    return tuple(steps)


def _dotted(location: Location) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{shortened(step)}" for step in location)
    return "".join(steps).removeprefix(".")


def _shown(document: Any, location: Location) -> str:
    for step in location:
        if isinstance(document, list) and isinstance(step, int) and step >= len(document):
            break  # an element that is missing: its list is shown
        document = document[step]
    return shortened(json.dumps(document, ensure_ascii=False, default=str))


def _broken_rules(
    section: type[Settings], document: Any, invalid: set[Location], location: Location = ()
) -> Iterator[str]:
    """Check the rules of a section, after those of its subsections; rules that read invalid values are skipped."""
    for name in section.model_fields:
        if (inner := section_at((*location, name))) and isinstance(document.get(name), dict):
            yield from _broken_rules(inner, document[name], invalid, (*location, name))
    values = _valid_values(section, document, invalid, location)
    for rule in section.rules:
        try:
            problem = rule(values)
        except AttributeError:  # the rule reads an invalid value, for which there is another message
            continue
        if problem:
            yield f"{_dotted(location)}: {problem}" if location else problem


def _valid_values(
    section: type[Settings], document: Any, invalid: set[Location], location: Location
) -> SimpleNamespace:
    """The given and default values of a section, without missing and invalid ones."""
    values = SimpleNamespace()
    for name, field in section.model_fields.items():
        here = (*location, name)
        inner = section_at(here)
        if inner and here not in invalid:
            setattr(values, name, _valid_values(inner, document.get(name, {}), invalid, here))
        elif not any(other[: len(here)] == here for other in invalid):
            setattr(values, name, document.get(name, field.default))
    return values
