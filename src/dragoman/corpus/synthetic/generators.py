"""The generated corpora. To add one, write a module, and add a line to `GENERATORS` and an entry to the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.synthetic.captions import captions
from dragoman.corpus.synthetic.copy_task import copy_sequences


def _read_captions(split: str, languages: Languages) -> Iterator[Pair]:
    texts = ({"de": german, "en": english} for german, english in captions(split))
    return (Pair(pair[languages[0]], pair[languages[1]]) for pair in texts)


def _read_copies(split: str, languages: Languages) -> Iterator[Pair]:
    return (Pair(words, words) for words in copy_sequences(split))


GENERATORS: dict[str, Callable[[str, Languages], Iterator[Pair]]] = {
    "captions": _read_captions,
    "copy": _read_copies,
}
"""By name in the catalog: the pairs of a split in two languages."""
