"""dragoman translate without --document: a line of output for each line of text."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.output import open_output, to_json, to_line
from dragoman.cli.standard_streams import DASH
from dragoman.cli.translate_input import TranslateInput
from dragoman.cli.translation_problems import ProblemCounts, with_doubt
from dragoman.cli.unfinished_output import OutputLine, finished_lines
from dragoman.errors import UserError, counted
from dragoman.system.files import sha256

if TYPE_CHECKING:
    from dragoman.documents.translate import TextTranslator

GROUP = 512
"""Lines that are translated together: 4,096 would be no faster, and more of them would be lost or waited for."""


def translate_lines(
    texts: TextTranslator,
    chosen: TranslateInput,
    prefixes: Path | None,
    output: Path | None,
    as_json: bool,
    identity: Callable[[], list[Any]],
) -> None:
    """Write a line for each text; texts with prefixes are neither split into sentences nor divided.

    From a file to a file, an interrupted command continues if the files are the same, and so is `identity`: all else
    that decides the lines.
    """
    to_file = output not in (None, DASH) and not (os.path.exists(output) and not os.path.isfile(output))
    total = chosen.count_lines()
    read = [file for file in (chosen.file, prefixes) if file and file.is_file()] if to_file and total else []
    before = [sha256(file) for file in read]
    is_kept = bool(to_file and total and chosen.file)
    truncated, counts = 0, ProblemCounts("line")
    with (  # the finished lines are deleted last, once the output has its name
        finished_lines(output, [*identity(), before], GROUP) if output and is_kept else nullcontext() as finished,
        open_output(output) as file,
    ):
        done = finished.number if finished else 0
        lines = _translate(texts, chosen, prefixes, done, as_json)
        if finished:
            lines = chain(finished, finished.extend(lines))
        seen = chosen.texts or chosen.typed or file.isatty()
        for line in lines if seen else _with_progress(lines, total, done):
            truncated += line.truncated
            counts.add(line.problems)
            file.write(f"{line.text}\n")
            if chosen.typed:
                file.flush()
        for path, digest in zip(read, before, strict=True):
            if not path.is_file() or sha256(path) != digest:  # the lines would belong to different versions
                raise UserError(f"{path}: changed while it was translated; run the command again")
    if truncated:
        print(
            f"dragoman: warning: translated only the beginning of {counted(truncated, 'line')} longer than the model's "
            f"limit of {texts.translator.source_limit} tokens, because lines with prefixes are not divided",
            file=sys.stderr,
        )
    counts.warn("; --json prints them as problems", unseen=not seen)


def _translate(
    texts: TextTranslator, chosen: TranslateInput, prefixes: Path | None, done: int, as_json: bool
) -> Iterator[OutputLine]:
    """The lines of the output, without a number of them that are done."""
    from dragoman.corpus.lines import read_lines

    group = 1 if chosen.typed else GROUP
    lines = islice(chosen.read(texts.translator.bundle, divided=not prefixes), done, None)
    translations = (
        texts.continue_prefixes(lines, islice(read_lines(prefixes), done, None), group)
        if prefixes
        else texts.stream(lines, group)
    )
    for each in translations:
        problems = with_doubt(each.problems, each.confidence)
        yield OutputLine(to_json(each) if as_json else to_line(each), problems, each.truncated)


def _with_progress(lines: Iterable[OutputLine], total: int | None, done: int) -> Iterator[OutputLine]:
    """The same lines; their number, rate and remaining time are shown on standard error after each group of them."""
    from dragoman.system.progress import Meter, ProgressLine

    with ProgressLine("translate", often_short=True) as progress:
        meter = Meter(progress.update, "translating", total, unit="lines")
        number = 0
        for number, line in enumerate(lines, start=1):
            yield line
            if number % GROUP == 0:
                meter.advance(GROUP, skipped=number <= done)
        if rest := number % GROUP:
            meter.advance(rest)
