"""dragoman translate --format html."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from dragoman.cli.translate_input import TranslateInput
from dragoman.cli.translation_problems import ProblemCounts, with_doubt

if TYPE_CHECKING:
    from dragoman.documents.translate import TextTranslator


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
