"""dragoman translate --document: a file in, a file of the same format out."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from dragoman.cli.output import DASH, refuse_to_overwrite
from dragoman.cli.translate_text import with_doubt
from dragoman.errors import UserError, counted

if TYPE_CHECKING:
    from dragoman.documents.segment import Segment, TranslatedSegment
    from dragoman.documents.translate import TextTranslator

_BATCH = 256  # segments that are translated together, between two updates of the progress line
_SHOWN, _WIDTH = 5, 60  # sentences with problems that are shown, and characters of each


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
        columns.split(",") if columns else (),
        texts.whole_lines,
    )
    with atomic_file(output, "wb") as file:
        found = dict(_translate(texts, list(dict.fromkeys(opened.segments))))
        file.write(opened.assemble([found[segment] for segment in opened.segments]))
    _warn_of_problems({segment.text: each for segment, each in found.items() if _problems(each)})


def _warn_of_problems(faulty: Mapping[str, TranslatedSegment]) -> None:
    """Report the translations that are probably wrong, and show the first of them."""
    if not faulty:
        return
    print(f"dragoman: warning: {counted(len(faulty), 'sentence')} with probable problems:", file=sys.stderr)
    for text, translated in islice(faulty.items(), _SHOWN):
        source, target = (shorten(each, _WIDTH, placeholder=" …") for each in (text, translated.text))
        result = "stays as it is" if source == target else f"became {target!r}"
        print(f"  {', '.join(_problems(translated))}: {source!r} {result}", file=sys.stderr)
    if len(faulty) > _SHOWN:
        print(f"  … and {len(faulty) - _SHOWN:,} more", file=sys.stderr)


def _problems(translated: TranslatedSegment) -> list[str]:
    return with_doubt(translated.problems, translated.confidence)


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


def _translate(texts: TextTranslator, segments: Sequence[Segment]) -> Iterator[tuple[Segment, TranslatedSegment]]:
    """Segments with their translations; the progress is shown on standard error."""
    from dragoman.system.progress import ProgressLine, format_seconds

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
