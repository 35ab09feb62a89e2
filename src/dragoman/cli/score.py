"""dragoman score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import (
    BundlePath,
    Device,
    EngineName,
    EngineOptions,
    JsonLines,
    Overrides,
    SourceLanguage,
    TargetLanguage,
    Verbose,
    open_translator,
)
from dragoman.cli.output import open_output, refuse_to_overwrite, to_json


def score(
    bundle: BundlePath,
    source: Annotated[Path, typer.Option(help="File with one source sentence per line (or .gz).")],
    target: Annotated[Path, typer.Option(help="File with the translation of each line to score.")],
    output: Annotated[
        Path | None, typer.Option(help="File to write, plain or .gz (default, and -: standard output).")
    ] = None,
    overrides: Overrides = None,
    as_json: JsonLines = False,
    engine: EngineName = None,
    device: Device = "auto",
    verbose: Verbose = False,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
) -> None:
    """Score existing translations.

    Prints one line per translation: its log-probability, divided by the length penalty.

    Example: dragoman score runs/multi30k-de-en --source test.de --target other.en --set decoding.length_penalty=0
    """
    from dragoman.corpus.corpus import read_corpus
    from dragoman.evaluation.scoring import score
    from dragoman.settings import FilePair

    refuse_to_overwrite(output, ("the source", source), ("the target", target))
    options = EngineOptions(engine or "torch", device, verbose=verbose, languages=(source_language, target_language))
    translator = open_translator(
        bundle, [*(overrides or ()), "decoding.neighbors=none"], options, files=(source, target)
    )
    files = FilePair(source=str(source), target=str(target))
    pairs = read_corpus(files, source_language="source", target_language="target")
    with open_output(output) as file:
        for each in score(translator, ((pair.source, pair.target) for pair in pairs)):
            file.write((to_json(each) if as_json else f"{each.score:.5f}") + "\n")
