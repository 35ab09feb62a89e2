"""The verbs that make translators, and tell what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dragoman.cli.options import AsJson, DataDirectory, Overrides


def quickstart(
    output: Annotated[Path, typer.Option(help="Run directory.")] = Path("runs/quickstart"),
) -> None:
    """Train a small German-English translator on the built-in corpus, score it, and translate with it.

    Takes a few minutes on a laptop; run again, it goes on where it stopped.

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
    print(f'\nNow: dragoman translate {output} "{examples[0]}"\nand open {output / "report.html"}')


def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe file, or the name of a built-in one.")],
    output: Annotated[Path | None, typer.Option(help="Run directory (default: runs/NAME of the recipe).")] = None,
    overrides: Overrides = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the newest checkpoint.")] = False,
    data_dir: DataDirectory = None,
) -> None:
    """Train a translator: recipe in; run directory with checkpoints, bundle and report out.

    Example: dragoman train recipes/multi30k-de-en.toml --set training.minutes=10
    """
    from dragoman.recipe import load_recipe
    from dragoman.system.memory import keep_freed_memory
    from dragoman.training.run import train

    keep_freed_memory()
    loaded = load_recipe(recipe, overrides or [])
    if not train(loaded, output or Path("runs") / loaded.name, resume=resume, data_directory=data_dir):
        raise typer.Exit(130)


def info(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE|RUN|RECIPE")],
    as_json: AsJson = False,
    overrides: Overrides = None,
    data_dir: DataDirectory = None,
) -> None:
    """Tell what a bundle, run or recipe is: parameters by part, vocabulary sizes, settings, scores.

    Example: dragoman info recipes/multi30k-de-en.toml --json
    """
    from dragoman.training.describe import describe

    about = describe(path, overrides or [], data_dir)
    if as_json:
        print(json.dumps(about, ensure_ascii=False, indent=2))
    else:
        _print_tree(about)


def _print_tree(data: dict[str, Any], indent: str = "") -> None:
    for key, value in data.items():
        if isinstance(value, dict):
            print(f"{indent}{key}")
            _print_tree(value, indent + "  ")
        else:
            print(f"{indent}{key}: {value:,}" if type(value) is int else f"{indent}{key}: {value}")
