"""dragoman translate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dragoman.cli.options import (
    BundlePath,
    ComputeType,
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
from dragoman.cli.output import open_output, refuse_to_overwrite
from dragoman.cli.translate_document import check_files, translate_document
from dragoman.cli.translate_input import TranslateInput
from dragoman.cli.translate_text import translate_lines, write_html
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.documents.translate import TextTranslator

_EXCLUDED = {
    "--document": ("texts", "--input", "--prefixes", "--json", "--format html"),
    "--format html": ("--json", "--prefixes"),
    "--prefixes": ("--glossary", "--memory"),
}
"""Options that cannot be combined with others."""


def translate(
    bundle: BundlePath,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Texts to translate (default: standard input, or a prompt)."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--input", help="File to translate, one text per line (or .gz; - for standard input)."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write, plain or .gz (default, and -: standard output).")
    ] = None,
    overrides: Overrides = None,
    as_json: JsonLines = False,
    engine: EngineName = None,
    device: Device = "auto",
    compute_type: ComputeType = "auto",
    verbose: Verbose = False,
    ensemble: Annotated[
        list[Path] | None,
        typer.Option(metavar="BUNDLE", help="Average the predictions with those of this bundle; can be repeated."),
    ] = None,
    prefixes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with the beginning of each translation, one per line. Lines are then not split into sentences, "
            "and placeholders that the model loses are not put back.",
        ),
    ] = None,
    document: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Document to translate, such as .docx or .md; needs --output."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,…", help="Columns of a CSV document to translate, by name or number (default: all)."
        ),
    ] = None,
    text_format: Annotated[
        Literal["text", "html"],
        typer.Option("--format", help="With html, tags are kept, and a file is one document instead of lines."),
    ] = "text",
    glossary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Terms that translations use: lines with a term, a tab or =, and its translation, or a .csv, .xlsx or "
            ".tmx file.",
        ),
    ] = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    memory: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CORPUS",
            help="Translation memory, such as memory.tmx: known translations are returned, and those of similar texts "
            "help models that were trained with training.augmentation.fuzzy_matches. Can be repeated.",
        ),
    ] = None,
) -> None:
    """Translate texts, a file, standard input, or what you type.

    Prints one line per line of input; the sentences of a line are translated separately, unless the translator was
    trained with several per line. With decoding.n_best above 1, the alternatives follow on the same line, separated by
    tabs. Without texts and --input, it reads standard input; on a terminal, it translates each line that
    you type, until Ctrl-D. If a translation from --input to --output is interrupted, the same command continues it.

    Example: dragoman translate runs/quickstart "Ein Hund läuft." --set decoding.beam_size=8
    """
    from dragoman.cli.glossary_file import read_glossary
    from dragoman.corpus.memory import TranslationMemory
    from dragoman.documents.translate import TextTranslator

    given = {
        "texts": texts,
        "--input": source,
        "--document": document,
        "--json": as_json,
        "--format html": text_format == "html",
        "--prefixes": prefixes,
        "--glossary": glossary,
        "--memory": memory,
    }
    _refuse_combinations([name for name, value in given.items() if value])
    if columns and not document:
        raise UserError("--columns chooses the columns of a table; name the table with --document")
    if output and not output.parent.is_dir():
        raise UserError(f"{output}: there is no directory {output.parent}")
    refuse_to_overwrite(output, ("the input", source), ("the glossary", glossary), ("the prefixes", prefixes))
    translated = check_files(document, output) if document else None
    chosen = TranslateInput(bundle, [] if texts == ["-"] else texts or [], source)
    options = EngineOptions(
        engine, device, compute_type, verbose, token_scores=as_json, languages=(source_language, target_language)
    )
    opened = open_translator(bundle, overrides, options, ensemble or [])
    languages = opened.bundle.recipe.data.languages
    memories = [each.replace("{lang}", language) for each in memory or () for language in languages]
    refuse_to_overwrite(output, *(("a memory", each) for each in memories))
    terms = read_glossary(glossary, languages) if glossary else None
    translator = TextTranslator(opened, terms, TranslationMemory.read(memory, languages) if memory else None)
    if document and translated:
        translate_document(translator, document, translated, columns)
    elif text_format == "html":
        with open_output(output) as file:
            counts = write_html(translator, chosen, file)
            seen = bool(chosen.texts) or file.isatty()
        counts.warn(unseen=not seen)
    else:

        def identity() -> list[Any]:
            return [device, as_json, *_identify(translator, ensemble or [])]

        translate_lines(translator, chosen, prefixes, output, as_json, identity)


def _identify(texts: TextTranslator, ensemble: Sequence[Path]) -> list[Any]:
    """What decides the translations of a text, as plain data: the program, bundles, search, glossary and memory."""
    from dragoman.bundle import bundle_digest
    from dragoman.synthesis.identity import identify_translator

    terms, memory = texts.glossary, texts.memory
    return [
        identify_translator(texts.translator),
        list(map(bundle_digest, ensemble)),
        [[term.source, term.target] for term in terms.terms] if terms else [],
        list(map(list, memory.segments.items())) if memory else [],
    ]


def _refuse_combinations(given: Sequence[str]) -> None:
    """Check that no two of the given options exclude each other."""
    for option, others in _EXCLUDED.items():
        if option in given and (excluded := [other for other in others if other in given]):
            raise UserError(f"{option} cannot be combined with {' and '.join(excluded)}")
