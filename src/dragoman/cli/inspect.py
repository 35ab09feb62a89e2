"""dragoman inspect."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import (
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
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.bundle import Bundle
    from dragoman.translator import Translator


def inspect(
    bundle: Annotated[
        Path, typer.Argument(metavar="BUNDLE", help="A bundle, a run directory, or a checkpoint of a run.")
    ],
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Text to translate and explain.")] = "",
    output: Annotated[
        Path | None,
        typer.Option(help="HTML page to write (- for standard output; default: inspect.html)."),
    ] = None,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Serve the page on this machine, with controls to change the text and the model."),
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port for --serve; 0 for a free one.")] = 0,
    compare: Annotated[
        Path | None, typer.Option(metavar="BUNDLE", help="Another bundle or checkpoint to show side by side.")
    ] = None,
    overrides: Overrides = None,
    engine: EngineName = None,
    device: Device = "auto",
    verbose: Verbose = False,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
) -> None:
    """Write or serve a page that explains a translation.

    The page shows attention, alternatives, and the beam search as a tree. With --serve, it also shows which source
    words each word depends on, what each layer would predict, and what changes without a word, a head or a layer. The
    text is not split into sentences.

    Example: dragoman inspect runs/quickstart "Ein Hund läuft." --output page.html
    """
    if not (text or serve):
        raise UserError("TEXT is missing; give a text, or --serve to type it in the browser")
    if serve and output is not None:
        raise UserError("--serve writes no file; save the page in the browser, or omit --output")
    if compare == bundle:
        raise UserError(f"--compare {compare}: is the same translator; give another bundle or checkpoint")
    paths = [bundle, *([compare] if compare else [])]
    languages = (source_language, target_language)
    options = EngineOptions(engine or "torch", device, verbose=verbose, languages=languages)

    def recognize(translator: Bundle) -> str:
        from dragoman.bundle import recognize_sources

        return recognize_sources(translator, [text])[0]

    if serve:
        from dragoman.serving.inspector_app import serve_inspector

        known = recognize if text else None
        models = {str(path): open_translator(path, overrides, options, recognize=known) for path in paths}
        return serve_inspector(models, text, port)
    output = output or Path("inspect.html")
    messages = sys.stderr if output == DASH else sys.stdout
    with open_output(output) as page:  # first, so that a file that cannot be written is refused at once
        models = {str(path): open_translator(path, overrides, options, recognize=recognize) for path in paths}
        translator = models[str(bundle)]
        _warn_of_several(translator, text)
        if compare is None:
            from dragoman.explanation.page.data import page_data
            from dragoman.explanation.page.render import render_page

            explanation = translator.explain(text)
            print(explanation.translation.text, file=messages)
            print(render_page([page_data(translator.bundle, translator.decoding, text, explanation)]), file=page)
        else:
            _write_comparison(models, text, page, messages)
    if output != DASH:
        print(output, file=messages)


def _write_comparison(models: dict[str, Translator], text: str, page: IO[str], messages: IO[str]) -> None:
    """Print the translation of each model, and write the page of both."""
    from dragoman.serving.inspector import Inspector, Question

    inspector = Inspector(models)
    print(inspector.answer_question(Question(text, answer="page")), file=page)
    for name, translation in inspector.translations(text).items():
        print(f"{name}: {translation}", file=messages)


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
