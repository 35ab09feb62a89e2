"""The verbs that translate and score."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from dragoman.cli.json_output import JsonFlag, print_json, refuse_file_name
from dragoman.cli.options import (
    BundlePath,
    ComputeType,
    Device,
    EngineName,
    EngineOptions,
    Overrides,
    Verbose,
    load_translator,
    open_translator,
)
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.text.translation import Translation


def translate(
    bundle: BundlePath,
    texts: Annotated[list[str] | None, typer.Argument(metavar="[TEXT]...", help="Texts to translate.")] = None,
    source: Annotated[Path | None, typer.Option("--input", help="File to translate, line by line (or .gz).")] = None,
    output: Annotated[Path | None, typer.Option(help="File to write (default: standard output).")] = None,
    overrides: Overrides = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line: text, tokens, log-probabilities, score, …")
    ] = False,
    engine: EngineName = None,
    device: Device = "auto",
    compute_type: ComputeType = "float32",
    verbose: Verbose = False,
    ensemble: Annotated[
        list[Path] | None,
        typer.Option(metavar="BUNDLE", help="Average the predictions with those of this bundle; may be given again."),
    ] = None,
    prefixes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What each translation is to begin with, line by line.")
    ] = None,
) -> None:
    """Translate texts, a file, or standard input: one line out for each line in.

    With decoding.n_best above 1 the alternatives follow on the same line, separated by tabs.

    Example: dragoman translate runs/quickstart "Ein Hund läuft." --set decoding.beam_size=8
    """
    from dragoman.corpus.lines import decode_lines, read_lines

    if texts and source:
        raise UserError("give texts or --input, not both")
    if output and source and output.resolve() == source.resolve():
        raise UserError(f"{output}: is also the input")
    options = EngineOptions(engine, device, compute_type, verbose, token_scores=as_json)
    translator = open_translator(bundle, overrides, options, ensemble or [])
    lines: Iterable[str] = texts or (read_lines(source) if source else decode_lines(sys.stdin.buffer, "standard input"))
    truncated = 0
    with _open_output(output) as file:
        found = translator.stream(lines, read_lines(prefixes) if prefixes else None)
        for translation in _watch(found, shown=sys.stderr.isatty() and not (texts or file.isatty())):
            truncated += translation.truncated
            file.write((_to_json(translation) if as_json else _to_line(translation)) + "\n")
    if truncated:
        print(
            f"dragoman: warning: {truncated:,} lines were longer than the model's {translator.source_limit} tokens "
            "and were translated in part",
            file=sys.stderr,
        )


def evaluate(
    context: typer.Context,
    bundle: BundlePath,
    source: Annotated[Path, typer.Option(help="File to translate, one sentence per line (or .gz).")],
    reference: Annotated[Path, typer.Option(help="File with the reference translation of each line.")],
    as_json: JsonFlag = False,
    overrides: Overrides = None,
) -> None:
    """Score a translator: BLEU and chrF of its translations, perplexity of the references, and more.

    Example: dragoman evaluate runs/multi30k-de-en --source test.de --reference test.en
    """
    from dragoman.corpus.corpus import read_texts
    from dragoman.evaluation.evaluate import evaluate

    refuse_file_name(context)
    report, _ = evaluate(load_translator(bundle, overrides), *read_texts(source, reference))
    if as_json:
        print_json(report.to_dict())
        return
    print(f"{report.sentences:,} sentences, {report.decoding}")
    print(f"BLEU {report.bleu:.2f}  {report.bleu_signature}")
    print(f"chrF {report.chrf:.2f}  {report.chrf_signature}")
    print(f"perplexity {report.perplexity:.3f}  loss {report.loss:.4f} nats per token")
    print(f"identical to the reference: {report.exact:.1%}")
    print(f"teacher-forced token BLEU {report.teacher_forced_bleu:.2f} (not a score of the translations)")


def score(
    bundle: BundlePath,
    source: Annotated[Path, typer.Option(help="File with one source sentence a line (or .gz).")],
    target: Annotated[Path, typer.Option(help="File with the translation of each line to score.")],
    overrides: Overrides = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line: tokens, log-probabilities, …")
    ] = False,
) -> None:
    """Score given translations: one line for each, its log-probability over the length penalty.

    Example: dragoman score runs/multi30k-de-en --source test.de --target other.en --set decoding.length_penalty=0
    """
    from dragoman.corpus.corpus import read_corpus
    from dragoman.evaluation.scoring import score
    from dragoman.settings import FilePair

    translator = open_translator(bundle, overrides, EngineOptions(scoring=True))
    files = FilePair(source=str(source), target=str(target))
    pairs = read_corpus(files, source_language="source", target_language="target")
    with _open_output(None) as file:
        for each in score(translator, ((pair.source, pair.target) for pair in pairs)):
            file.write((_to_json(each) if as_json else f"{each.score:.5f}") + "\n")


@contextmanager
def _open_output(path: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that appears under its name only when whole."""
    if path is None:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        yield sys.stdout
        sys.stdout.flush()
        return
    from dragoman.system.files import atomic_file

    with atomic_file(path) as file:
        yield file


def _watch(translations: Iterable[Translation], shown: bool) -> Iterator[Translation]:
    """The same translations; how many there are, and at what rate they come, is shown on standard error."""
    from rich.console import Console
    from rich.progress import Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.completed:,.0f} lines"), TaskProgressColumn(show_speed=True), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown) as progress:
        yield from progress.track(translations)


def _to_line(translation: Translation) -> str:
    texts = [translation.text, *(other.text for other in translation.alternatives)]
    return "\t".join(" ".join(text.split()) for text in texts)


def _to_json(translation: Translation) -> str:
    from dataclasses import asdict

    return json.dumps(asdict(translation), ensure_ascii=False)
