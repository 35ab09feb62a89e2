"""The verbs that look inside translators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import BundlePath, EngineOptions, Overrides, load_translator, open_translator


def inspect(
    bundle: BundlePath,
    text: Annotated[str, typer.Argument(help="Text to translate and to explain.")],
    output: Annotated[Path, typer.Option(help="Page to write.")] = Path("inspect.html"),
    png: Annotated[Path | None, typer.Option(metavar="DIR", help="Write heat maps there too, PNG and SVG.")] = None,
    overrides: Overrides = None,
) -> None:
    """Show on one page how a text was translated: attention, alternatives, and the beam search as a tree.

    Example: dragoman inspect runs/quickstart "Ein Hund läuft." --output page.html --png pictures
    """
    from dragoman.explanation.page import render_page
    from dragoman.explanation.plots import save_heat_maps
    from dragoman.system.files import write_text

    translator = open_translator(bundle, overrides, EngineOptions(trace=True))
    explanation = translator.explain(text)
    print(explanation.translation.text)
    write_text(output, render_page(translator, text, explanation))
    for path in [output, *(save_heat_maps(explanation.attention, png) if png else [])]:
        print(path)


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A bundle or run directory.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another.")],
    source: Annotated[Path, typer.Option(help="File to translate, line by line (or .gz).")],
    reference: Annotated[Path, typer.Option(help="File with the right translation of each line.")],
    output: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write everything as JSON.")] = None,
    sentences: Annotated[int, typer.Option(min=0, help="Sentences to show.")] = 5,
    overrides: Overrides = None,
) -> None:
    """Tell which of two translators is better, whether that may be luck, and where they differ most.

    Example: dragoman compare runs/old runs/new --source test.de --reference test.en
    """
    from dragoman.corpus.corpus import read_texts
    from dragoman.evaluation.comparison import compare
    from dragoman.system.files import write_json

    sources, references = read_texts(source, reference)
    found = compare(load_translator(first, overrides), load_translator(second, overrides), sources, references)
    if output:
        write_json(output, found.to_dict())
    for name, path, report in (("A", first, found.first), ("B", second, found.second)):
        print(f"{name}  BLEU {report.bleu:.2f}  chrF {report.chrf:.2f}  perplexity {report.perplexity:.3f}  {path}")
    for test in found.significance:
        print(f"{test.metric} B - A = {test.second - test.first:+.2f}, {test.method}: p = {test.p_value:.4f}")
        print(f"  {test.signature}")
    print(f"{len(found.differences):,} of {len(sources):,} sentences are translated differently")
    for each in found.differences[:sentences]:
        print(f"\n  source     {each.source}\n  reference  {each.reference}")
        print(f"  A {each.first_chrf:7.2f}  {each.first}\n  B {each.second_chrf:7.2f}  {each.second}")
