"""dragoman translate: texts, lines of a file, HTML, or a document in; the same out, and warnings about all of it.

`TranslateInput` reads lines and texts, `translate_lines` and `write_html` translate them, and `translate_document`
translates a file into a file of its format.
"""

from __future__ import annotations

import gzip
import os
import shlex
import shutil
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from textwrap import shorten
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

import typer

from dragoman.cli.options import (
    BundlePath,
    ComputeType,
    Device,
    EngineName,
    EngineOptions,
    JsonLines,
    Overrides,
    SourceLanguage,
    TargetLanguage,
    Verbose,
    open_translator,
)
from dragoman.cli.output import DASH, open_output, read_standard_input, refuse_to_overwrite, to_json, to_line
from dragoman.cli.suggestions import command_with
from dragoman.errors import UserError, counted, nearest
from dragoman.system.files import read_json, sha256, write_json
from dragoman.system.progress import Meter, ProgressLine, format_seconds
from dragoman.system.resumable import BlockStore, grouped, only_writer, run_blocks
from dragoman.system.run_paths import has_bundle

if TYPE_CHECKING:
    from dragoman.bundle import Bundle
    from dragoman.documents.segment import Segment
    from dragoman.documents.translate import TextTranslator
    from dragoman.text.translation import Translation

_ARCHIVES = {".docx", ".pptx", ".odt", ".epub"}
_SPREADSHEETS = {".xlsx", ".xlsm", ".xls", ".ods"}

GROUP = 512
"""Lines that are translated together: 4,096 would be no faster, and more of them would be lost or waited for."""

_BATCH = 256  # segments of a document that are translated together, between two updates of the progress line
_SAMPLE = 100  # lines or sentences whose language is recognized
_FEW = 3  # sentences, of which too many may look like those of a related language
_SHOWN, _WIDTH = 5, 60  # sentences with problems that are shown, and characters of each

_EXCLUDED = {
    "--document": ("texts", "--input", "--prefixes", "--json", "--format html"),
    "--format html": ("--json", "--prefixes"),
    "--prefixes": ("--glossary", "--memory"),
}
"""Options that cannot be combined with others."""


