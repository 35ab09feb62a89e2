"""dragoman train and dragoman quickstart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from dragoman.cli.options import DataDirectory, Overrides


class TrainCommand(TyperCommand):
    """Accepts --resume without a value, because Typer has no options whose value may be left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give --resume the value that stands for none."""
        return super().parse_args(ctx, ["--resume=run" if argument == "--resume" else argument for argument in args])


def quickstart(
    output: Annotated[Path, typer.Option(help="Run directory.")] = Path("runs/quickstart"),
) -> None:
    """Train a small example translator.

    Trains a German-English translator on the built-in corpus, which takes a few minutes on a laptop, scores it and
    translates two sentences. If it was interrupted, the same command continues.

    Example: dragoman quickstart --output runs/quickstart
    """
    from dragoman.recipe import load_recipe
    from dragoman.system.device import avoid_cudnn_attention
    from dragoman.system.memory import keep_freed_memory
    from dragoman.training.run import train

    keep_freed_memory()
    avoid_cudnn_attention()
    recipe = load_recipe(Path("quickstart"))
    if not train(recipe, output, resume="auto"):
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
    resume: Annotated[
        Literal["run", "auto"] | None,
        typer.Option(
            metavar="[=auto]",
            help="Continue from the newest checkpoint; =auto: or start, if there is no run to continue.",
            show_choices=False,
        ),
    ] = None,
    data_dir: DataDirectory = None,
) -> None:
    """Train a translator.

    Reads a recipe and writes a run directory with checkpoints, a bundle and a report. `dragoman settings` lists the
    settings that --set can change.

    Example: dragoman train recipes/multi30k-de-en.toml --set training.minutes=10
    """
    from dragoman.recipe import load_recipe
    from dragoman.system.device import avoid_cudnn_attention
    from dragoman.system.memory import keep_freed_memory
    from dragoman.training.run import train

    keep_freed_memory()
    avoid_cudnn_attention()
    loaded = load_recipe(recipe, overrides or [])
    run = output or Path("runs") / loaded.name
    if not train(loaded, run, resume="auto" if resume == "auto" else resume is not None, data_directory=data_dir):
        raise typer.Exit(130)
