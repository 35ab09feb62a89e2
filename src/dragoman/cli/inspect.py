"""dragoman inspect."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import (
    BundlePath,
    Device,
    EngineName,
    EngineOptions,
    Overrides,
    SourceLanguage,
    TargetLanguage,
    Verbose,
    open_translator,
)
from dragoman.cli.output import DASH, open_output

if TYPE_CHECKING:
    from dragoman.translator import Translator


def inspect(
    bundle: BundlePath,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Text to translate and explain.")],
    output: Annotated[Path, typer.Option(help="HTML page to write (- for standard output).")] = Path("inspect.html"),
    overrides: Overrides = None,
    engine: EngineName = None,
    device: Device = "auto",
    verbose: Verbose = False,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
) -> None:
    """Write a page that explains a translation.

    The page shows attention, alternatives, and the beam search as a tree. The text is not split into sentences.

    Example: dragoman inspect runs/quickstart "Ein Hund läuft." --output page.html
    """
    from dragoman.explanation.page.render import render_page

    languages = (source_language, target_language)
    options = EngineOptions(engine or "torch", device, verbose=verbose, languages=languages)
    messages = sys.stderr if output == DASH else sys.stdout
    with open_output(output) as page:  # first, so that a file that cannot be written is refused at once
        translator = open_translator(bundle, overrides, options, sample=lambda: text)
        _warn_of_several(translator, text)
        explanation = translator.explain(text)
        print(explanation.translation.text, file=messages)
        print(render_page(translator.bundle, translator.decoding, text, explanation), file=page)
    if output != DASH:
        print(output, file=messages)


def _warn_of_several(translator: Translator, text: str) -> None:
    """Warn of a text that is explained at once, but that `dragoman translate` splits."""
    from dragoman.doctor.input import TrainingText
    from dragoman.documents.sentences import PlainText

    trained = translator.bundle.table("training_text", TrainingText)
    whole_lines = trained is not None and trained.has_paragraphs
    count = len(PlainText(text, translator.bundle.recipe.data.source_language, whole_lines).segments)
    if count > 1:
        print(
            f"dragoman: warning: the text has {count} sentences or lines; dragoman translate translates them one by "
            "one, so that its translation may differ; inspect each of them alone",
            file=sys.stderr,
        )
