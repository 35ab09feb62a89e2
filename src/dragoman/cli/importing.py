"""dragoman import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import_app = typer.Typer(help="Convert models of other programs to bundles.", no_args_is_help=True)


@import_app.command("huggingface")
def import_from_huggingface(
    directory: Annotated[
        Path, typer.Argument(metavar="DIRECTORY", help="A model and its tokenizer, in Hugging Face's format.")
    ],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The bundle to write: a new or empty directory.")],
    source_language: Annotated[
        str | None, typer.Option(metavar="CODE", help="The language to translate from, if the files do not state it.")
    ] = None,
    target_language: Annotated[
        str | None, typer.Option(metavar="CODE", help="The language to translate into, if the files do not state it.")
    ] = None,
    languages: Annotated[
        str | None,
        typer.Option(
            metavar="CODE,…",
            help="Languages of an M2M100 or NLLB-200 model to keep; tokens of other scripts are left out.",
        ),
    ] = None,
) -> None:
    """Convert a Marian (such as OPUS-MT), M2M100 or NLLB-200 model to a bundle, and check that it computes the same.

    Example: dragoman import huggingface nllb-200 imported --source-language en --target-language hi
    """
    from dragoman.export.huggingface.checkpoint import ImportedLanguages
    from dragoman.export.huggingface.importer import import_huggingface

    kept = tuple(code.strip() for code in languages.split(",")) if languages else ()
    difference = import_huggingface(directory, output, ImportedLanguages(source_language, target_language, kept))
    print(f"logits: largest difference {difference:.2g}\n{output}: imported; parity check passed")
