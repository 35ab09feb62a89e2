"""dragoman synthesize."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
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
    synthesize_text,
)
from dragoman.cli.text_references import parse_languages
from dragoman.cli.translate import TranslateInput
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.corpus.pair import Languages, Pair
    from dragoman.synthesis.back_translator import BackTranslator, RoundTrip
    from dragoman.synthesis.sentence_groups import SentenceGroup
    from dragoman.synthesis.teachers import Teacher
    from dragoman.synthesis.write import Synthesized
    from dragoman.system.progress import Meter

MINIMUM_CHRF = 40.0
"""The lowest chrF of a translation back, unless --minimum-chrf changes it."""

FORMATS = (".tsv", ".tsv.gz")
"""Of the output: their header row states that the text is machine-translated."""


def synthesize(
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
        typer.Option(help="File to write, .tsv or .tsv.gz (default, and -: to stdout, for a bundle)."),
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
            metavar="SENT:RECEIVED", help="Price of a million tokens, or of a million characters of a service."
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
    from dragoman.corpus.corpus import refuse_other_formats
    from dragoman.synthesis.synthesis import SynthesisSettings
    from dragoman.synthesis.teachers import TeacherAddress

    if minimum_chrf is not None and round_trip is None:
        raise UserError("--minimum-chrf compares texts with those that --round-trip translates back; give both")
    refuse_other_formats(str(mono))
    if output and output != DASH:
        if not str(output).lower().endswith(FORMATS):
            raise UserError(f"{output}: expected a name that ends in .tsv or .tsv.gz; dragoman convert writes others")
        if mono != DASH:
            refuse_to_overwrite(output, ("the text of --mono", mono))
        check_output(output, ("source", "target"), resume)
    given = AddressOptions(
        model, remote, key_file, key_variable, prompt, tuple(examples or ()), glossary, candidates, sentences
    )
    address = TeacherAddress.parse(teacher)
    minimum = MINIMUM_CHRF if minimum_chrf is None else minimum_chrf
    codes = parse_languages(languages) if languages else None
    options = EngineOptions(engine, device, compute_type, verbose, token_scores=False, languages=codes or (None, None))
    if address is None:
        given.refuse_with_bundle()
        if show_prompt or estimate or price or max_cost is not None:
            raise UserError("--show-prompt, --estimate, --price and --max-cost are for teachers behind an address")
        _translate_with_bundle(
            Path(teacher),
            mono,
            None if output == DASH else output,
            method,
            overrides or [],
            options,
            round_trip,
            minimum,
        )
        return
    if overrides or method != "beam":
        raise UserError("--set and --method are for bundles; the teacher is behind an address")
    if codes is None:
        raise UserError(f"{address}: add --languages, such as --languages de-hsb")
    _refuse_useless_limit(price, max_cost)
    pairs = given.read_examples(codes) if examples else []
    opened = given.open(address, codes, pairs)
    groups = read_groups([mono], codes, opened)
    if show_prompt:
        _print_prompt(opened, groups)
        return
    back = _open_round_trip(round_trip, codes, minimum, replace(options, languages=codes[::-1])) if round_trip else None
    settings = SynthesisSettings(
        examples=pairs,
        candidates=candidates,
        round_trip=back,
        parallel=parallel,
        price=parse_price(price),
        most_cost=math.inf if max_cost is None else max_cost,
        max_rejected=max_rejected,
    )
    if estimate:
        print_estimate(opened, codes, groups, settings)
        return
    if output is None or output == DASH:
        raise UserError("--output: name a file, next to which answers are kept, so that none is lost")
    synthesize_text(opened, codes, groups, settings, output)


def _refuse_useless_limit(price: str | None, max_cost: float | None) -> None:
    if max_cost is not None and price is None:
        raise UserError("--max-cost needs --price, because servers do not say what they cost")


def _print_prompt(teacher: Teacher, groups: list[SentenceGroup]) -> None:
    from dragoman.synthesis.teachers import ChatTeacher

    if not isinstance(teacher, ChatTeacher):
        raise UserError("--show-prompt: a translation service has no prompt")
    print(teacher.writer.write(groups[0]))


def _translate_with_bundle(
    bundle: Path,
    mono: Path,
    output: Path | None,
    method: str,
    overrides: list[str],
    options: EngineOptions,
    back: Path | None,
    minimum_chrf: float,
) -> None:
    from dragoman.synthesis.pair_checks import check_language

    maker = _open_maker(bundle, method, overrides, options, back, minimum_chrf)
    opened = maker.translator.bundle
    text = TranslateInput(bundle, [], mono)
    total = text.count_lines()
    if total == 0:
        raise UserError(f"{mono}: empty file")
    name = "standard input" if mono == DASH else str(mono)
    _write(maker, check_language(text.read(opened, divided=False), opened, name), total, output)


def _open_round_trip(bundle: Path, languages: Languages, minimum_chrf: float, options: EngineOptions) -> RoundTrip:
    """What translates back from the target language; raises UserError if the bundle has other languages."""
    from dragoman.bundle import same_languages
    from dragoman.synthesis.back_translator import RoundTrip

    translator = open_translator(bundle, ["decoding.n_best=1"], options)
    found = translator.bundle.recipe.data.languages
    if not same_languages(found, languages[::-1]):
        raise UserError(
            f"--round-trip: {bundle}: translates from {found[0]} to {found[1]}; expected {languages[1]} to "
            f"{languages[0]}"
        )
    return RoundTrip(translator, minimum_chrf)


def _open_maker(
    bundle: Path,
    method: str,
    overrides: list[str],
    options: EngineOptions,
    back: Path | None,
    minimum_chrf: float,
) -> BackTranslator:
    from dragoman.synthesis.back_translator import METHODS, NOISED, BackTranslator

    chosen = {f"decoding.{key}": str(value).lower() for key, value in METHODS[method].items()}
    if refused := [each for each in overrides if each.partition("=")[0].strip() in chosen]:
        raise UserError(f"--set {refused[0]}: --method {method} chooses this setting")
    translator = open_translator(bundle, [*overrides, *map("=".join, chosen.items())], options)
    if back is None:
        return BackTranslator(translator, noised=method == NOISED)
    languages = translator.bundle.recipe.data.languages
    stated = translator.bundle.stated
    opposite = replace(options, languages=(stated if any(stated) else options.languages)[::-1])
    trip = _open_round_trip(back, languages, minimum_chrf, opposite)
    return BackTranslator(translator, noised=method == NOISED, round_trip=trip)


def _write(maker: BackTranslator, lines: Iterator[str], total: int | None, output: Path | None) -> None:
    """Write the pairs to a file, or to standard output if there is none.

    Raises:
        UserError: There is no pair.
    """
    from dragoman.corpus.pair import Pair
    from dragoman.system.progress import Meter, ProgressLine

    data = maker.translator.bundle.recipe.data
    pairs: Iterator[Pair] = (Pair("", line) for line in lines)
    with ProgressLine("synthesize", quiet=output is None and sys.stdout.isatty()) as line:
        meter = Meter(line.update, "translating", total, unit="lines")
        meter.advance(0)  # the first block may take a minute
        written = _print(maker, pairs, meter) if output is None else _write_file(maker, pairs, meter, output, line.log)
        if not written.pairs:
            place = "" if output is None else f"{output}: not written, because "
            raise UserError(f"{place}{_explain_no_pair(written, data.source_language)}")
        if output is None:
            line.log(str(written))
            return
        line.log(f"{output}: {written}")
        line.log(f"to train on it: dragoman train FILES {output}")


def _print(maker: BackTranslator, pairs: Iterator[Pair], meter: Meter) -> Synthesized:
    """Print the pairs as tab-separated lines."""
    from dragoman.corpus.writers import tsv_line
    from dragoman.synthesis.block import make_blocks
    from dragoman.synthesis.write import NOTHING

    written, numbers = NOTHING, count(2)
    for block in make_blocks(pairs, maker, meter):
        if block.result.pairs and not written.pairs:
            print("\t".join(_marked_languages(maker)))
        sys.stdout.writelines(f"{tsv_line(pair, next(numbers))}\n" for pair in block.result.pairs)
        sys.stdout.flush()
        written = written.plus(block.result)
    return written


def _write_file(
    maker: BackTranslator, pairs: Iterator[Pair], meter: Meter, output: Path, log: Callable[[str], None]
) -> Synthesized:
    """Write the pairs to a file, which appears if there are any; after an interruption, continue."""
    from dragoman.synthesis.block import BLOCK
    from dragoman.synthesis.write import write_synthetic
    from dragoman.system.resumable import delete_unfinished, unfinished_directory

    directory = unfinished_directory(output)
    if stored := len(list(directory.glob("*.json"))):
        lines_stored = f"up to {stored * BLOCK:,} lines are translated already"
        log(f"{directory}: {lines_stored}, and are not translated again if nothing has changed")
    try:
        written = write_synthetic(pairs, maker, str(output), _marked_languages(maker), meter)
        delete_unfinished(output)
    except KeyboardInterrupt:
        if any(directory.glob("*.json")):
            log(f"{directory} contains what is translated; to continue, add --resume to the same command")
        raise
    return written


def _explain_no_pair(written: Synthesized, language: str) -> str:
    from dragoman.doctor.input import OTHER_LANGUAGE

    hint = f"; --mono must be text in {language}" if OTHER_LANGUAGE in written.left_out else ""
    return f"no pair is left: {written}{hint}"


def _marked_languages(maker: BackTranslator) -> Languages:
    """The languages of the pairs: that of the translations, which are their sources, then that of the text."""
    from dragoman.languages.codes import machine_translated

    source, target = maker.translator.bundle.recipe.data.languages
    return machine_translated(target, source), source
