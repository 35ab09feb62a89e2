"""dragoman train and dragoman quickstart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import DataDirectory, Overrides


def quickstart(
    output: Annotated[Path, typer.Option(help="Run directory.")] = Path("runs/quickstart"),
) -> None:
    """Train a small example translator.

    Trains a German-English translator on the built-in corpus, which takes a few minutes on a laptop, scores it and
    translates two sentences. If it was interrupted, the same command continues.

    Example: dragoman quickstart --output runs/quickstart
    """
    from dragoman.recipe import load_recipe
    from dragoman.system.memory import keep_freed_memory
    from dragoman.training.run import train

    keep_freed_memory()
    recipe = load_recipe(Path("quickstart"))
    if not train(recipe, output, resume=(output / "recipe.toml").is_file()):
        raise typer.Exit(130)
    import dragoman

    translator = dragoman.load(output)
    examples = ["Ein kleiner Junge spielt im Park mit einem Hund.", "Zwei Frauen lesen ein Buch."]
    for text, translation in zip(examples, translator(examples), strict=True):
        print(f"{text}\n  -> {translation}")
    print(f'\nNow try: dragoman translate {output} "{examples[0]}"\nand open {output / "report.html"}')


def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe file, or the name of a built-in recipe.")],
    output: Annotated[Path | None, typer.Option(help="Run directory (default: runs/NAME of the recipe).")] = None,
    overrides: Overrides = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the newest checkpoint.")] = False,
    data_dir: DataDirectory = None,
) -> None:
    """Train a translator.

    Reads a recipe and writes a run directory with checkpoints, a bundle and a report. `dragoman settings` lists the
    settings that --set can change.

    Example: dragoman train recipes/multi30k-de-en.toml --set training.minutes=10
    """
    from dragoman.recipe import load_recipe
    from dragoman.system.memory import keep_freed_memory
    from dragoman.training.run import train

    keep_freed_memory()
    loaded = load_recipe(recipe, overrides or [])
    if not train(loaded, output or Path("runs") / loaded.name, resume=resume, data_directory=data_dir):
        raise typer.Exit(130)
