"""A chosen recipe as commented TOML."""

from __future__ import annotations

import textwrap
from itertools import groupby

from dragoman.corpus.references import to_toml
from dragoman.planning.choose import Choices

WIDTH = 118


def recipe_text(name: str, choices: Choices) -> str:
    """The text of a recipe in which a comment gives the reason for each value, or for several that follow each other.

    Args:
        name: The name of the recipe.
        choices: Its settings, in the order of the sections.
    """
    lines = [
        "# Written by dragoman init from your text; every value may be changed. All settings: docs/recipes.md.",
        "",
        "# The run is written to runs/NAME, unless you pass --output.",
        f"name = {to_toml(name)}",
    ]
    for section, keys in groupby(choices, key=lambda key: key.rpartition(".")[0]):
        lines += ["", f"[{section}]"]
        for key in keys:
            value, reason = choices[key]
            lines += [f"# {line}" for line in textwrap.wrap(reason, WIDTH)]
            lines.append(f"{key.rpartition('.')[2]} = {to_toml(value)}")
    return "\n".join(lines) + "\n"
