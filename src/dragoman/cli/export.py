"""dragoman export."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.options import BundlePath, SourceLanguage, TargetLanguage, named_languages, warn_of_zero_shot
from dragoman.cli.output import print_to_stderr


def export_bundle(
    bundle: BundlePath,
    directory: Annotated[
        Path, typer.Argument(metavar="DIRECTORY", help="Where to write; created, or replaced if it is an export.")
    ],
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="ctranslate2, huggingface, onnx, web or argos.")],
    compute_type: Annotated[
        Literal["float32", "int8"] | None,
        typer.Option(
            help="Data type of the exported weights: float32, or int8 (default for web), which is smaller and less "
            "exact; huggingface has no int8."
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(help="A file of sentences whose translations are compared (default: sentences of random tokens)."),
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(help="A file with reference translations of the sentences, to compare BLEU.")
    ] = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
) -> None:
    """Export a translator to the format of another program, and check that it computes the same.

    Example: dragoman export runs/multi30k-de-en exported --to ctranslate2 --source test.de --reference test.en
    """
    from dragoman.bundle import Bundle, choose_direction
    from dragoman.export.parity import read_sample
    from dragoman.export.run import export

    whole, sample = Bundle.load(bundle), read_sample(source, reference)
    loaded = choose_direction(whole, source_language, target_language)
    warn_of_zero_shot(loaded)
    if loaded.is_undecided and source and reference and (named := named_languages(whole, (source, reference))):
        sample = replace(sample, languages=choose_direction(loaded, *named).recipe.data.languages)
    parity = export(loaded, to, directory, compute_type, sample, print_to_stderr)
    print(f"{parity}\n{directory}: exported to {to}; parity check passed")
    if to == "web":
        print_to_stderr(
            f"to try it: python -m http.server -d {shlex.quote(str(directory))}, then open http://localhost:8000"
        )
    if parity.compute_type == "int8" and parity.bleu is None:
        missing = "--reference FILE" if parity.own_sentences else "--source FILE and --reference FILE"
        print_to_stderr(f"to measure how much int8 changes BLEU, add {missing}")
