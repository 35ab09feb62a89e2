"""Writes docs/recipes.md from the declarations in src/dragoman/settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from dragoman.settings import CorpusFile, FilePair, Recipe, Settings
from dragoman.settings.recipe_errors import Location, describe_schema, section_at

PREFACE = """\
# Recipes

<!-- Written by `make docs` from src/dragoman/settings; edit the descriptions there. -->

A recipe is a TOML file that defines everything about a translator except its weights. Start from one of those in
`recipes/`; their names work too: `dragoman train quickstart`.

| recipe | what it trains |
| --- | --- |
| `own-data` | the recipe to copy for your own text |
| `quickstart` | German to English on the built-in captions, in minutes |
| `multi30k-de-en`, `multi30k-en-de` | image captions, in ten to twenty minutes on a laptop |
| `r0-de-en-words` to `r4-en-hi-bpe` | five published systems: [reference systems](reference-systems.md) |
| `transformer-base`, `transformer-big` | the models of Vaswani et al. 2017 |

- Any value can be set on the command line with `--set SECTION.KEY=VALUE`, which can be repeated. VALUE is TOML
  (`true`, `1e-3`, `["a.tsv", "b.tsv"]`); anything else is a text, so quotes are rarely needed. `KEY=none` unsets
  a key that may be unset.
- Exactly one of `training.epochs`, `training.steps` and `training.minutes` is the budget. Setting one of them on the
  command line replaces the one in the file: `--set training.minutes=10`.
- Unknown keys and values out of bounds are errors, and all of them are reported together.
- A run stores every resolved value in its `recipe.toml`, which is a recipe too.

Each section lists the settings that most users need first, then the advanced ones. "unset" and "required" are not
values: leave the key out, or give it a value.
"""


TABLES = """\
## Tables of corpora

An entry of `data.train`, `data.validation` or `data.test` may be a table in braces instead of a string: [two
files](own-data.md#formats), or one file with facts that the file does not contain.
"""


def render() -> str:
    """The whole page."""
    tables = (line for table in (FilePair, CorpusFile) for line in (f"{table.__doc__}\n", *_table(table)))
    return "\n".join([PREFACE, *_section(Recipe, ()), TABLES, *tables])


def _section(section: type[Settings], place: Location) -> Iterator[str]:
    """The tables of a section, then those of the sections in it."""
    inner = {name: one for name in section.model_fields if (one := section_at((*place, name)))}
    fields = {name: field for name, field in section.model_fields.items() if name not in inner}
    if place:
        yield f"## [{'.'.join(map(str, place))}]\n\n{section.__doc__}\n"
    yield from _table(section, (name for name, field in fields.items() if not _is_advanced(field)))
    if rest := [name for name, field in fields.items() if _is_advanced(field)]:
        yield "Advanced:\n"
        yield from _table(section, rest)
    for name, one in inner.items():
        yield from _section(one, (*place, name))


def _table(section: type[Settings], names: Iterable[str] | None = None) -> Iterator[str]:
    schema = section.model_json_schema()
    yield "| key | allowed | default | meaning |\n| --- | --- | --- | --- |"
    for name in section.model_fields if names is None else names:
        field = section.model_fields[name]
        allowed = describe_schema(schema["properties"][name], schema.get("$defs", {}))
        columns = (f"`{name}`", allowed, _default(field), str(field.description))
        yield f"| {' | '.join(column.replace('|', chr(92) + '|') for column in columns)} |"
    yield ""


def _is_advanced(field: FieldInfo) -> bool:
    return isinstance(field.json_schema_extra, dict) and bool(field.json_schema_extra.get("advanced"))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value: Any = field.default
    return "unset" if value is None else f"`{json.dumps(value, ensure_ascii=False)}`"


if __name__ == "__main__":
    Path(__file__).with_name("recipes.md").write_text(render(), encoding="utf-8", newline="\n")
