"""The verbs that exchange models with other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import BundlePath, ComputeType

import_app = typer.Typer(help="Models of other programs as bundles.", no_args_is_help=True)


def export_bundle(
    bundle: BundlePath,
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where to; made, or an earlier export.")],
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="ctranslate2, huggingface, onnx or argos.")],
    compute_type: ComputeType = "float32",
    source: Annotated[
        Path | None, typer.Option(help="Sentences to compare translations of, line by line (default: random tokens).")
    ] = None,
    reference: Annotated[Path | None, typer.Option(help="Their right translations, to compare BLEU too.")] = None,
) -> None:
    """Write a translator in another program's format, and check that it still is the same translator.

    Example: dragoman export runs/multi30k-de-en exported --to ctranslate2 --source test.de --reference test.en
    """
    from dragoman.bundle import Bundle
    from dragoman.export.parity import read_sample
    from dragoman.export.run import export

    measured = export(Bundle.load(bundle), to, directory, compute_type, read_sample(source, reference))
    print(f"{measured}\n{directory}: {to}, the same translator")


@import_app.command("huggingface")
def import_huggingface(
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="A Marian model and its tokenizer.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The bundle to write.")],
) -> None:
    """Make a bundle of a Marian model of Hugging Face, such as those of OPUS-MT, and check that it computes the same.

    Example: dragoman import huggingface opus-mt-de-en imported
    """
    from dragoman.export.huggingface.importer import import_marian

    difference = import_marian(directory, output)
    print(f"logits: largest difference {difference:.2g}\n{output}: a bundle with the same logits")
