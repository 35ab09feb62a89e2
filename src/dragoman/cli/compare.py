"""dragoman compare."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.options import (
    ComputeType,
    Device,
    EngineName,
    EngineOptions,
    Overrides,
    SourceLanguage,
    TargetLanguage,
    Verbose,
    open_translator,
)
from dragoman.cli.output import (
    DASH,
    JsonFlag,
    open_output,
    print_json,
    print_to_stderr,
    refuse_file_name,
    refuse_to_overwrite,
)
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.evaluation.significance import Comparison


def compare(
    context: typer.Context,
    first: Annotated[Path, typer.Argument(metavar="A", help="A bundle or run directory.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another bundle or run directory.")],
    source: Annotated[Path, typer.Option(help="File to translate, one sentence per line (or .gz).")],
    reference: Annotated[Path, typer.Option(help="File with the reference translation of each line.")],
    as_json: JsonFlag = False,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write an HTML page (- for standard output instead of the text)."),
    ] = None,
    sentences: Annotated[int, typer.Option(min=0, help="Number of differing sentences to show.")] = 5,
    overrides: Overrides = None,
    engine: EngineName = None,
    device: Device = "auto",
    compute_type: ComputeType = "auto",
    verbose: Verbose = False,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
) -> None:
    """Compare two translators.

    Prints which one is better, the scores of both and significance tests, and shows the sentences with the largest
    differences.

    Example: dragoman compare runs/old runs/new --source test.de --reference test.en --output comparison.html
    """
    from dragoman.corpus.corpus import read_texts
    from dragoman.doctor.output.input_checks import check_languages_of_files
    from dragoman.evaluation.page.render import ComparedTranslator, render_comparison
    from dragoman.evaluation.significance import compare_translators

    refuse_file_name(context)
    if as_json and output == DASH:
        raise UserError("--json and --output - both write to standard output; choose one")
    refuse_to_overwrite(output, ("the source", source), ("the reference", reference))
    sources, references = read_texts(source, reference)
    options = EngineOptions(
        engine, device, compute_type, verbose, token_scores=False, languages=(source_language, target_language)
    )
    with open_output(output) if output else nullcontext() as page:  # so that a wrong name is refused at once
        baseline, other = (
            open_translator(path, overrides, options, files=(source, reference)) for path in (first, second)
        )
        data, profile = baseline.bundle.recipe.data, baseline.bundle.language_profile
        for finding in check_languages_of_files(data, sources, references, profile):
            print_to_stderr(f"dragoman: warning: {finding.message}")
        comparison = compare_translators(baseline, other, sources, references)
        if as_json:
            languages = {"source_language": data.source_language, "target_language": data.target_language}
            print_json(comparison.to_dict() | languages)
        elif output != DASH:
            _print_comparison(comparison, (first, second), sentences)
        if page:
            sides = (ComparedTranslator(first, baseline.bundle.recipe), ComparedTranslator(second, other.bundle.recipe))
            print(render_comparison(comparison, *sides), file=page)


def _print_comparison(comparison: Comparison, paths: tuple[Path, Path], sentences: int) -> None:
    from dragoman.evaluation.significance import describe_comparison

    print("\n".join(describe_comparison(comparison)), end="\n\n")
    for name, path, report in zip("AB", paths, (comparison.first, comparison.second), strict=True):
        scores = f"BLEU {report.bleu:.2f}  chrF {report.chrf:.2f}  chrF++ {report.chrf_pp:.2f}"
        wrong = "" if report.wrong_language is None else f"  in another language {report.wrong_language:.1%}"
        print(f"{name}  {scores}  perplexity {report.perplexity:.3f}{wrong}  {path}")
    for test in comparison.significance:
        print(f"{test.metric} B - A = {test.second - test.first:+.2f}, {test.method}: p = {test.p_value:.4f}")
        print(f"  {test.signature}")
    for each in comparison.differences[:sentences]:
        print(f"\n  source     {each.source}\n  reference  {each.reference}")
        print(f"  A {each.first_chrf:7.2f}  {each.first}\n  B {each.second_chrf:7.2f}  {each.second}")
