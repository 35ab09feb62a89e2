"""The flag --json of commands whose --json used to take the name of a file."""

from __future__ import annotations

from typing import Annotated

import typer

from dragoman.errors import UserError


def _accept_file_name(context: typer.Context, as_json: bool) -> bool:
    """Pass a file name after --json on to the command instead of reporting an unexpected argument."""
    context.allow_extra_args = as_json
    return as_json


JsonFlag = Annotated[
    bool, typer.Option("--json", callback=_accept_file_name, help="Print JSON to standard output instead of text.")
]


def refuse_file_name(context: typer.Context) -> None:
    """Explain what replaced the file name that --json used to take.

    Raises:
        UserError: There are arguments that the command does not expect.
    """
    if context.args:
        raise UserError(
            f"unexpected argument {context.args[0]!r}: --json prints to standard output and takes no file name; to "
            "write a file, use --json > scores.json"
        )
