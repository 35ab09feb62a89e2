"""The corpus formats. To add one, write a module like `tsv` and add it to `FORMATS`."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from dragoman.corpus import aligned, csv, hub, jsonl, named, po, tmx, tsv, xliff, xlsx, zipped
from dragoman.corpus.pair import Corpus, Languages
from dragoman.settings import CorpusReference


class CorpusFormat(Protocol):
    """What the module of a format contains."""

    SYNTAX: str
    """What a reference to such a corpus looks like, for error messages."""

    def recognizes(self, reference: CorpusReference) -> bool:
        """Whether the reference has this format; it need not exist."""
        ...

    def open_corpus(self, reference: CorpusReference, languages: Languages, data_directory: Path | None) -> Corpus:
        """The corpus that a recognized reference names.

        Args:
            reference: Where the pairs come from.
            languages: Source and target.
            data_directory: Where files of the catalog are looked for before they are downloaded.

        Raises:
            UserError: It does not exist, or does not have these languages.
        """
        ...


FORMATS: list[CorpusFormat] = [
    aligned,
    tsv,
    csv,
    jsonl,
    xlsx,
    tmx,
    xliff,
    po,
    zipped,
    hub,
    named,
]
"""In the order in which they are tried: ``news.{lang}.tsv`` is a pair of aligned files."""
