"""dragoman translate without --document: lines of text, or HTML, and warnings about all translations of a text."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dragoman.cli.output import DASH, open_output, to_json, to_line
from dragoman.cli.translate_input import TranslateInput
from dragoman.errors import UserError, counted
from dragoman.system.files import read_json, sha256, write_json
from dragoman.system.progress import Meter, ProgressLine
from dragoman.system.resumable import BlockStore, grouped, only_writer, run_blocks

if TYPE_CHECKING:
    from dragoman.documents.translate import TextTranslator


GROUP = 512
"""Lines that are translated together: 4,096 would be no faster, and more of them would be lost or waited for."""


@dataclass(frozen=True)
class OutputLine:
    """A line of the output, and what is reported about its translation."""

    text: str
    problems: Sequence[str] = ()
    truncated: bool = False


def translate_lines(
    texts: TextTranslator,
    chosen: TranslateInput,
    prefixes: Path | None,
    output: Path | None,
    as_json: bool,
    identity: Callable[[], list[Any]],
) -> None:
    """Write a line for each text; texts with prefixes are neither split into sentences nor divided.

    From a file to a file, an interrupted command continues. Lines are not translated again if they are the same, and so
    are those that are translated together with them, and `identity`: all else that decides the output.
    """
    from dragoman.corpus.lines import read_lines
    from dragoman.translator import pair_with_prefixes

    to_file = output not in (None, DASH) and not (os.path.exists(output) and not os.path.isfile(output))
    total = chosen.count_lines()
    read = [file for file in (chosen.file, prefixes) if file and file.is_file()] if to_file and total else []
    before = [sha256(file) for file in read]
    truncated, counts = 0, ProblemCounts("line")
    with ExitStack() as stack:
        finished = None
        if output and to_file and total and chosen.file:  # deleted last, once the output has its name
            finished = stack.enter_context(_finished_lines(output, identity()))
        file = stack.enter_context(open_output(output))
        seen = bool(chosen.texts or chosen.typed or file.isatty())
        meter = None
        if not seen:
            progress = stack.enter_context(ProgressLine("translate", often_short=True))
            meter = Meter(progress.update, "translating", total, unit="lines")
        lines = chosen.read(texts.translator.bundle, divided=not prefixes)
        given = pair_with_prefixes(lines, read_lines(prefixes) if prefixes else None)

        def translate(group: list[tuple[str, str]]) -> list[OutputLine]:
            if finished:
                finished.announce()
            return list(_translate(texts, group, bool(prefixes), as_json))

        store = finished.store if finished else None
        groups = grouped(given, 1 if chosen.typed else GROUP)
        for block in run_blocks(translate, groups, store=store, meter=meter):
            for line in block.result:
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
    texts: TextTranslator, group: list[tuple[str, str]], prefixed: bool, as_json: bool
) -> Iterator[OutputLine]:
    """The lines of the output for a group of lines and the beginnings of their translations."""
    lines = [line for line, _ in group]
    if prefixed:
        translations = texts.continue_prefixes(lines, [prefix for _, prefix in group], len(group))
    else:
        translations = texts.stream(lines, len(group))
    for each in translations:
        problems = with_doubt(each.problems, each.confidence)
        yield OutputLine(to_json(each) if as_json else to_line(each), problems, each.truncated)


class _FinishedLines:
    """The finished lines of an output.

    Args:
        directory: Where they are stored.
        identity: Everything but the lines themselves that decides their translations.
    """

    def __init__(self, directory: Path, identity: Any) -> None:
        self.store = BlockStore(directory, identity, self._save, self._load)
        self.numbers: dict[Path, int] = {}  # of lines in each file that this process has written or read
        self._announced = False

    def announce(self) -> None:
        """Say, once, after how many lines the command continues, if there are any."""
        if self.numbers and not self._announced:
            number = counted(sum(self.numbers.values()), "line")
            print(f"dragoman: continues after {number} in {self.store.directory}", file=sys.stderr)
        self._announced = True

    def _save(self, path: Path, lines: list[OutputLine]) -> None:
        write_json(path, {"lines": [asdict(line) for line in lines]})
        self.numbers[path] = len(lines)

    def _load(self, path: Path) -> list[OutputLine] | None:
        try:
            lines = [OutputLine(**line) for line in read_json(path)["lines"]]
        except (UserError, KeyError, TypeError):
            return None
        self.numbers[path] = len(lines)
        return lines


@contextmanager
def _finished_lines(output: Path, identity: Any) -> Iterator[_FinishedLines]:
    """The finished lines of an output, which are deleted after the block, unless it is interrupted.

    Raises:
        UserError: Another process is writing the output.
        OSError: There is no space, or no permission.
    """
    with only_writer(output) as directory:
        finished = _FinishedLines(directory, identity)
        try:
            yield finished
        except (KeyboardInterrupt, SystemExit, OSError, UserError) as error:
            has_message = isinstance(error, OSError | UserError)
            input_is_wrong = isinstance(error, UserError) and not isinstance(error.__cause__, OSError)
            if finished.numbers and not input_is_wrong:
                shown = counted(sum(finished.numbers.values()), "translated line")
                print(f"dragoman: {directory} contains {shown}; to continue, run the same command", file=sys.stderr)
            else:
                if not has_message:
                    print(f"dragoman: interrupted before {counted(GROUP, 'line')} were translated", file=sys.stderr)
                _discard(finished)
            raise
        finished.announce()
        shutil.rmtree(directory)


def _discard(finished: _FinishedLines) -> None:
    """Delete finished lines, and their directory unless it has those of other settings, which may still be wanted."""
    for path in finished.numbers:
        path.unlink()
    if not any(finished.store.directory.glob("*.json")):
        shutil.rmtree(finished.store.directory)


def write_html(texts: TextTranslator, chosen: TranslateInput, file: IO[str]) -> ProblemCounts:
    """Write the translations of HTML documents, and count the parts of them that have problems.

    Each text on the command line is a document, and so is all of a file. A text is written with a line break.
    """
    from dragoman.documents.html_text import HtmlText

    counts = ProblemCounts("part")
    for html in chosen.read_documents():
        document = HtmlText(html, texts.source_language, texts.whole_lines, keeps_others=True)
        translations = texts.translate_segments(document.segments)
        for each in translations:
            counts.add(with_doubt(each.problems, each.confidence))
        file.write(document.assemble(translations) + "\n" * bool(chosen.texts))
    return counts


_UNSURE = "probably wrong"


def with_doubt(problems: Sequence[str], confidence: float | None) -> list[str]:
    """The problems of a translation, and that it is probably wrong, if its confidence is low."""
    from dragoman.evaluation.confidence import LOW_CONFIDENCE

    if confidence is None or confidence >= LOW_CONFIDENCE:
        return list(problems)
    shown = min(round(100 * confidence), round(100 * LOW_CONFIDENCE) - 1)  # below the limit when rounded, too
    return [*problems, f"{_UNSURE} (confidence {shown}%)"]


class ProblemCounts:
    """How many translations have problems of each kind.

    Args:
        unit: What is translated, "line" or "part".
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.empty = self.foreign = self.doubtful = self.faulty = self.unsure = 0

    def add(self, problems: Sequence[str]) -> None:
        """Count the problems of one translation, as of `with_doubt`."""
        from dragoman.doctor.input.source_language import OTHER_LANGUAGE
        from dragoman.doctor.output.text_checks import EMPTY

        unsure = {problem for problem in problems if problem.startswith(_UNSURE)}
        details = {problem for problem in problems if ": " in problem}  # such as "missing: %s"
        self.empty += EMPTY in problems
        self.foreign += OTHER_LANGUAGE in problems
        self.doubtful += bool(set(problems) - details - unsure - {EMPTY, OTHER_LANGUAGE})  # such as "loop"
        self.unsure += bool(unsure)
        self.faulty += bool(details)

    def warn(self, remedy: str = "", *, unseen: bool) -> None:
        """Print the counts.

        Args:
            remedy: Added to the counts of problems with which it helps.
            unseen: Whether nobody sees the translations now. Otherwise, those that are obviously wrong are not counted.
        """
        from dragoman.evaluation.confidence import LOW_CONFIDENCE

        empty, foreign = counted(self.empty, self.unit), counted(self.foreign, self.unit)
        doubtful, faulty = counted(self.doubtful, "translation"), counted(self.faulty, "translation")
        unsure = counted(self.unsure, "translation")
        messages = {
            f"{empty} with a sentence that the model leaves empty, so it is not translated": self.empty,
            f"{foreign} with a sentence that is probably not in the source language": self.foreign * unseen,
            f"{doubtful} with repeated words, a copied sentence or an unusual length{remedy}": self.doubtful * unseen,
            f"{unsure} with a confidence below {LOW_CONFIDENCE:.0%}, so probably wrong": self.unsure * unseen,
            f"{faulty} with other placeholders, tags, URLs, numbers or terms than the source{remedy}": self.faulty,
        }
        for message, count in messages.items():
            if count:
                print(f"dragoman: warning: {message}", file=sys.stderr)
