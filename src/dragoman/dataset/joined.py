"""Pairs that texts in several languages make together: a line of one text may be a line of another one, too.

If a line of language B is translated into A in one corpus and into C in another, its two translations are a pair in A
and C. Text in many languages is often translated from the same lines, so a small pair of languages gains much (Freitag
and Firat 2020, "Complete Multilingual Neural Machine Translation").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.writers import write_corpus
from dragoman.dataset.pairs import CorpusPairs, find_training_corpora
from dragoman.settings import Data, FilePair, WeightedCorpus
from dragoman.system.cache import cache_directory
from dragoman.system.progress import Log
from dragoman.system.resumable import BuildCache, grouped
from dragoman.text.multilingual import name_direction
from dragoman.text.normalization import collapse_spaces

CHUNK = 10_000  # pairs that are looked up at once
LEAST_NEW = 1000
"""Shared lines from which a direction without other text is trained: fewer may be greetings and titles only."""
WEIGHT_OF_NEW = 0.05
"""Of the pairs in such a direction, so that the directions that the user has text for keep most of the time."""


def join_texts(data: Data, data_directory: Path | None, log: Log) -> Data:
    """The data with a corpus more for each two languages that others have shared lines for, if `data.join` asks for it.

    Weighted, tagged and one-way corpora are not joined, nor are pipes, which can only be read once. Two languages that
    have no corpus need at least `LEAST_NEW` shared lines.

    Args:
        data: The section of a recipe.
        data_directory: Mirror of the dataset catalog.
        log: Receives messages.

    Raises:
        UserError: A corpus is missing or damaged.
    """
    if not (data.join and data.directions):
        return data
    added = list[WeightedCorpus]()
    cache = BuildCache(cache_directory() / "prepared", log)
    for languages in dict.fromkeys(min(each, each[::-1]) for each in data.directions):
        direct = _open(data, languages, data_directory)
        routes = [_open_route(data, languages, hub, data_directory) for hub in data.all_languages]
        if not (found := [route for route in routes if route]):
            continue

        def build(
            directory: Path,
            languages: Languages = languages,
            direct: CorpusPairs | None = direct,
            found: list[tuple[CorpusPairs, CorpusPairs]] = found,
        ) -> dict[str, Any]:
            pairs = _join(found, _Texts(map(_key, direct or [])))
            return {"pairs": write_corpus(pairs, f"{directory}/joined.{{lang}}", languages)[0]}

        texts = [direct, *(each for route in found for each in route)]
        identity = {"languages": languages, "texts": [each.fingerprint for each in texts if each]}
        with cache.lock(identity):
            entry = cache.get("joined", identity, build)
        number = entry.facts["pairs"]
        if number >= (1 if direct else LEAST_NEW):
            more = "more pairs" if direct else "pairs"
            log(f"{name_direction(languages)}: {number:,} {more}, from lines that texts in other languages share")
            source, target = (str(entry.path / f"joined.{language}") for language in languages)
            files = FilePair(source=source, target=target, languages=languages)
            added.append(WeightedCorpus(corpus=files, weight=1.0 if direct else WEIGHT_OF_NEW))
    return data.model_copy(update={"train": (*data.train, *added), "join": False})


def _open(data: Data, languages: Languages, data_directory: Path | None) -> CorpusPairs | None:
    """The pairs in two languages, in this direction, of the corpora that may be joined; None if there are none."""
    corpora = tuple(
        each
        for each in data.weighted
        if data.languages_of(each.corpus) in (languages, languages[::-1])
        and each.weight == 1
        and not (each.tagged or each.one_way)
    )
    if not corpora:
        return None
    source, target = languages
    pairs = find_training_corpora(Data(source_language=source, target_language=target, train=corpora), data_directory)
    return pairs if pairs.can_be_read_again else None


def _open_route(
    data: Data, languages: Languages, hub: str, data_directory: Path | None
) -> tuple[CorpusPairs, CorpusPairs] | None:
    """The pairs into a third language and from it; None if there is no text in both."""
    source, target = languages
    if hub in languages:
        return None
    first, second = (_open(data, each, data_directory) for each in ((source, hub), (hub, target)))
    return (first, second) if first and second else None


def _join(routes: Iterable[tuple[CorpusPairs, CorpusPairs]], known: _Texts) -> Iterator[Pair]:
    """The pairs of both ends of routes, one for each shared line, without those that are known."""
    written = set[str]()
    for first, second in routes:
        hubs = _Texts(collapse_spaces(pair.source) for pair in second)
        sources: dict[str, str] = {}
        for chunk in grouped(first, CHUNK):
            lines = [collapse_spaces(pair.target) for pair in chunk]
            for pair, line, shared in zip(chunk, lines, hubs.contain(lines), strict=True):
                if shared:
                    sources.setdefault(line, pair.source)
        pairs = (
            Pair(source, pair.target)
            for pair in second
            if (source := sources.pop(collapse_spaces(pair.source), None)) is not None
        )
        for chunk in grouped(pairs, CHUNK):
            keys = list(map(_key, chunk))
            for pair, key, is_known in zip(chunk, keys, known.contain(keys), strict=True):
                if not is_known and key not in written:
                    written.add(key)
                    yield pair


def _key(pair: Pair) -> str:
    return f"{collapse_spaces(pair.source)}\t{collapse_spaces(pair.target)}"


class _Texts:
    """A set of many texts in eight bytes each; other texts are contained with a chance of about one in 10^12."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._hashes = np.unique(np.fromiter(map(hash, texts), np.int64))

    def contain(self, texts: list[str]) -> NDArray[np.bool_]:
        """Whether each text is in the set."""
        hashes = np.fromiter(map(hash, texts), np.int64, len(texts))
        if not len(self._hashes):
            return np.zeros(len(texts), np.bool_)
        places = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        found: NDArray[np.bool_] = self._hashes[places] == hashes
        return found