def translate(
    bundle: BundlePath,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Texts to translate (default: standard input, or a prompt)."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--input", help="File to translate, one text per line (or .gz; - for standard input)."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write, plain or .gz (default, and -: standard output).")
    ] = None,
    overrides: Overrides = None,
    as_json: JsonLines = False,
    engine: EngineName = None,
    device: Device = "auto",
    compute_type: ComputeType = "auto",
    verbose: Verbose = False,
    ensemble: Annotated[
        list[Path] | None,
        typer.Option(metavar="BUNDLE", help="Average the predictions with those of this bundle; can be repeated."),
    ] = None,
    prefixes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with the beginning of each translation, one per line. Lines are then not split into sentences, "
            "and placeholders that the model loses are not put back.",
        ),
    ] = None,
    document: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Document to translate, such as .docx or .md; needs --output."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,…", help="Columns of a CSV document to translate, by name or number (default: all)."
        ),
    ] = None,
    text_format: Annotated[
        Literal["text", "html"],
        typer.Option("--format", help="With html, tags are kept, and a file is one document instead of lines."),
    ] = "text",
    glossary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Terms that translations use: lines with a term, a tab or =, and its translation, or a .csv, .xlsx or "
            ".tmx file.",
        ),
    ] = None,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    memory: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CORPUS",
            help="Translation memory, such as memory.tmx: known translations are returned, and those of similar texts "
            "help models that were trained with training.augmentation.fuzzy_matches. Can be repeated.",
        ),
    ] = None,
) -> None:
    """Translate texts, a file, standard input, or what you type.

    Prints one line per line of input; the sentences of a line are translated separately, unless the translator was
    trained with several per line. With decoding.n_best above 1, the alternatives follow on the same line, separated by
    tabs. Without texts and --input, it reads standard input; on a terminal, it translates each line that
    you type, until Ctrl-D. If a translation from --input to --output is interrupted, the same command continues it.

    Example: dragoman translate runs/quickstart "Ein Hund läuft." --set decoding.beam_size=8
    """
    from dragoman.documents.translate import TextTranslator

    given = {
        "texts": texts,
        "--input": source,
        "--document": document,
        "--json": as_json,
        "--format html": text_format == "html",
        "--prefixes": prefixes,
        "--glossary": glossary,
        "--memory": memory,
    }
    for option, others in _EXCLUDED.items():
        if given[option] and (excluded := [other for other in others if given[other]]):
            raise UserError(f"{option} cannot be combined with {' and '.join(excluded)}")
    if columns and not document:
        raise UserError("--columns chooses the columns of a table; name the table with --document")
    if output and not output.parent.is_dir():
        raise UserError(f"{output}: there is no directory {output.parent}")
    refuse_to_overwrite(output, ("the input", source), ("the glossary", glossary), ("the prefixes", prefixes))
    translated = check_files(document, output) if document else None
    chosen = TranslateInput(bundle, [] if texts == ["-"] else texts or [], source)
    options = EngineOptions(
        engine, device, compute_type, verbose, token_scores=as_json, languages=(source_language, target_language)
    )

    def recognize(translator: Bundle) -> str:
        return recognize_source(translator, chosen, document, columns, text_format)

    opened = open_translator(bundle, overrides, options, ensemble or [], recognize=recognize)
    languages = opened.bundle.recipe.data.languages
    memories = [each.replace("{lang}", language) for each in memory or () for language in languages]
    refuse_to_overwrite(output, *(("a memory", each) for each in memories))
    terms = known = None
    if glossary:
        from dragoman.cli.glossary_file import read_glossary

        terms = read_glossary(glossary, languages)
    if memory:
        from dragoman.corpus.memory import TranslationMemory

        known = TranslationMemory.read(memory, languages)
    translator = TextTranslator(opened, terms, known)
    if document and translated:
        translate_document(translator, document, translated, columns)
    elif text_format == "html":
        with open_output(output) as file:
            counts = write_html(translator, chosen, file)
            seen = bool(chosen.texts) or file.isatty()
        counts.warn(unseen=not seen)
    else:

        def identity() -> list[Any]:
            return [device, as_json, *_identify(translator, ensemble or [])]

        by_line = source_language is None and not (terms or known or prefixes or chosen.typed or ensemble)
        translate_lines(translator, chosen, prefixes, output, as_json, identity, recognizes=by_line)


def _identify(texts: TextTranslator, ensemble: Sequence[Path]) -> list[Any]:
    """What decides the translations of a text, as plain data: the program, bundles, search, glossary and memory."""
    from dragoman.bundle import bundle_digest
    from dragoman.synthesis.identity import identify_translator

    terms, memory = texts.glossary, texts.memory
    return [
        identify_translator(texts.translator),
        list(map(bundle_digest, ensemble)),
        [[term.source, term.target] for term in terms.terms] if terms else [],
        list(map(list, memory.segments.items())) if memory else [],
    ]


