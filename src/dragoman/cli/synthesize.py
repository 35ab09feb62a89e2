"""dragoman synthesize."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.cli.options import (
    ComputeType,
    Device,
    EngineName,
    EngineOptions,
    Overrides,
    Verbose,
    open_translator,
)
from dragoman.cli.output import DASH, refuse_to_overwrite
from dragoman.cli.teachers import (
    AddressOptions,
    ExamplesOption,
    GlossaryOption,
    KeyFileOption,
    KeyVariableOption,
    ModelOption,
    ParallelOption,
    PromptOption,
    RemoteOption,
    TeacherOption,
    check_output,
    parse_price,
    print_estimate,
    read_groups,
    refuse_useless_options,
    synthesize_text,
)
from dragoman.cli.text_references import parse_languages
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.corpus.pair import Languages
    from dragoman.documents.translate import TextTranslator
    from dragoman.synthesis.back_translator import RoundTrip
    from dragoman.synthesis.sentence_groups import SentenceGroup
    from dragoman.synthesis.teachers import Teacher

MINIMUM_CHRF = 40.0
"""The lowest chrF of a translation back, unless --minimum-chrf changes it."""

FORMATS = (".tsv", ".tsv.gz")
"""Of the output: their header row states that the text is machine-translated."""


def synthesize(
    context: typer.Context,
    teacher: TeacherOption,
    mono: Annotated[
        Path, typer.Option(help="File to translate, one sentence per line (or .gz; - for standard input).")
    ],
    languages: Annotated[
        str | None,
        typer.Option(metavar="CODE-CODE", help="From which language into which, such as de-hsb; a bundle knows it."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="File to write, .tsv or .tsv.gz."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue; what is translated already is not translated again.")
    ] = False,
    model: ModelOption = None,
    remote: RemoteOption = False,
    key_file: KeyFileOption = None,
    key_variable: KeyVariableOption = None,
    examples: ExamplesOption = None,
    glossary: GlossaryOption = None,
    prompt: PromptOption = None,
    show_prompt: Annotated[
        bool, typer.Option("--show-prompt", help="Print the first prompt, and send nothing.")
    ] = False,
    sentences: Annotated[
        int | None,
        typer.Option(min=1, max=500, help="Sentences in a request (default: 10; 50 for a service)."),
    ] = None,
    candidates: Annotated[
        int, typer.Option(min=1, max=32, help="Answers to each request, of which the one most like the others is kept.")
    ] = 1,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Translate a few sentences, and say what all of it takes.")
    ] = False,
    price: Annotated[
        str | None,
        typer.Option(
            metavar="SENT:RECEIVED",
            help="Price of a million tokens (one number is both), or of a million characters of a service.",
        ),
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", min=0, help="With --price: stop before it costs more.")
    ] = None,
    parallel: ParallelOption = 4,
    max_rejected: Annotated[
        float, typer.Option("--max-rejected", min=0, max=1, help="Stop if a larger share of translations is rejected.")
    ] = 0.3,
    round_trip: Annotated[
        Path | None,
        typer.Option(metavar="BUNDLE", help="Leave out pairs that this bundle does not translate back."),
    ] = None,
    minimum_chrf: Annotated[
        float | None,
        typer.Option(
            "--minimum-chrf",
            min=0,
            max=100,
            help=f"With --round-trip: minimum chrF of a translation back (default: {MINIMUM_CHRF:g}).",
        ),
    ] = None,
    method: Annotated[
        Literal["beam", "greedy", "sampling", "noised-beam"],
        typer.Option(help="How a bundle translates; noised-beam also deletes, replaces and moves words."),
    ] = "beam",
    overrides: Overrides = None,
    engine: EngineName = None,
    device: Device = "auto",
    compute_type: ComputeType = "auto",
    verbose: Verbose = False,
) -> None:
    """Make training pairs from text in one language.

    TEACHER translates the text: a bundle, a language model, or a translation service. Translations that look wrong are
    left out. The output states which side is machine-translated, and `dragoman train` treats it so, in both directions.

    Example: dragoman synthesize --teacher runs/en-de --mono my/mono.en --output synthetic.tsv
    """
    started = time.monotonic()
    from dragoman.corpus.corpus import refuse_other_formats
    from dragoman.synthesis.back_translator import NOISED
    from dragoman.synthesis.bundle_teacher import BundleTeacher
    from dragoman.synthesis.synthesis import SynthesisSettings
    from dragoman.synthesis.teachers import TeacherAddress

    address = TeacherAddress.parse(teacher)
    refuse_useless_options(context, address is not None)
    if minimum_chrf is not None and round_trip is None:
        raise UserError("--minimum-chrf compares texts with those that --round-trip translates back; give both")
    refuse_other_formats(str(mono))
    if output:
        if not str(output).lower().endswith(FORMATS):
            raise UserError(f"{output}: expected a name that ends in .tsv or .tsv.gz; dragoman convert writes others")
        if mono != DASH:
            refuse_to_overwrite(output, ("the text of --mono", mono))
        check_output(output, ("source", "target"), resume)
    given = AddressOptions(
        model, remote, key_file, key_variable, prompt, tuple(examples or ()), glossary, candidates, sentences
    )
    codes = parse_languages(languages) if languages else None
    options = EngineOptions(engine, device, compute_type, verbose, token_scores=False, languages=codes or (None, None))
    opened: Teacher
    noise_seed = None
    if address is None:
        texts = _open_bundle(Path(teacher), method, overrides or [], options)
        bundle, decoding = texts.translator.bundle, texts.translator.decoding
        codes, opened = bundle.recipe.data.languages, BundleTeacher(teacher, texts)
        pairs = given.read_examples(codes)
        groups = read_groups([mono], codes, opened, bundle)
        noise_seed = decoding.seed if method == NOISED else None
        parallel = 1
    else:
        if codes is None:
            raise UserError(f"{address}: add --languages, such as --languages de-hsb")
        _refuse_useless_limit(price, max_cost)
        pairs = given.read_examples(codes)
        opened = given.open(address, codes, pairs)
        groups = read_groups([mono], codes, opened)
        if show_prompt:
            _print_prompt(opened, groups)
            return
    minimum = MINIMUM_CHRF if minimum_chrf is None else minimum_chrf
    back = _open_round_trip(round_trip, codes, minimum, replace(options, languages=codes[::-1])) if round_trip else None
    settings = SynthesisSettings(
        examples=pairs,
        candidates=candidates,
        round_trip=back,
        parallel=parallel,
        price=parse_price(price, opened.counts_tokens),
        most_cost=math.inf if max_cost is None else max_cost,
        max_rejected=max_rejected,
        noise_seed=noise_seed,
    )
    if estimate:
        print_estimate(opened, codes, groups, settings, time.monotonic() - started)
        return
    if output is None:
        raise UserError("--output: name a file, next to which answers are kept, so that none is lost")
    synthesize_text(opened, codes, groups, settings, output, resume=resume)


def _refuse_useless_limit(price: str | None, max_cost: float | None) -> None:
    if max_cost is not None and price is None:
        raise UserError("--max-cost needs --price, because servers do not say what they cost")


def _print_prompt(teacher: Teacher, groups: list[SentenceGroup]) -> None:
    from dragoman.synthesis.teachers import ChatTeacher

    if not isinstance(teacher, ChatTeacher):
        raise UserError("--show-prompt: a translation service has no prompt")
    print(teacher.writer.write(groups[0]))


def _open_round_trip(bundle: Path, languages: Languages, minimum_chrf: float, options: EngineOptions) -> RoundTrip:
    """What translates back from the target language; raises UserError if the bundle has other languages."""
    from dragoman.bundle import same_languages
    from dragoman.synthesis.back_translator import RoundTrip

    try:
        translator = open_translator(bundle, ["decoding.n_best=1"], options)
    except UserError as error:
        raise UserError(f"--round-trip: {error}") from None
    found = translator.bundle.recipe.data.languages
    if not same_languages(found, languages[::-1]):
        raise UserError(
            f"--round-trip: {bundle}: translates from {found[0]} to {found[1]}; expected {languages[1]} to "
            f"{languages[0]}"
        )
    return RoundTrip(translator, minimum_chrf)


def _open_bundle(bundle: Path, method: str, overrides: list[str], options: EngineOptions) -> TextTranslator:
    """What translates with a bundle as --method and --set say."""
    from dragoman.documents.translate import TextTranslator
    from dragoman.synthesis.back_translator import METHODS

    chosen = {f"decoding.{key}": str(value).lower() for key, value in METHODS[method].items()}
    if refused := [each for each in overrides if each.partition("=")[0].strip() in chosen]:
        raise UserError(f"--set {refused[0]}: --method {method} chooses this setting")
    return TextTranslator(open_translator(bundle, [*overrides, *map("=".join, chosen.items())], options))
