"""dragoman backtranslate."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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
from dragoman.cli.output import DASH, refuse_to_overwrite
from dragoman.cli.translate import TranslateInput
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.corpus.pair import Pair
    from dragoman.synthesis.back_translator import BackTranslator
    from dragoman.synthesis.write import Synthesized
    from dragoman.system.progress import Meter

MINIMUM_CHRF = 40.0
"""The lowest chrF of a translation back, unless --minimum-chrf changes it."""


def backtranslate(
    bundle: BundlePath,
    mono: Annotated[
        Path, typer.Option(help="File to translate, one sentence per line (or .gz; - for standard input).")
    ],
    output: Annotated[
        Path | None,
        typer.Option(help="File to write: .tsv, .jsonl or .tmx, perhaps with .gz (default, and -: TSV to stdout)."),
    ] = None,
    method: Annotated[
        Literal["beam", "sampling", "noised-beam"],
        typer.Option(help="How to translate; noised-beam also deletes, replaces and moves words."),
    ] = "beam",
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
    overrides: Overrides = None,
    engine: EngineName = None,
    device: Device = "auto",
    compute_type: ComputeType = "auto",
    verbose: Verbose = False,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
) -> None:
    """Make training pairs from text in one language.

    BUNDLE translates in the direction opposite to the translator that you want to train. The output has the translation
    as source, and your text as target. Pairs that look wrong are left out. If it is interrupted, run the same command
    again to continue.

    Example: dragoman backtranslate runs/en-de --mono my/mono.en --output synthetic.tsv
    """
    from dragoman.corpus.corpus import refuse_other_formats
    from dragoman.corpus.writers import check_output
    from dragoman.synthesis.pair_checks import check_language

    if minimum_chrf is not None and round_trip is None:
        raise UserError("--minimum-chrf compares texts with those that --round-trip translates back; give both")
    refuse_other_formats(str(mono))
    if output and output != DASH:
        check_output(str(output), ("source", "target"))
    languages = source_language, target_language
    options = EngineOptions(engine, device, compute_type, verbose, token_scores=False, languages=languages)
    maker = _open_maker(bundle, method, overrides or [], options, round_trip, minimum_chrf)
    opened = maker.translator.bundle
    if output and mono != DASH:
        for language in opened.recipe.data.languages:
            refuse_to_overwrite(Path(str(output).replace("{lang}", language)), ("the text of --mono", mono))
    text = TranslateInput(bundle, [], mono)
    total = text.count_lines()
    if total == 0:
        raise UserError(f"{mono}: empty file")
    _write(
        maker,
        check_language(text.read(opened, divided=False), opened, "standard input" if mono == DASH else str(mono)),
        total,
        None if output == DASH else output,
    )


def _open_maker(
    bundle: Path,
    method: str,
    overrides: list[str],
    options: EngineOptions,
    back: Path | None,
    minimum_chrf: float | None,
) -> BackTranslator:
    from dragoman.synthesis.back_translator import METHODS, NOISED, BackTranslator, RoundTrip, check_other_direction

    chosen = {f"decoding.{key}": str(value).lower() for key, value in METHODS[method].items()}
    if refused := [each for each in overrides if each.partition("=")[0].strip() in chosen]:
        raise UserError(f"--set {refused[0]}: --method {method} chooses this setting")
    translator = open_translator(bundle, [*overrides, *map("=".join, chosen.items())], options)
    if back is None:
        return BackTranslator(translator, noised=method == NOISED)
    stated = translator.bundle.stated
    languages = stated if any(stated) else options.languages
    other = open_translator(back, ["decoding.n_best=1"], replace(options, languages=languages[::-1]))
    try:
        check_other_direction(translator, other)
    except UserError as error:
        raise UserError(f"--round-trip: {error}") from None
    return BackTranslator(
        translator,
        noised=method == NOISED,
        round_trip=RoundTrip(other, MINIMUM_CHRF if minimum_chrf is None else minimum_chrf),
    )


def _write(maker: BackTranslator, lines: Iterator[str], total: int | None, output: Path | None) -> None:
    """Write the pairs to a file, or to standard output if there is none.

    Raises:
        UserError: There is no pair.
    """
    from dragoman.corpus.pair import Pair
    from dragoman.corpus.references import to_toml
    from dragoman.system.progress import Meter, ProgressLine

    data = maker.translator.bundle.recipe.data
    pairs: Iterator[Pair] = (Pair("", line) for line in lines)
    with ProgressLine("backtranslate", quiet=output is None and sys.stdout.isatty()) as line:
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
        corpus = to_toml({"corpus": str(output), "tagged": True})
        line.log(f"to train on it, add to data.train of a recipe (dragoman init writes one): {corpus}")


def _print(maker: BackTranslator, pairs: Iterator[Pair], meter: Meter) -> Synthesized:
    """Print the pairs as tab-separated lines."""
    from dragoman.corpus.writers import tsv_line
    from dragoman.synthesis.block import make_blocks
    from dragoman.synthesis.write import NOTHING

    written, numbers = NOTHING, count(1)
    for block in make_blocks(pairs, maker, meter):
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
    data = maker.translator.bundle.recipe.data
    try:
        written = write_synthetic(pairs, maker, str(output), (data.target_language, data.source_language), meter)
        delete_unfinished(output)
    except KeyboardInterrupt:
        if any(directory.glob("*.json")):
            log(f"{directory} contains what is translated; to continue, run the same command")
        raise
    return written


def _explain_no_pair(written: Synthesized, language: str) -> str:
    from dragoman.doctor.input import OTHER_LANGUAGE

    hint = f"; --mono must be text in {language}" if OTHER_LANGUAGE in written.left_out else ""
    return f"no pair is left: {written}{hint}"
