"""dragoman evaluate."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

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
from dragoman.cli.output import JsonFlag, print_json, print_to_stderr, refuse_file_name
from dragoman.cli.teachers import (
    AddressedTeacher,
    AddressOptions,
    ExamplesOption,
    GlossaryOption,
    KeyFileOption,
    KeyVariableOption,
    ModelOption,
    PromptOption,
    RemoteOption,
    refuse_other_language,
    refuse_useless_options,
)
from dragoman.cli.text_references import parse_languages
from dragoman.errors import UserError, counted


def evaluate(
    context: typer.Context,
    source: Annotated[Path, typer.Option(help="File to translate, one sentence per line (or .gz).")],
    reference: Annotated[Path, typer.Option(help="File with the reference translation of each line.")],
    bundle: Annotated[
        Path | None, typer.Argument(metavar="BUNDLE", help="A bundle, or a run directory that contains one.")
    ] = None,
    teacher: AddressedTeacher = None,
    languages: Annotated[
        str | None, typer.Option(metavar="CODE-CODE", help="With --teacher: from which language into which.")
    ] = None,
    model: ModelOption = None,
    remote: RemoteOption = False,
    key_file: KeyFileOption = None,
    key_variable: KeyVariableOption = None,
    examples: ExamplesOption = None,
    glossary: GlossaryOption = None,
    prompt: PromptOption = None,
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

    Prints BLEU, chrF and chrF++ of its translations, and of a bundle, the perplexity of the references and more.

    Example: dragoman evaluate runs/multi30k-de-en --source test.de --reference test.en
    """
    from dragoman.corpus.corpus import read_texts
    from dragoman.doctor.output.input_checks import check_languages_of_files
    from dragoman.evaluation.evaluate import evaluate
    from dragoman.evaluation.perturbed import evaluate_perturbed, perturbed_table

    if (teacher is None) == (bundle is None):
        raise UserError("name a bundle, or a teacher behind an address with --teacher")
    refuse_useless_options(context, teacher is not None)
    if teacher is not None:
        given = AddressOptions(model, remote, key_file, key_variable, prompt, tuple(examples or ()), glossary)
        _evaluate_address(teacher, languages, given, source, reference, as_json)
        return
    assert bundle is not None
    refuse_file_name(context)
    options = EngineOptions(
        engine, device, compute_type, verbose, token_scores=False, languages=(source_language, target_language)
    )
    translator = open_translator(bundle, overrides, options, files=(source, reference))
    texts = read_texts(source, reference)
    data, profile = translator.bundle.recipe.data, translator.bundle.language_profile
    for finding in check_languages_of_files(data, *texts, profile):
        print_to_stderr(f"dragoman: warning: {finding.message}")
    report, translations = evaluate(translator, *texts)
    changed = evaluate_perturbed(translator, *texts, translations) if perturbed else {}
    engine_used = {"engine": translator.engine.name, "compute_type": translator.engine.weight_type}
    if as_json:
        more = {"perturbed": {name: scores.to_dict() for name, scores in changed.items()}} if perturbed else {}
        languages_used = {"source_language": data.source_language, "target_language": data.target_language}
        print_json(report.to_dict() | languages_used | engine_used | more)
        return
    direction = " into ".join(translator.bundle.recipe.data.languages)
    print(
        f"{counted(report.sentences, 'sentence')} from {direction}, {report.decoding}; translated by "
        f"{' in '.join(engine_used.values())}"
    )
    _print_scores(report.to_dict())
    if report.wrong_language is not None:
        print(f"in another language: {report.wrong_language:.1%} of the translations")
    print(f"perplexity {report.perplexity:.3f}  loss {report.loss:.4f} nats per token")
    print(f"identical to the reference: {report.exact:.1%}")
    print(f"token accuracy {report.token_accuracy:.1%} (most probable next token, given the reference before it)")
    if report.teacher_forced_bleu is not None:
        print(f"teacher-forced token BLEU {report.teacher_forced_bleu:.2f} (not a score of the translations)")
    if changed:
        print(f"\n{perturbed_table(changed)}")


def _print_scores(scores: Mapping[str, Any]) -> None:
    for name, key in (("BLEU", "bleu"), ("chrF", "chrf"), ("chrF++", "chrf_pp")):
        print(f"{name} {scores[key]:.2f}  {scores[f'{key}_signature']}")


def _evaluate_address(
    teacher: str, languages: str | None, given: AddressOptions, source: Path, reference: Path, as_json: bool
) -> None:
    """Score a teacher; a translation that would be rejected counts as empty, and a line without letters as copied."""
    from dragoman.corpus.corpus import read_texts
    from dragoman.evaluation.evaluate import score_texts
    from dragoman.synthesis.answer_log import AnswerLog
    from dragoman.synthesis.sentence_groups import group_sentences
    from dragoman.synthesis.synthesis import SynthesisSettings, open_synthesis
    from dragoman.synthesis.teachers import TeacherAddress
    from dragoman.system.cache import cache_directory
    from dragoman.system.progress import ProgressLine
    from dragoman.system.resumable import delete_unfinished, digest, only_writer
    from dragoman.text.normalization import collapse_spaces
    from dragoman.training.loop.stop import StopFlag, stop_on_signals

    address = TeacherAddress.parse(teacher)
    if address is None:
        raise UserError(f"--teacher {teacher}: is no address; name a run or bundle without --teacher")
    if languages is None:
        raise UserError("--teacher needs --languages, such as de-en")
    codes = parse_languages(languages)
    examples = given.read_examples(codes)
    opened = given.open(address, codes, examples)
    sources, references = read_texts(source, reference)
    groups = list(group_sentences(sources, opened.size, opened.characters))
    refuse_other_language(groups, codes, str(source))
    settings = SynthesisSettings(examples, max_rejected=1.0)
    kept = cache_directory() / "evaluations" / digest([opened.identity, sources])  # what was paid for, until the end
    kept.parent.mkdir(parents=True, exist_ok=True)
    flag = StopFlag()
    with (
        ProgressLine("evaluate", often_short=True) as line,
        only_writer(kept) as directory,
        closing(AnswerLog(directory / "answers.jsonl")) as answers,
    ):
        synthesis = open_synthesis(opened, codes, groups, answers, settings, line.log, lambda: flag.requested)
        with stop_on_signals(flag, line.log, "after the answers to what was sent"):
            complete = synthesis.run(line.update)
        if not complete:
            state = f"{directory} keeps the answers; the same command continues"
            line.log(f"stopped; {state if len(answers) else 'there are no answers yet'}")
            raise typer.Exit(130)
        read = {text: answer if isinstance(answer, str) else "" for text, answer in synthesis.pairs.read(groups)}
    delete_unfinished(kept)
    translations = [read.get(collapse_spaces(text), text) for text in sources]
    scores, rejections = score_texts(translations, references), synthesis.pairs.rejections
    if as_json:
        print_json(scores | {"rejected": dict(rejections.counts)})
        return
    print(f"{counted(len(sources), 'sentence')}, translated by {opened.name}; {synthesis.collector.describe_usage()}")
    _print_scores(scores)
    print(f"rejected: {rejections.counts.total():,}, which count as empty\n{rejections.table()}".rstrip())
