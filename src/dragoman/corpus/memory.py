"""Translation memories: segments that people have translated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.references import UndeclaredError, describe_reference
from dragoman.errors import UserError
from dragoman.settings import CorpusFile, CorpusReference
from dragoman.text.normalization import compared_form

NO_PAIR = "the translation memory has no pair with text on both sides"


class TranslationMemory:
    """Segments with their translations.

    Spaces around segments, their number in them, and invisible characters do not count. If a segment has several
    translations, the most frequent one is used; of equally frequent ones, the last.

    >>> memory = dragoman.TranslationMemory.read("memory.tmx", ("de", "en"))
    >>> memory.find("Ein Hund läuft.")

    Args:
        pairs: The segments with their translations; those with a blank side are ignored.

    Raises:
        UserError: No pair has text on both sides.
    """

    def __init__(self, pairs: Iterable[Pair]) -> None:
        counts: Counter[tuple[str, str]] = Counter()
        self._targets: dict[str, str] = {}
        for pair in pairs:
            source, target = compared_form(pair.source), pair.target.strip()
            if source and target:
                counts[source, target] += 1
                if counts[source, target] >= counts[source, self._targets.get(source, "")]:
                    self._targets[source] = target
        if not self._targets:
            raise UserError(NO_PAIR)

    @classmethod
    def read(cls, corpora: CorpusReference | Sequence[CorpusReference], languages: Languages) -> TranslationMemory:
        """The memory in a corpus of any format, or in several.

        Raises:
            UserError: One is missing, empty or damaged, or lacks a language.
        """
        references = [corpora] if isinstance(corpora, CorpusReference) else corpora
        return cls(chain.from_iterable(_read(reference, languages) for reference in references))

    def __len__(self) -> int:
        return len(self._targets)

    def __contains__(self, text: object) -> bool:
        """Whether the memory has a translation of a segment."""
        return isinstance(text, str) and compared_form(text) in self._targets

    @property
    def segments(self) -> Mapping[str, str]:
        """The different segments, as they are compared, with their translations."""
        return self._targets

    def find(self, text: str) -> str | None:
        """The translation of a segment; None if the memory does not contain it."""
        return self._targets.get(compared_form(text))


def _read(reference: CorpusReference, languages: Languages) -> Iterator[Pair]:
    """The pairs of a corpus, one of which must have text on both sides; a row that looks like a header is one."""
    source, target = languages
    found = False
    pairs = iter(read_corpus(reference, source_language=source, target_language=target))
    try:
        first = list(islice(pairs, 1))  # and not all of them twice: the file may be a pipe
    except UndeclaredError as error:
        if not (error.has_header and isinstance(reference, str)):
            raise
        with_header = CorpusFile(file=reference, **({"header": True} | error.settings))
        first, pairs = [], iter(read_corpus(with_header, source_language=source, target_language=target))
    for pair in chain(first, pairs):
        found = found or pair.complete
        yield pair
    if not found:
        raise UserError(f"{describe_reference(reference)}: {NO_PAIR}")
