"""Commands that explain and compare translations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.json_output import JsonFlag, print_json, refuse_file_name
from dragoman.cli.options import BundlePath, EngineOptions, Overrides, load_translator, open_translator

if TYPE_CHECKING:
    from dragoman.evaluation.comparison import Comparison


def inspect(
    bundle: BundlePath,
    text: Annotated[str, typer.Argument(help="Text to translate and explain.")],
    output: Annotated[Path, typer.Option(help="HTML page to write.")] = Path("inspect.html"),
    png: Annotated[Path | None, typer.Option(metavar="DIR", help="Also write heat maps here, as PNG and SVG.")] = None,
    overrides: Overrides = None,
) -> None:
    """Write a page that explains a translation: attention, alternatives, and the beam search as a tree.

    Example: dragoman inspect runs/quickstart "Ein Hund läuft." --output page.html --png pictures
    """
    from dragoman.explanation.page.render import render_page
    from dragoman.explanation.plots import save_heat_maps
    from dragoman.system.files import write_text

    translator = open_translator(bundle, overrides, EngineOptions(trace=True))
    explanation = translator.explain(text)
    print(explanation.translation.text)
    write_text(output, render_page(translator.bundle, translator.decoding, text, explanation))
    for path in [output, *(save_heat_maps(explanation.attention, png) if png else [])]:
        print(path)


def compare(
    context: typer.Context,
    first: Annotated[Path, typer.Argument(metavar="A", help="A bundle or run directory.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another bundle or run directory.")],
    source: Annotated[Path, typer.Option(help="File to translate, one sentence per line (or .gz).")],
    reference: Annotated[Path, typer.Option(help="File with the reference translation of each line.")],
    as_json: JsonFlag = False,
    sentences: Annotated[int, typer.Option(min=0, help="Number of differing sentences to show.")] = 5,
    overrides: Overrides = None,
) -> None:
    """Compare two translators, test whether the difference is significant, and show where they differ most.

    Example: dragoman compare runs/old runs/new --source test.de --reference test.en
    """
    from dragoman.corpus.corpus import read_texts
    from dragoman.evaluation.comparison import compare_translators

    refuse_file_name(context)
    sources, references = read_texts(source, reference)
    translators = load_translator(first, overrides), load_translator(second, overrides)
    comparison = compare_translators(*translators, sources, references)
    if as_json:
        print_json(comparison.to_dict())
    else:
        _print_comparison(comparison, (first, second), len(sources), sentences)


def _print_comparison(comparison: Comparison, paths: tuple[Path, Path], pairs: int, sentences: int) -> None:
    for name, path, report in zip("AB", paths, (comparison.first, comparison.second), strict=True):
        print(f"{name}  BLEU {report.bleu:.2f}  chrF {report.chrf:.2f}  perplexity {report.perplexity:.3f}  {path}")
    for test in comparison.significance:
        print(f"{test.metric} B - A = {test.second - test.first:+.2f}, {test.method}: p = {test.p_value:.4f}")
        print(f"  {test.signature}")
    print(f"{len(comparison.differences):,} of {pairs:,} sentences are translated differently")
    for each in comparison.differences[:sentences]:
        print(f"\n  source     {each.source}\n  reference  {each.reference}")
        print(f"  A {each.first_chrf:7.2f}  {each.first}\n  B {each.second_chrf:7.2f}  {each.second}")
