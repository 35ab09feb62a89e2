"""What `dragoman translate` translates, and warnings about it."""

from __future__ import annotations

import gzip
import os
import shlex
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.output import DASH, read_standard_input
from dragoman.cli.suggestions import command_with
from dragoman.errors import UserError, nearest
from dragoman.system.run_paths import has_bundle

if TYPE_CHECKING:
    from dragoman.bundle import Bundle

_ARCHIVES = {".docx", ".pptx", ".odt", ".epub"}
_SPREADSHEETS = {".xlsx", ".xlsm", ".xls", ".ods"}


@dataclass(frozen=True)
class TranslateInput:
    """Texts on the command line, or a file, or standard input if there is neither.

    Raises:
        UserError: There are both, or the texts are probably meant as something else.
    """

    bundle: Path
    texts: Sequence[str]
    file: Path | None

    def __post_init__(self) -> None:
        """Refuse what is probably a mistake, before the model is loaded."""
        if self.texts and self.file:
            raise UserError("give texts or --input, not both")
        if self.texts and not has_bundle(self.bundle):
            _refuse_other_order(self.bundle, self.texts)
        if self.texts and all(map(os.path.isfile, self.texts)):
            _refuse_files(self.bundle, self.texts)
        if len(self.texts) == 1:
            _refuse_mistyped_file(self.texts[0])
        if self._file:
            _refuse_spreadsheet(self.bundle, self._file)
        if self._file and self._file.suffix.lower() in _ARCHIVES and self._file.is_file():
            raise UserError(
                f"{self.file}: is not text; translate it with: {_document_command(self.bundle, self._file)}"
            )

    @property
    def _file(self) -> Path | None:
        """The file to read; None for standard input, and if there are texts."""
        return None if self.file == DASH else self.file

    @property
    def _lines_of_texts(self) -> list[str]:
        """The lines of the texts on the command line. An empty text is an empty line."""
        return [line for text in self.texts for line in text.splitlines() or [""]]

    @property
    def typed(self) -> bool:
        """Whether the user types the texts, so that each must be translated at once."""
        return not self.texts and self._file is None and sys.stdin.isatty()

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
        from dragoman.corpus.lines import read_lines

        if self.texts:
            return len(self._lines_of_texts)
        if not self._file:
            return None
        if not self._file.exists():
            raise UserError(f"{self._file}: no such file")
        if not self._file.is_file():
            return None
        return sum(1 for _ in read_lines(self._file, replace_controls=True))

    def read(self, bundle: Bundle, divided: bool) -> Iterator[str]:
        """The texts, in order. Of each kind of unusual texts, the first one is reported on standard error.

        Args:
            bundle: The translator.
            divided: Whether long texts are divided, so that their length is no problem.
        """
        from dragoman.doctor.input.text_warnings import TextChecker

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
        unit = "text" if self.texts and len(self.texts) == len(self._lines_of_texts) else "line"
        reported = {"several-sentences", "long"} if divided else set[str]()  # kinds of warnings
        checker = TextChecker.of(bundle)
        for number, text in self._numbered_texts():
            for warning in checker.check(number, text):
                if warning.kind not in reported:
                    reported.add(warning.kind)
                    place = "this text" if self.typed else f"{unit} {number:,}"
                    print(f"dragoman: warning: {place} {warning.message}", file=sys.stderr)
            yield text

    def _numbered_texts(self) -> Iterator[tuple[int, str]]:
        from dragoman.corpus.lines import read_lines

        texts: Iterable[str] = self._lines_of_texts
        if not self.texts:
            texts = read_lines(self._file, replace_controls=True) if self._file else read_standard_input("> ")
        return enumerate(texts, start=1)


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