class TranslateInput:
    """Texts on the command line, or a file, or standard input if there is neither.

    What is probably a mistake is refused before the model is loaded.

    Args:
        bundle: The path of the translator.
        texts: The texts.
        file: The file; ``-`` is standard input.

    Attributes:
        lines: The lines of the texts. An empty text is an empty line.
        typed: Whether the user types the texts, so that each must be translated at once.

    Raises:
        UserError: There are texts and a file, or the texts are probably meant as something else.
    """

    def __init__(self, bundle: Path, texts: Sequence[str], file: Path | None) -> None:
        self.bundle, self.texts, self.file = bundle, texts, file
        self._file = None if file == DASH else file
        self.lines = [line for text in texts for line in text.splitlines() or [""]]
        self.typed = not texts and self._file is None and sys.stdin.isatty()
        if self.texts and self.file:
            raise UserError("give texts or --input, not both")
        if self.texts and not has_bundle(self.bundle):
            _refuse_other_order(self.bundle, self.texts)
        if self.texts and all(map(os.path.isfile, self.texts)):
            _refuse_files(self.bundle, self.texts)
        if len(self.texts) == 1 and os.path.dirname(self.texts[0]):
            _refuse_mistyped_file(self.texts[0])
        if self._file:
            _refuse_spreadsheet(self.bundle, self._file)
        if self._file and self._file.suffix.lower() in _ARCHIVES and self._file.is_file():
            raise UserError(
                f"{self.file}: is not text; translate it with: {_document_command(self.bundle, self._file)}"
            )

    @property
    def is_read_once(self) -> bool:
        """Whether the beginning cannot be read before the rest: the user types it, or it is a pipe with a name."""
        return self.typed or bool(self._file and self._file.exists() and not self._file.is_file())

    def sample(self, text_format: str) -> str:
        """The beginning of the texts, whose language is recognized; raises UserError if there is no such file."""
        if self.texts or (self._file and text_format == "html"):  # whose lines say nothing
            return "\n".join(self.read_documents())
        if self._file:
            from dragoman.corpus.lines import read_lines

            return "\n".join(islice(read_lines(self._file, replace_controls=True), _SAMPLE))
        buffer: Any = sys.stdin.buffer
        beginning: bytes = buffer.peek()  # it is read again later
        return beginning.decode(errors="ignore")

    def read_documents(self) -> Iterator[str]:
        """Each text on the command line, or all of the file.

        Raises:
            UserError: The file cannot be read, or is not UTF-8.
        """
        from dragoman.corpus.lines import open_binary

        if self.texts:
            yield from self.texts
            return
        name = self._file or "standard input"
        try:
            if self._file:
                with open_binary(self._file) as file:
                    content = file.read()
            else:
                content = sys.stdin.buffer.read()
            yield content.decode()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise UserError(f"{name}: damaged gzip file ({error})") from None
        except OSError as error:
            raise UserError(f"{name}: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            raise UserError(f"{name}: not valid UTF-8 (byte 0x{content[error.start]:02x})") from None

    def count_lines(self) -> int | None:
        """The number of lines to translate; None for standard input, and for files that cannot be read twice.

        Raises:
            UserError: There is no such file, or it is not text.
        """
        if self.texts:
            return len(self.lines)
        if not self._file:
            return None
        if not self._file.exists():
            raise UserError(f"{self._file}: no such file")
        if not self._file.is_file():
            return None
        from dragoman.corpus.lines import read_lines

        return sum(1 for _ in read_lines(self._file, replace_controls=True))

    def read(self, bundle: Bundle, divided: bool, recognized: bool) -> Iterator[str]:
        """The texts, in order. Of each kind of unusual texts, the first one is reported on standard error.

        Args:
            bundle: The translator.
            divided: Whether long texts are divided, so that their length is no problem.
            recognized: Whether each is translated from its own language, which is none of these kinds then.
        """
        from dragoman.doctor.input import TextChecker

        if self._file and _is_document(self._file):
            print(
                f"dragoman: warning: {self._file}: each line is translated as text, with all tags and settings of the "
                f"format; to translate it as a document: {_document_command(self.bundle, self._file)}",
                file=sys.stderr,
            )
        if self.typed:
            data = bundle.recipe.data
            direction = f"from {data.source_language} to {data.target_language}"
            print(f"Type a text and press Enter to translate it {direction}; Ctrl-D ends.", file=sys.stderr)
        unit = "text" if self.texts and len(self.texts) == len(self.lines) else "line"
        reported = {"several-sentences", "long"} if divided else set[str]()  # kinds of warnings
        reported |= {"language", "target-language"} if recognized else set()
        checker = TextChecker.of(bundle)
        texts: Iterable[str] = self.lines
        if not self.texts:
            from dragoman.corpus.lines import read_lines

            texts = read_lines(self._file, replace_controls=True) if self._file else read_standard_input("> ")
        for number, text in enumerate(texts, start=1):
            for warning in checker.check(number, text):
                if warning.kind not in reported:
                    reported.add(warning.kind)
                    place = "this text" if self.typed else f"{unit} {number:,}"
                    print(f"dragoman: warning: {place} {warning.message}", file=sys.stderr)
            yield text


def recognize_source(
    bundle: Bundle, chosen: TranslateInput, document: Path | None, columns: str | None, text_format: str
) -> str:
    """The language of what is translated: the one that a document states, or that of the beginning of the text.

    Raises:
        UserError: It cannot be read, or the user types it, or its language is not recognized.
    """
    from dragoman.bundle import possible_sources, recognize_common_source

    sources = possible_sources(bundle)
    if document:
        from dragoman.documents.formats.open import find_source

        target = bundle.recipe.data.target_language
        stated, texts = find_source(read_document(document), str(document), sources, target, _split(columns))
        if stated:
            return stated
        refuse_translated(bundle, document, texts)
    elif chosen.is_read_once:
        if bundle.stated[0]:
            return bundle.stated[0]
        raise UserError(f"name the language of this text with --source-language: {', '.join(sources)}")
    elif text_format == "html":
        from dragoman.documents.formats.html import HtmlText

        texts = [segment.text for segment in HtmlText(chosen.sample(text_format), sources[0]).segments]
    else:
        texts = chosen.sample(text_format).splitlines()
    return recognize_common_source(bundle, texts[:_SAMPLE])


def refuse_translated(bundle: Bundle, document: Path, texts: Sequence[str]) -> None:
    """Check that most of a document is not in the language to translate into; a few words are no evidence."""
    from dragoman.languages.identify import MIN_WORDS, common_language, words_of

    target, profile = bundle.recipe.data.target_language, bundle.language_profile
    sample = [text for text in texts if sum(1 for _ in words_of(text)) >= MIN_WORDS][:_SAMPLE]
    if profile and len(sample) >= _FEW and common_language(sample, profile) == target:
        raise UserError(f"{document}: is already in {target}; to translate it anyway, add --source-language")


def _split(columns: str | None) -> list[str]:
    return columns.split(",") if columns else []


def _refuse_other_order(bundle: Path, texts: Sequence[str]) -> None:
    runs = [text for text in texts if has_bundle(Path(text))]
    if len(runs) == 1 and str(bundle) in sys.argv:
        text = ["--input", str(bundle)] if os.path.isfile(bundle) else [str(bundle)]
        command = command_with(sys.argv[1:], {str(bundle): runs, runs[0]: text})
        raise UserError(f"the run comes before the texts: {command}")


def _is_document(file: Path) -> bool:
    """Whether the name of a file is that of a document with more than lines of text."""
    from dragoman.documents.formats.open import DOCUMENT_FORMATS

    return file.suffix.lower() in DOCUMENT_FORMATS.keys() - {".txt"}


def _document_command(bundle: Path, document: Path) -> str:
    output = f"translated{document.suffix}"
    return shlex.join(["dragoman", "translate", str(bundle), "--document", str(document), "--output", output])


def _refuse_spreadsheet(bundle: Path, file: Path) -> None:
    if file.suffix.lower() in _SPREADSHEETS and file.is_file():
        suggestion = _document_command(bundle, file.with_suffix(".csv"))
        raise UserError(f"{file}: is a spreadsheet; save it as .csv, and translate that with: {suggestion}")


def _refuse_files(bundle: Path, texts: Sequence[str]) -> None:
    for text in texts:
        _refuse_spreadsheet(bundle, Path(text))
    if len(texts) == 1 and _is_document(Path(texts[0])):
        raise UserError(f"{texts[0]}: is a file; translate it with: {_document_command(bundle, Path(texts[0]))}")
    if len(texts) == 1:
        command = command_with(sys.argv[1:], {texts[0]: ["--input", texts[0]]})
        raise UserError(f"{texts[0]}: is a file; translate its content with: {command}")
    example = command_with(sys.argv[1:], {text: [] for text in texts[1:]} | {texts[0]: ["--input", texts[0]]})
    raise UserError(f"{', '.join(texts)}: are files; translate the content of each with --input: {example}")


def _refuse_mistyped_file(text: str) -> None:
    """Refuse the path of a directory, or of a missing file in an existing directory."""
    directory, name = os.path.split(text)
    if not directory or not os.path.isdir(directory) or any(map(str.isspace, text)):
        return
    if os.path.isdir(text):
        raise UserError(f"{text}: is a directory; name a file with --input")
    similar = nearest(name, os.listdir(directory))
    raise UserError(f"{text}: no such file{similar}; to translate a file, name it with --input")


@dataclass(frozen=True)
class OutputLine:
    """A line of the output, and what is reported about its translation."""

    text: str
    problems: Sequence[str] = ()
    truncated: bool = False


def _stream_recognized(texts: TextTranslator, bundle: Bundle) -> Callable[[Sequence[str], int], Iterator[Translation]]:
    """What translates lines, each from the language that it is in, of which the bundle states none."""
    from dragoman.bundle import recognize_sources
    from dragoman.documents.translate import TextTranslator
    from dragoman.translator import translate_by_language

    in_language = {texts.translator.bundle.recipe.data.source_language: texts}

    def stream(lines: Sequence[str], window: int) -> Iterator[Translation]:
        def translate(language: str, places: Sequence[int]) -> Iterator[Translation]:
            if language not in in_language:
                in_language[language] = TextTranslator(texts.translator.with_direction(language))
            return in_language[language].stream([lines[place] for place in places], window)

        return iter(translate_by_language(recognize_sources(bundle, lines), translate))

    return stream


def translate_lines(
    texts: TextTranslator,
    chosen: TranslateInput,
    prefixes: Path | None,
    output: Path | None,
    as_json: bool,
    identity: Callable[[], list[Any]],
    recognizes: bool,
) -> None:
    """Write a line for each text; texts with prefixes are neither split into sentences nor divided.

    If a model with several languages `recognizes` the source, each line is translated from its own language.

    From a file to a file, an interrupted command continues. Lines are not translated again if they are the same, and so
    are those that are translated together with them, and `identity`: all else that decides the output.
    """
    from dragoman.bundle import with_open_source
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
        opened = with_open_source(texts.translator.bundle) if recognizes else None
        stream = _stream_recognized(texts, opened) if opened else texts.stream
        lines = chosen.read(texts.translator.bundle, not prefixes, opened is not None)
        if prefixes:
            from dragoman.corpus.lines import read_lines

            given = pair_with_prefixes(lines, read_lines(prefixes))
        else:
            given = pair_with_prefixes(lines, None)

        def translate(group: list[tuple[str, str]]) -> list[OutputLine]:
            if finished:
                finished.announce()
            sources = [line for line, _ in group]
            if prefixes:
                translations = texts.continue_prefixes(sources, [prefix for _, prefix in group], len(group))
            else:
                translations = stream(sources, len(group))
            return [
                OutputLine(
                    to_json(each) if as_json else to_line(each),
                    with_doubt(each),
                    each.truncated,
                )
                for each in translations
            ]

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
    from dragoman.documents.formats.html import HtmlText

    counts = ProblemCounts("part")
    for html in chosen.read_documents():
        document = HtmlText(html, texts.source_language, texts.whole_lines, keeps_others=True)
        translations = texts.translate_segments(document.segments)
        for each in translations:
            counts.add(with_doubt(each))
        file.write(document.assemble(translations) + "\n" * bool(chosen.texts))
    return counts


_UNSURE = "probably wrong"


def with_doubt(translated: Translation) -> list[str]:
    """The problems of a translation, and that it is probably wrong, if its confidence is low."""
    from dragoman.evaluation.confidence import LOW_CONFIDENCE

    confidence = translated.confidence
    if confidence is None or confidence >= LOW_CONFIDENCE:
        return translated.problems
    shown = min(round(100 * confidence), round(100 * LOW_CONFIDENCE) - 1)  # below the limit when rounded, too
    return [*translated.problems, f"{_UNSURE} (confidence {shown}%)"]


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
        from dragoman.doctor.input import OTHER_LANGUAGE
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


def check_files(document: Path, output: Path | None) -> Path:
    """Check the names of the document and of its translation, and return the latter.

    Raises:
        UserError: One is missing, both are the same file, or their formats differ.
    """
    if output is None:
        raise UserError(f"--document {document}: name the file for the translation with --output")
    if document == DASH:
        raise UserError("--document -: save the document to a file first; the end of its name shows the format")
    if not document.is_file():
        problem = "is not a regular file" if document.exists() else "no such file"
        raise UserError(f"{document}: {problem}")
    refuse_to_overwrite(output, ("the document", document))
    if document.suffix.lower() != output.suffix.lower():
        raise UserError(
            f"{output}: the translation has the format of the document; let the name end in {document.suffix}"
        )
    return output


def translate_document(texts: TextTranslator, document: Path, output: Path, columns: str | None) -> None:
    """Write the translation of a document; the file only appears once it is complete.

    Args:
        texts: The translator.
        document: The file to translate.
        output: The file to write.
        columns: The columns of a table to translate, separated by commas.

    Raises:
        UserError: The document cannot be read, or the output cannot be written.
    """
    from dragoman.documents.formats import open_document
    from dragoman.system.files import atomic_file

    data = texts.translator.bundle.recipe.data
    opened = open_document(
        read_document(document),
        str(document),
        (data.source_language, data.target_language),
        _split(columns),
        texts.whole_lines,
    )
    with atomic_file(output, "wb") as file:
        found = dict(_translate_segments(texts, list(dict.fromkeys(opened.segments))))
        file.write(opened.assemble([found[segment] for segment in opened.segments]))
    _warn_of_problems({segment.text: each for segment, each in found.items() if with_doubt(each)})


def _warn_of_problems(faulty: Mapping[str, Translation]) -> None:
    """Report the translations that are probably wrong, and show the first of them."""
    if not faulty:
        return
    print(f"dragoman: warning: {counted(len(faulty), 'sentence')} with probable problems:", file=sys.stderr)
    for text, translated in islice(faulty.items(), _SHOWN):
        source, target = (shorten(each, _WIDTH, placeholder=" …") for each in (text, translated.text))
        result = "stays as it is" if source == target else f"became {target!r}"
        print(f"  {', '.join(with_doubt(translated))}: {source!r} {result}", file=sys.stderr)
    if len(faulty) > _SHOWN:
        print(f"  … and {len(faulty) - _SHOWN:,} more", file=sys.stderr)


def read_document(path: Path) -> bytes:
    """The content of a file.

    Raises:
        UserError: It cannot be read, or is too large.
    """
    from dragoman.documents.formats import MAX_DOCUMENT_BYTES

    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            raise UserError(f"{path}: larger than {MAX_DOCUMENT_BYTES // 1_000_000} MB; divide the document")
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None


def _translate_segments(texts: TextTranslator, segments: Sequence[Segment]) -> Iterator[tuple[Segment, Translation]]:
    """Segments with their translations; the progress is shown on standard error."""
    started = time.monotonic()
    with ProgressLine("translating", often_short=True) as progress:
        for start in range(0, len(segments), _BATCH):
            batch = segments[start : start + _BATCH]
            yield from zip(batch, texts.translate_segments(batch), strict=True)
            done = start + len(batch)
            rate = done / max(1e-9, time.monotonic() - started)
            left = format_seconds((len(segments) - done) / rate)
            text = f"{done:,} of {counted(len(segments), 'sentence')}, {rate:,.0f} per second, {left} left"
            progress.update(done / len(segments), text)
