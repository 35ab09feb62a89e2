"""A chosen recipe as commented TOML."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from dragoman.corpus.references import to_toml
from dragoman.planning.choose import ChosenSetting
from dragoman.settings import CorpusReference

WIDTH = 118


def recipe_text(name: str, data: Sequence[ChosenSetting], settings: Sequence[ChosenSetting]) -> str:
    """The text of a recipe in which a comment gives the reason for each value, or for several that follow each other.

    Args:
        name: The name of the recipe.
        data: The choices of the section data.
        settings: The choices of the other sections, in the order of the sections.
    """
    lines = [
        "# Written by dragoman init from your text; every value may be changed. All settings: docs/recipes.md.",
        "",
        "# The run is written to runs/NAME, unless you pass --output.",
        f"name = {to_toml(name)}",
    ]
    for section, choices in groupby([*data, *settings], key=lambda choice: choice.section):
        lines += ["", f"[{section}]"]
        for choice in choices:
            lines += [*_comment(choice.reason), f"{choice.key} = {_toml(choice)}"]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> Iterator[str]:
    yield from (f"# {line}" for line in textwrap.wrap(text, WIDTH))


def _toml(choice: ChosenSetting) -> str:
    return to_toml([_plain(each) for each in choice.value] if isinstance(choice.value, list) else choice.value)


def _plain(reference: CorpusReference) -> object:
    return reference if isinstance(reference, str) else reference.model_dump(exclude_none=True)
