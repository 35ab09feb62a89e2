"""dragoman init."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import DataDirectory, minutes_option
from dragoman.cli.text_files import (
    ColumnsOption,
    DelimiterOption,
    EncodingOption,
    HeaderOption,
    LanguagesOption,
    QuotesOption,
    TestOption,
    ValidationOption,
)
from dragoman.cli.text_references import FileOptions
from dragoman.cli.training_texts import Force, KeepAllOption, MonoOption, StartFromOption, TrainingTexts
from dragoman.errors import UserError, escape_controls

FILES_HELP = "Two line-aligned files, source first, or files in other formats, such as memory.tmx."


def init(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help=FILES_HELP)],
    output: Annotated[Path, typer.Option(help="The recipe to write.")],
    minutes: Annotated[
        float | None,
        minutes_option("Minutes of training to plan for (default: as many epochs as the text needs)."),
    ] = None,
    validation: ValidationOption = None,
    test: TestOption = None,
    keep_all: KeepAllOption = False,
    start_from: StartFromOption = None,
    mono: MonoOption = None,
    languages: LanguagesOption = None,
    encoding: EncodingOption = None,
    delimiter: DelimiterOption = None,
    columns: ColumnsOption = None,
    header: HeaderOption = None,
    quotes: QuotesOption = None,
    force: Force = False,
    data_dir: DataDirectory = None,
) -> None:
    """Write a recipe for your text.

    Reads the text, and chooses settings that suit its size and scripts, your time and this machine. A comment gives the
    reason for each value. Change what you like, then train with `dragoman train RECIPE`. To train at once with the same
    settings, give `dragoman train` the files instead.

    Example: dragoman init my/train.de my/train.en --minutes 20 --output my-recipe.toml
    """
    from dragoman.planning.write import recipe_text
    from dragoman.system.files import write_text

    if output.exists():
        raise UserError(f"{output}: already exists; choose another --output")
    if not output.parent.is_dir():
        raise UserError(f"{output}: there is no directory {output.parent}")
    described = FileOptions(languages, encoding, delimiter, columns, header, quotes)
    texts = TrainingTexts(
        files, validation or (), test or (), described, minutes, data_dir, keep_all, start_from, mono=mono or ()
    )
    made = texts.plan()
    if not force:
        made.refuse_short_stages()
    write_text(output, recipe_text(made.name, made.choices))
    if made.cleaned:
        print(made.cleaned)
        for warning in made.cleaned.warnings:
            print(escape_controls(warning), file=sys.stderr)
    print(made.summary(made.recipe()))
    train = ["dragoman", "train", str(output), *(["--force"] if force else [])]
    print(f"recipe: {output}; train with: {shlex.join(train)}")
