"""The commands that exchange models with other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import BundlePath, ComputeType

import_app = typer.Typer(help="Convert models of other programs to bundles.", no_args_is_help=True)


def export_bundle(
    bundle: BundlePath,
    directory: Annotated[
        Path, typer.Argument(metavar="DIRECTORY", help="Where to write; created, or replaced if it is an export.")
    ],
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="ctranslate2, huggingface, onnx or argos.")],
    compute_type: ComputeType = "float32",
    source: Annotated[
        Path | None,
        typer.Option(help="A file of sentences whose translations are compared (default: sentences of random tokens)."),
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(help="A file with reference translations of the sentences, to compare BLEU.")
    ] = None,
) -> None:
    """Export a translator to the format of another program, and check that it computes the same.

    Example: dragoman export runs/multi30k-de-en exported --to ctranslate2 --source test.de --reference test.en
    """
    from dragoman.bundle import Bundle
    from dragoman.export.run import export
    from dragoman.export.sample import read_sample

    parity = export(Bundle.load(bundle), to, directory, compute_type, read_sample(source, reference))
    print(f"{parity}\n{directory}: exported to {to}; parity check passed")


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
