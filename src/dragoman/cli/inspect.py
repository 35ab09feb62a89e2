"""dragoman inspect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import BundlePath, Device, EngineName, EngineOptions, Overrides, Verbose, open_translator


def inspect(
    bundle: BundlePath,
    text: Annotated[str, typer.Argument(help="Text to translate and explain.")],
    output: Annotated[Path, typer.Option(help="HTML page to write.")] = Path("inspect.html"),
    png: Annotated[Path | None, typer.Option(metavar="DIR", help="Also write heat maps here, as PNG and SVG.")] = None,
    overrides: Overrides = None,
    engine: EngineName = None,
    device: Device = "auto",
    verbose: Verbose = False,
) -> None:
    """Write a page that explains a translation.

    The page shows attention, alternatives, and the beam search as a tree.

    Example: dragoman inspect runs/quickstart "Ein Hund läuft." --output page.html --png pictures
    """
    from dragoman.explanation.page.render import render_page
    from dragoman.explanation.plots import save_heat_maps
    from dragoman.system.files import write_text

    translator = open_translator(bundle, overrides, EngineOptions(engine, device, verbose=verbose, trace=True))
    explanation = translator.explain(text)
    print(explanation.translation.text)
    write_text(output, render_page(translator.bundle, translator.decoding, text, explanation))
    for path in [output, *(save_heat_maps(explanation.attention, png) if png else [])]:
        print(path)
