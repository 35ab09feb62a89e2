"""How to use the model of a run: commands and Python code for its bundle."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.settings import Recipe


class Usage(NamedTuple):
    """A purpose, and the command or the Python code for it."""

    purpose: str
    code: str


def usages(run: Path, recipe: Recipe, texts: Sequence[str]) -> list[Usage]:
    """How to use the bundle of a finished run.

    Args:
        run: The run directory.
        recipe: Its recipe.
        texts: Source texts, the shortest of which is the example.
    """
    path, text = shlex.quote(str(run)), min(filter(str.strip, texts), key=len, default="…")
    example = f"-- {shlex.quote(text)}" if text.startswith("-") else shlex.quote(text)
    source, target = recipe.data.source_language, recipe.data.target_language
    return [
        Usage("Translate a text", f"dragoman translate {path} {example}"),
        Usage("Translate a file", f"dragoman translate {path} --input input.{source} --output output.{target}"),
        Usage("Show how a text was translated", f"dragoman inspect {path} --output inspect.html {example}"),
        Usage("Score it on your own text", f"dragoman evaluate {path} --source my.{source} --reference my.{target}"),
        Usage("Convert it for other programs", f"dragoman export {path} exported --to ctranslate2"),
        Usage(
            "Use it in Python",
            f"import dragoman\n\ntranslator = dragoman.load({str(run)!r})\nprint(translator({text!r}).text)",
        ),
    ]
