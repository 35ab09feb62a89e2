"""dragoman evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import (
    BundlePath,
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
from dragoman.cli.output import JsonFlag, print_json, print_to_stderr, refuse_file_name
from dragoman.errors import counted


def evaluate(
    context: typer.Context,
    bundle: BundlePath,
    source: Annotated[Path, typer.Option(help="File to translate, one sentence per line (or .gz).")],
    reference: Annotated[Path, typer.Option(help="File with the reference translation of each line.")],
    perturbed: Annotated[
        bool,
        typer.Option(
            "--perturbed",
            help="Also score the text in capital letters, without punctuation at the end, and with typing errors.",
        ),
    ] = False,
    as_json: JsonFlag = False,
    overrides: Overrides = None,
    engine: EngineName = None,
    device: Device = "auto",
    compute_type: ComputeType = "auto",
    verbose: Verbose = False,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
) -> None:
    """Measure the quality of a translator.

    Prints BLEU, chrF and chrF++ of its translations, the perplexity of the references, and other scores.

    Example: dragoman evaluate runs/multi30k-de-en --source test.de --reference test.en
    """
    from dragoman.corpus.corpus import read_texts
    from dragoman.doctor.output.input_checks import check_languages_of_files
    from dragoman.evaluation.evaluate import evaluate
    from dragoman.evaluation.perturbed import evaluate_perturbed, perturbed_table

    refuse_file_name(context)
    options = EngineOptions(
        engine, device, compute_type, verbose, token_scores=False, languages=(source_language, target_language)
    )
    translator = open_translator(bundle, overrides, options, files=(source, reference))
    texts = read_texts(source, reference)
    for finding in check_languages_of_files(translator.bundle.recipe.data, *texts):
        print_to_stderr(f"dragoman: warning: {finding.message}")
    report, translations = evaluate(translator, *texts)
    changed = evaluate_perturbed(translator, *texts, translations) if perturbed else {}
    engine_used = {"engine": translator.engine.name, "compute_type": translator.engine.weight_type}
    if as_json:
        more = {"perturbed": {name: scores.to_dict() for name, scores in changed.items()}} if perturbed else {}
        print_json(report.to_dict() | engine_used | more)
        return
    print(
        f"{counted(report.sentences, 'sentence')}, {report.decoding}; translated by {' in '.join(engine_used.values())}"
    )
    print(f"BLEU {report.bleu:.2f}  {report.bleu_signature}")
    print(f"chrF {report.chrf:.2f}  {report.chrf_signature}")
    print(f"chrF++ {report.chrf_pp:.2f}  {report.chrf_pp_signature}")
    if report.wrong_language is not None:
        print(f"in another language: {report.wrong_language:.1%} of the translations")
    print(f"perplexity {report.perplexity:.3f}  loss {report.loss:.4f} nats per token")
    print(f"identical to the reference: {report.exact:.1%}")
    print(f"token accuracy {report.token_accuracy:.1%} (most probable next token, given the reference before it)")
    if report.teacher_forced_bleu is not None:
        print(f"teacher-forced token BLEU {report.teacher_forced_bleu:.2f} (not a score of the translations)")
    if changed:
        print(f"\n{perturbed_table(changed)}")
