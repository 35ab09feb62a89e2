"""dragoman init, and the texts that dragoman train takes instead of a recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import DataDirectory
from dragoman.cli.text_files import (
    ColumnsOption,
    DelimiterOption,
    EncodingOption,
    FileOptions,
    HeaderOption,
    LanguagesOption,
    QuotesOption,
    find_references,
)
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.planning.plan import PlannedRecipe

FILES_HELP = "Two line-aligned files, or files in any format."
MinutesOption = Annotated[
    float | None,
    typer.Option("--minutes", min=0.1, max=1_000_000, help="Time for training (default: a number of epochs)."),
]
ValidationOption = Annotated[
    list[str] | None,
    typer.Option("--validation", help="Text to choose the best checkpoint with; for two files, give it twice."),
]
TestOption = Annotated[
    list[str] | None, typer.Option("--test", help="Text to score the translator with; for two files, give it twice.")
]


@dataclass(frozen=True)
class TextOptions:
    """The files of a training, and what the command line says about them."""

    train: Sequence[str]
    validation: Sequence[str]
    test: Sequence[str]
    files: FileOptions
    minutes: float | None
    data_directory: Path | None

    def given(self) -> list[str]:
        """The names of options that describe files of text, of those that were given."""
        values = {"minutes": self.minutes, "validation": self.validation, "test": self.test, **vars(self.files)}
        return [name for name, value in values.items() if value not in (None, ())]

    def name(self) -> str:
        """The name of the recipe: the languages."""
        return "-".join(find_references(self.train, self.files)[1])

    def plan(self) -> PlannedRecipe:
        """The recipe for these files."""
        from dragoman.planning.plan import Texts, plan_recipe

        references, languages = find_references(self.train, self.files)
        described = replace(self.files, languages=":".join(languages))
        held_out = [find_references(files, described)[0] if files else [] for files in (self.validation, self.test)]
        return plan_recipe(Texts(languages, references, *held_out), self.minutes, self.data_directory)


def init(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help=FILES_HELP)],
    output: Annotated[Path, typer.Option(help="The recipe to write.")],
    minutes: MinutesOption = None,
    validation: ValidationOption = None,
    test: TestOption = None,
    languages: LanguagesOption = None,
    encoding: EncodingOption = None,
    delimiter: DelimiterOption = None,
    columns: ColumnsOption = None,
    header: HeaderOption = None,
    quotes: QuotesOption = None,
    data_dir: DataDirectory = None,
) -> None:
    """Write a recipe for your text.

    Reads the text and chooses settings for its amount, its scripts and the time you have. A comment gives the reason
    for each value. `dragoman train` accepts the recipe, and trains directly from the same files with the same choice.

    Example: dragoman init my/train.de my/train.en --minutes 20 --output my-recipe.toml
    """
    from dragoman.system.files import write_text

    if output.exists():
        raise UserError(f"{output}: already exists; choose another --output")
    described = FileOptions(languages, encoding, delimiter, columns, header, quotes)
    made = TextOptions(files, validation or (), test or (), described, minutes, data_dir).plan()
    write_text(output, made.text)
    print(made.summary())
    print(f"recipe: {output}; train with: dragoman train {output}")
