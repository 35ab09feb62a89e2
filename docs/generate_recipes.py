"""Writes docs/recipes.md from the declarations in settings.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from dragoman.settings import Recipe, Settings
from dragoman.settings.recipe_errors import Place, describe, section_at

PREFACE = """\
# Recipes

<!-- Written by `make docs` from src/dragoman/settings.py; change it there. -->

A recipe is a TOML file that holds everything that defines a translator, except its weights. Those in `recipes/` are to
start from, and their names alone work too: `dragoman train quickstart`.

| recipe | what it trains |
| --- | --- |
| `own-data` | the one to copy, for your own text |
| `quickstart` | German to English on the built-in captions, in minutes |
| `multi30k-de-en`, `multi30k-en-de` | image captions, in ten to twenty minutes on a laptop |
| `r0-de-en-words` to `r4-en-hi-bpe` | five published systems: [reference systems](reference-systems.md) |
| `transformer-base`, `transformer-big` | the models of Vaswani et al. 2017 |

- Any value can be set on the command line: `--set SECTION.KEY=VALUE`, as often as needed. VALUE is TOML (`true`,
  `1e-3`, `["a.tsv", "b.tsv"]`); what is no TOML is taken as text, so that quotes are seldom needed. `KEY=none` unsets
  a key that may be unset.
- Exactly one of `training.epochs`, `training.steps` and `training.minutes` is the budget. Setting one of them on the
  command line replaces the one in the file: `--set training.minutes=10`.
- Unknown keys and values out of bounds are refused, all of them at once.
- A run keeps every resolved value in its `recipe.toml`, which is a recipe itself.

"unset" and "required" are not values: leave the key out, or give it.
"""


def render() -> str:
    """The whole page."""
    return "\n".join([PREFACE, *_tables(Recipe, ())])


def _tables(section: type[Settings], place: Place) -> Iterator[str]:
    """The table of a section, then those of the sections in it."""
    schema = section.model_json_schema()
    inner = {name: one for name in section.model_fields if (one := section_at((*place, name)))}
    if place:
        yield f"## [{'.'.join(map(str, place))}]\n\n{section.__doc__}\n"
    yield "| key | allowed | default | meaning |\n| --- | --- | --- | --- |"
    for name, field in section.model_fields.items():
        if name not in inner:
            allowed = describe(schema["properties"][name], schema.get("$defs", {}))
            cells = (f"`{name}`", allowed, _default(field), str(field.description))
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield ""
    for name, one in inner.items():
        yield from _tables(one, (*place, name))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value: Any = field.default
    return "unset" if value is None else f"`{json.dumps(value, ensure_ascii=False)}`"


if __name__ == "__main__":
    Path(__file__).with_name("recipes.md").write_text(render(), encoding="utf-8", newline="\n")
