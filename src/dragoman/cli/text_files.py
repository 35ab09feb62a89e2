"""Options of commands that read text files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from itertools import chain
from typing import Annotated, Any

import typer

from dragoman.cli.suggestions import SuggestingCommand
from dragoman.errors import UserError

LanguagesOption = Annotated[
    str | None,
    typer.Option(
        "--languages",
        metavar="SOURCE-TARGET",
        help="Language codes, such as de-en, or a list, such as de,hsb,dsb (default: what files or their names state).",
    ),
]
TwoLanguagesOption = Annotated[
    str | None,
    typer.Option(
        "--languages",
        metavar="SOURCE-TARGET",
        help="Language codes, such as de-en (default: what files or their names state).",
    ),
]
EncodingOption = Annotated[
    str | None, typer.Option("--encoding", metavar="NAME", help="Encoding, such as cp1252 or utf-16 (default: UTF-8).")
]
DelimiterOption = Annotated[
    str | None, typer.Option("--delimiter", metavar="CHARACTER", help="What separates columns: , ; | or tab.")
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="SOURCE,TARGET", help="Columns to read: names in the header row, or numbers from 1."
    ),
]
HeaderOption = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether the first row names the columns.")
]
QuotesOption = Annotated[
    bool | None, typer.Option("--quotes/--no-quotes", help="Whether quotation marks enclose columns, as in Excel.")
]
TestOption = Annotated[
    list[str] | None,
    typer.Option(
        "--test",
        metavar="FILE...",
        help="Test text: two line-aligned files, or one file in another format.",
    ),
]
ValidationOption = Annotated[
    list[str] | None,
    typer.Option(
        "--validation",
        metavar="FILE...",
        help="Text to choose the best checkpoint with (default: some training pairs are held out).",
    ),
]
ARGUMENTS = "dragoman.arguments"
_HELD_OUT = ("--test", "--validation")


class TextFilesCommand(SuggestingCommand):
    """Accepts two line-aligned files after --test and --validation; Typer's options have a fixed number of values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before the second of two files."""
        ctx.meta[ARGUMENTS] = list(args)
        return super().parse_args(ctx, _repeat_options(args))

    def invoke(self, ctx: Any) -> Any:
        """Run the command. If a named file is not what the options say, the error contains the right command.

        Options apply to all files, so if there are others, the error says how to convert this one.
        """
        from dragoman.corpus.corpus import is_recognized
        from dragoman.corpus.references import UndeclaredError, as_options

        try:
            return super().invoke(ctx)
        except UndeclaredError as error:
            arguments, options = ctx.meta[ARGUMENTS], as_options(error.settings)
            if error.file not in arguments:
                raise
            if sum(is_recognized(each) for each in arguments if os.path.isfile(each)) > 1:
                stated = ctx.params.get("languages") or ""
                languages = "SOURCE-TARGET" if "," in stated else stated or "SOURCE-TARGET"
                command = ["dragoman", "convert", error.file, "converted.tsv", "--languages", languages, *options]
                raise UserError(f"{error.problem}; convert it first: {shlex.join(command)}") from None
            names = ctx.command_path.removeprefix(ctx.find_root().command_path).split()  # such as doctor data
            words = ["dragoman", *names, *arguments, *options]
            raise UserError(f"{error.problem}; run: {shlex.join(words)}") from None


def _repeat_options(arguments: Sequence[str]) -> list[str]:
    """``--test A B`` as ``--test A --test B``, if A is not a corpus by itself."""
    from dragoman.corpus.corpus import is_recognized

    repeated: list[str] = []
    needs_second = dict.fromkeys(_HELD_OUT, False)
    for argument in chain.from_iterable(map(_split_value, arguments)):
        option = repeated[-2] if len(repeated) > 1 else ""
        if needs_second.get(option) and not argument.startswith("-"):
            repeated.append(option)
        elif option in _HELD_OUT and not arguments[0].startswith("-") and not argument.startswith("-"):
            raise UserError(
                f"{argument}: to add it to {option}, repeat {option} before it; name all training files together"
            )
        if repeated and (last := repeated[-1]) in needs_second:
            needs_second[last] = not needs_second[last] and not is_recognized(argument)
        repeated.append(argument)
    return repeated


def _split_value(argument: str) -> list[str]:
    """``--test=A`` as ``--test A``."""
    option, equals, value = argument.partition("=")
    return [option, value] if equals and option in _HELD_OUT else [argument]
