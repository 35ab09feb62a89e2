"""dragoman translate --format html."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from dragoman.cli.translate_input import TranslateInput

if TYPE_CHECKING:
    from dragoman.documents.translate import TextTranslator


def write_html(texts: TextTranslator, chosen: TranslateInput, file: IO[str]) -> int:
    """Write the translations of HTML documents, and return the number of translations with wrong spans.

    Each text on the command line is a document, and so is all of a file. A text is written with a line break.
    """
    from dragoman.documents.html.html_text import HtmlText

    faulty = 0
    for html in chosen.read_documents():
        document = HtmlText(html, texts.source_language, texts.whole_lines, keeps_others=True)
        translations = texts.translate_segments(document.segments)
        faulty += sum(names_span(each.problems) for each in translations)
        file.write(document.assemble(translations) + "\n" * bool(chosen.texts))
    return faulty


def names_span(problems: Sequence[str]) -> bool:
    """Whether one of the problems of a translation is a placeholder, a URL or a number, such as "missing: %s"."""
    return any(": " in problem for problem in problems)
