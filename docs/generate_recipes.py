"""Writes docs/recipes.md from the declarations in src/dragoman/settings, and what dragoman init chooses.

The latter is recipes/own-data.toml, and the table of sizes in docs/own-data.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from dragoman.planning.budget import MachineSpeed
from dragoman.planning.plan import PlannedRecipe, Texts, plan_with
from dragoman.planning.text_facts import SideFacts, TextFacts
from dragoman.planning.write import recipe_text
from dragoman.settings import CorpusFile, FilePair, Recipe, Settings, WeightedCorpus
from dragoman.settings.recipe import Location, section_at
from dragoman.settings.recipe_errors import describe_schema
from dragoman.settings.serving import Serving

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
  (`true`, `1e-3`, `["a.tsv", "b.tsv"]`); anything else is a string, so quotes are rarely needed. `KEY=none` unsets
  a key that may be unset.
- Exactly one of `training.epochs`, `training.steps` and `training.minutes` is the budget. Setting one of them on the
  command line replaces the one in the file: `--set training.minutes=10`.
- Unknown keys and values out of bounds are errors, and all of them are reported together.
- Paths are relative to the directory in which `dragoman train` runs, not to that of the recipe.
- A run stores every resolved value in its `recipe.toml`, which is a recipe too.

Each section lists the settings that most users need first, then the advanced ones. "unset" and "required" are not
values: leave the key out, or give it a value.
"""


TABLES = """\
## Tables of corpora

An entry of `data.train`, `data.validation` or `data.test` may be a table in braces instead of a string: [two
files](formats.md), or one file with facts that the file does not contain. An entry of `data.train` may also be
a corpus with a [weight](adaptation.md#forget-less).
"""


def render() -> str:
    """The whole page."""
    tables = (
        line for table in (FilePair, CorpusFile, WeightedCorpus) for line in (f"{table.__doc__}\n", *_table(table))
    )
    return "\n".join([PREFACE, *_section(Recipe, ()), TABLES, *tables])


def with_serving(page: str) -> str:
    """The page with the current tables of the server's settings."""
    fields = Serving.model_fields.items()
    basic, advanced = ([name for name, field in fields if _is_advanced(field) == kind] for kind in (False, True))
    tables = "\n".join([*_table(Serving, basic), "Advanced:\n", *_table(Serving, advanced)])
    before, start, rest = page.partition(SERVING_START)
    return before + start + "\n" + tables + "\n" + END + rest.partition(END)[2]


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


HEADER = """\
# What dragoman init chooses for 30,000 pairs of German and English. It is better to run it with your own text, because
# the values depend on the text, on the time and on the machine. All settings: docs/recipes.md.
"""
PAIRS = (1_000, 10_000, 30_000, 100_000, 1_000_000, 10_000_000)
ROWS = (
    "text.vocabulary_size",
    *("model.d_model", "model.encoder_layers", "model.dropout"),
    *("training.epochs", "training.batch_tokens", "training.learning_rate", "training.warmup_steps"),
)
GPU = MachineSpeed(3e14)  # at which even a large model is trained within a day


def plan(pairs: int) -> PlannedRecipe:
    """The recipe for a number of pairs of sentences with 60 characters."""
    side = SideFacts(60 * pairs, 11 * pairs, "Latin")
    return plan_with(Texts(("de", "en"), ["my/train.{lang}"]), TextFacts(pairs, side, side), None, GPU)


def own_data_recipe() -> str:
    """The recipe to copy."""
    text = recipe_text("own-data", plan(30_000).choices)
    return HEADER + "\n" + text[text.index("# The run is written") :]


def table_of_sizes() -> str:
    """The most important settings for several amounts of text, as a table in Markdown."""
    recipes = [plan(pairs).recipe() for pairs in PAIRS]
    lines = ["| | " + " | ".join(f"{pairs:,} pairs" for pairs in PAIRS) + " |", "| --- " * (len(PAIRS) + 1) + "|"]
    for row in ROWS:
        section, key = row.split(".")
        values = [getattr(getattr(recipe, section), key) for recipe in recipes]
        lines.append(f"| `{row}` | " + " | ".join(f"{value:g}" for value in values) + " |")
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    """The page with the current table of sizes."""
    before, start, rest = page.partition(START)
    return before + start + "\n" + table_of_sizes() + END + rest.partition(END)[2]


START, END = "<!-- Written by `make docs` from what dragoman init chooses. -->\n", "<!-- End of the table. -->"
SERVING_START = "<!-- Written by `make docs` from src/dragoman/settings/serving.py; edit the descriptions there. -->\n"


if __name__ == "__main__":
    docs = Path(__file__).parent
    (docs / "recipes.md").write_text(render(), encoding="utf-8", newline="\n")
    (docs.parent / "recipes" / "own-data.toml").write_text(own_data_recipe(), encoding="utf-8", newline="\n")
    page = (docs / "own-data.md").read_text(encoding="utf-8")
    (docs / "own-data.md").write_text(with_table(page), encoding="utf-8", newline="\n")
    page = (docs / "serving.md").read_text(encoding="utf-8")
    (docs / "serving.md").write_text(with_serving(page), encoding="utf-8", newline="\n")
