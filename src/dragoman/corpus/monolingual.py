"""Text in one language, one sentence per line."""

from __future__ import annotations

from dragoman.corpus.references import has_suffix
from dragoman.errors import UserError

_PAIRS = (".tsv", ".csv", ".jsonl", ".tmx", ".po", ".xliff", ".xlf", ".xlsx", ".xlsm")


def refuse_pairs(file: str) -> None:
    """Check that a file has no pairs of sentences; each pair would be read as one sentence.

    Raises:
        UserError: Its name is that of a corpus of pairs.
    """
    if has_suffix(file, *_PAIRS):
        raise UserError(
            f"{file}: is a file of pairs, not of sentences in one language; copy one side to a text file with one "
            "sentence per line"
        )
