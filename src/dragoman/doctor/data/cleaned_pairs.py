"""The pairs of corpora without those that have problems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Pair
from dragoman.doctor.data.check import check_corpora
from dragoman.doctor.data.corpora import Corpora
from dragoman.settings import FilePair


@contextmanager
def cleaned_pairs(corpora: Corpora) -> Iterator[Iterator[Pair]]:
    """The pairs of the training corpora in which `check_corpora` finds no problem, in a temporary copy.

    Raises:
        UserError: A corpus cannot be read.
    """
    with TemporaryDirectory(prefix="dragoman-") as temporary:
        copy = Path(temporary) / "clean"
        check_corpora(corpora, copy)
        source, target = (str(copy / name) for name in corpora.file_names)
        files = FilePair(source=source, target=target)
        yield read_corpus(files, source_language=corpora.source_language, target_language=corpora.target_language)
