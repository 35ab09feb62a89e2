"""dragoman translate."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import (
    AsJson,
    BundlePath,
    ComputeType,
    Device,
    EngineName,
    EngineOptions,
    Overrides,
    Verbose,
    open_translator,
)
from dragoman.cli.output import open_output, to_json, to_line, with_progress
from dragoman.errors import UserError, counted


def translate(
    bundle: BundlePath,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="Texts to translate (default: standard input)."),
    ] = None,
    source: Annotated[Path | None, typer.Option("--input", help="File to translate, a text per line (or .gz).")] = None,
    output: Annotated[Path | None, typer.Option(help="File to write, plain or .gz (default: standard output).")] = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
    engine: EngineName = None,
    device: Device = "auto",
    compute_type: ComputeType = "auto",
    verbose: Verbose = False,
    ensemble: Annotated[
        list[Path] | None,
        typer.Option(metavar="BUNDLE", help="Average the predictions with those of this bundle; can be repeated."),
    ] = None,
    prefixes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with the beginning of each translation, one per line.")
    ] = None,
) -> None:
    """Translate texts, a file or standard input.

    Prints one line per line of input. With decoding.n_best above 1, the alternatives follow on the same line,
    separated by tabs.

    Example: dragoman translate runs/quickstart "Ein Hund läuft." --set decoding.beam_size=8
    """
    from dragoman.corpus.lines import decode_lines, read_lines

    if texts and source:
        raise UserError("give texts or --input, not both")
    if output and source and os.path.realpath(output) == os.path.realpath(source):  # also with a loop of links
        raise UserError(f"{output}: is also the input")
    options = EngineOptions(engine, device, compute_type, verbose, token_scores=as_json)
    translator = open_translator(bundle, overrides, options, ensemble or [])
    lines: Iterable[str] = texts or (read_lines(source) if source else decode_lines(sys.stdin.buffer, "standard input"))
    truncated = faulty = 0
    with open_output(output) as file:
        translations = translator.stream(lines, read_lines(prefixes) if prefixes else None)
        for translation in with_progress(translations, shown=sys.stderr.isatty() and not (texts or file.isatty())):
            truncated += translation.truncated
            faulty += bool(translation.problems)
            file.write((to_json(translation) if as_json else to_line(translation)) + "\n")
    if truncated:
        print(
            f"dragoman: warning: translated only the beginning of {counted(truncated, 'line')} longer than the model's "
            f"limit of {translator.source_limit} tokens",
            file=sys.stderr,
        )
    if faulty:
        print(
            f"dragoman: warning: {counted(faulty, 'translation')} with missing, repeated or invented placeholders, "
            "URLs or numbers; --json prints them as problems",
            file=sys.stderr,
        )
