"""Commands that check a model, parallel text or translations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import (
    AsJson,
    BundlePath,
    ComputeType,
    DataDirectory,
    Device,
    EngineName,
    EngineOptions,
    Overrides,
    SourceLanguage,
    TargetLanguage,
    Verbose,
    open_translator,
)
from dragoman.cli.output import has_colors, print_json
from dragoman.cli.suggestions import SuggestingCommand
from dragoman.cli.text_files import (
    ColumnsOption,
    DelimiterOption,
    EncodingOption,
    HeaderOption,
    LanguagesOption,
    QuotesOption,
    TestOption,
    TextFilesCommand,
)
from dragoman.cli.text_references import FileOptions, find_held_out, find_texts, refuse_meaningless_options
from dragoman.errors import UserError, escape_controls, shown_name

if TYPE_CHECKING:
    from dragoman.doctor import Finding
    from dragoman.doctor.model.grading import Grade

doctor_app = typer.Typer(help="Find problems in models and texts.", no_args_is_help=True)


@doctor_app.command("model")
def doctor_model(
    model: Annotated[
        str,
        typer.Argument(
            metavar="BUNDLE|MODULE:FUNCTION|FILE|DIRECTORY",
            help="A bundle, a function that returns a model, a file with one or a class Transformer, or many files.",
        ),
    ],
    overfit: Annotated[
        bool, typer.Option("--overfit", help="Also check that the model can memorize a small batch.")
    ] = False,
    seconds: Annotated[
        float, typer.Option(min=1, max=86400, help="The longest time for each file of a directory.")
    ] = 120,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Check a model, or grade many.

    Looks for leaks of future tokens, of padding and between sentences, for a source that is not used, for overflow,
    for parameters without gradients, and for mistakes that are visible in the structure.

    MODULE:FUNCTION or FILE:FUNCTION names a function without arguments that returns a dictionary with the arguments of
    dragoman.doctor.examine: forward and others. A file alone needs a function `translator`, or a class
    Transformer(source_size, target_size) and constants PAD, BOS and EOS. Each file of a directory is examined in a
    process, with a time limit, and is one row of a table. The exit code is 1 if there are errors.

    Example: dragoman doctor model runs/quickstart
    """
    from dragoman.doctor.model.grading import examine_apart, grade_directory, is_directory_of_models, is_user_code

    if is_directory_of_models(model):
        with closing(grade_directory(Path(model), seconds, overfit=overfit, device=device)) as grades:
            _report_grades(grades, as_json)
        return
    learning = "" if overfit else "whether the model learns (--overfit), "
    not_examined = f"{learning}your loss, your labels, your search, and what docs/doctor.md lists as out of reach"
    if is_user_code(model):
        findings = examine_apart(model, overfit=overfit, device=device)
    else:
        from dragoman.doctor.model.loading import examine_bundle

        findings = examine_bundle(Path(model), overfit=overfit, device=device)
    _report(findings, as_json, not_examined)


def _report_grades(grades: Iterator[Grade], as_json: bool) -> None:
    """Print one row for each file, as soon as it is graded; exit with code 1 if one has errors or fails."""
    found = []
    for grade in grades:
        found.append(grade)
        if not as_json:
            print(f"{grade.result:<8}  {shown_name(grade.name)}  {escape_controls(grade.summary)}", flush=True)
    if as_json:
        print_json([grade.to_dict() for grade in found])
    else:
        print(f"{sum(grade.result == 'right' for grade in found)} of {len(found)} files have no errors")
    if any(grade.result != "right" for grade in found):
        raise typer.Exit(1)


@doctor_app.command("data", cls=TextFilesCommand)
def doctor_data(
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="RECIPE|FILES", help="A recipe, two line-aligned files, or files in another format, such as .tmx."
        ),
    ],
    test: TestOption = None,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the training pairs without problems, and a list of the others, to this directory.",
        ),
    ] = None,
    languages: LanguagesOption = None,
    encoding: EncodingOption = None,
    delimiter: DelimiterOption = None,
    columns: ColumnsOption = None,
    header: HeaderOption = None,
    quotes: QuotesOption = None,
    as_json: AsJson = False,
    data_dir: DataDirectory = None,
) -> None:
    """Check parallel text.

    Looks for misaligned, swapped, copied, duplicate and damaged lines, and for test sentences in the training text. The
    exit code is 1 if there are errors.

    Example: dragoman doctor data my/train.de my/train.en --test my/test.de my/test.en --write clean
    """
    from dragoman.corpus.corpus import is_recognized
    from dragoman.doctor.data.check import check_corpora
    from dragoman.doctor.data.corpora import corpora_of_recipe, group_corpora
    from dragoman.doctor.findings.finding import errors_first
    from dragoman.recipe import load_recipe

    options = FileOptions(languages, encoding, delimiter, columns, header, quotes)
    if len(corpus) > 1 or languages or is_recognized(corpus[0]):
        found = find_texts(corpus, options, data_directory=data_dir, languages_needed=False)
        held_out = find_held_out(test or [], options, found, data_dir)
        refuse_meaningless_options([*corpus, *(test or [])], options)
        corpora = group_corpora(found.languages, found.references, held_out, data_dir)
    elif test:
        raise UserError("--test cannot be used with a recipe; the recipe names its test corpora in data.test")
    else:
        corpora = corpora_of_recipe(load_recipe(Path(corpus[0])).data, data_dir)
    overlap = "" if all(each.held_out for each in corpora) else "text that is also in a test text (--test), "
    not_examined = f"{overlap}whether translations are right beyond their length, language, names, numbers and words"
    findings: list[Finding] = []
    for each in corpora:
        place = write and (write / f"{each.source_language}-{each.target_language}" if len(corpora) > 1 else write)
        findings += check_corpora(each, place)
    _report(errors_first(findings), as_json, not_examined)


@doctor_app.command("output", cls=SuggestingCommand)
def doctor_output(
    bundle: BundlePath,
    source: Annotated[Path, typer.Option(help="Text to translate, one sentence per line (or .gz).")],
    reference: Annotated[Path, typer.Option(help="The correct translation of each line (or .gz).")],
    overrides: Overrides = None,
    as_json: AsJson = False,
    engine: EngineName = None,
    device: Device = "auto",
    compute_type: ComputeType = "auto",
    verbose: Verbose = False,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
) -> None:
    """Check translations.

    Looks for identical translations of different sources, repetition, empty lines, copies of the source, wrong lengths,
    wrong languages, exchanged or shuffled files, and for a source that is not used. The exit code is 1 if there are
    errors.

    Example: dragoman doctor output runs/quickstart --source my/test.de --reference my/test.en
    """
    from dragoman.corpus.corpus import read_texts
    from dragoman.doctor.output.check import check_translator

    languages = (source_language, target_language)
    options = EngineOptions(engine, device, compute_type, verbose, languages=languages)
    translator = open_translator(bundle, overrides, options, files=(source, reference))
    not_examined = (
        "wrong words, numbers and meanings in single sentences; dragoman evaluate and dragoman compare score them"
    )
    _report(check_translator(translator, *read_texts(source, reference)), as_json, not_examined)


def _report(findings: list[Finding], as_json: bool, not_examined: str) -> None:
    """Print findings, or what was not examined if there are none; exit with code 1 if there is an error among them."""
    from dragoman.doctor import is_healthy

    if as_json:
        print_json([finding.to_dict() for finding in findings])
    else:
        shown = "\n\n".join(finding.shown(has_colors()) for finding in findings)
        print(shown or f"no problems found\nnot examined: {not_examined}")
    if not is_healthy(findings):
        raise typer.Exit(1)
