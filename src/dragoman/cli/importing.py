"""dragoman import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import_app = typer.Typer(help="Convert models of other programs to bundles.", no_args_is_help=True)


@import_app.command("huggingface")
def import_huggingface(
    directory: Annotated[
        Path, typer.Argument(metavar="DIRECTORY", help="A Marian model and its tokenizer, in Hugging Face's format.")
    ],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The bundle to write.")],
) -> None:
    """Convert a Marian model of Hugging Face (such as OPUS-MT) to a bundle, and check that it computes the same.

    Example: dragoman import huggingface opus-mt-de-en imported
    """
    from dragoman.export.huggingface.importer import import_marian

    difference = import_marian(directory, output)
    print(f"logits: largest difference {difference:.2g}\n{output}: imported; parity check passed")
