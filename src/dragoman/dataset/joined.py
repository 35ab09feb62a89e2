"""Pairs that texts in several languages make together: a line of one text may be a line of another one, too.

If a line of language B is translated into A in one corpus and into C in another, its two translations are a pair in A
and C (Freitag and Firat 2020, "Complete Multilingual Neural Machine Translation"). Only languages without a corpus get
such pairs.
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
from dragoman.settings.data import LEAST_WEIGHT
from dragoman.system.cache import cache_directory
from dragoman.system.progress import Log
from dragoman.system.resumable import BuildCache, grouped
from dragoman.text.multilingual import name_direction
from dragoman.text.normalization import compared_form

CHUNK = 10_000  # pairs that are looked up at once
LEAST_SHARED = 1000
"""Lines that must be shared: fewer may be greetings and titles only. Not measured."""
MOST_WEIGHT = 0.5
"""Below 1, so that none of these pairs is held out to validate on."""
SHARE = 0.15
"""About the part of the steps that all such directions get together: the user has no text for them. They had 93 to 98%
of the BLEU of models for one direction; with 5%, less, while the others gained nothing
(benchmarks/history/measurements.md, "Many languages")."""


def join_texts(data: Data, data_directory: Path | None, log: Log) -> Data:
    """The data with corpora in the directions that only shared lines have text for, if `data.join` asks for it.

    Weighted, tagged and one-way corpora are not joined, nor are pipes, which can only be read once.

    Args:
        data: The section of a recipe.
        data_directory: Mirror of the dataset catalog.
        log: Receives messages.

    Raises:
        UserError: A corpus is missing or damaged.
    """
    given = {frozenset(data.languages_of(each.corpus)) for each in data.weighted}
    lacking = [each for each in data.directions if frozenset(each) not in given]
    if not (data.join and lacking):
        return data
    found = dict[Languages, tuple[FilePair, int]]()
    cache = BuildCache(cache_directory() / "prepared", log)
    for languages in dict.fromkeys(min(each, each[::-1]) for each in lacking):
        routes = [route for hub in data.all_languages if (route := _open_route(data, languages, hub, data_directory))]

        def build(
            directory: Path,
            languages: Languages = languages,
            routes: list[tuple[CorpusPairs, CorpusPairs]] = routes,
        ) -> dict[str, Any]:
            return {"pairs": write_corpus(_join(routes), f"{directory}/joined.{{lang}}", languages)[0]}

        identity = {"languages": languages, "texts": [each.fingerprint for route in routes for each in route]}
        with cache.lock(identity):
            entry = cache.get("joined", identity, build)
        if entry.facts["pairs"] >= LEAST_SHARED:
            source, target = (str(entry.path / f"joined.{language}") for language in languages)
            found[languages] = FilePair(source=source, target=target, languages=languages), entry.facts["pairs"]
    if not found:
        return data.model_copy(update={"join": False})
    names = ", ".join(f"{name_direction(languages)} {number:,}" for languages, (_, number) in found.items())
    log(f"pairs from lines that corpora share, in languages without a corpus: {names}")
    relative = SHARE / (1 - SHARE) * len(given) / len(found)  # the share of one, relative to one with a corpus
    weight = max(LEAST_WEIGHT, min(MOST_WEIGHT, relative**data.temperature))
    added = [WeightedCorpus(corpus=files, weight=weight) for files, _ in found.values()]
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


def _join(routes: Iterable[tuple[CorpusPairs, CorpusPairs]]) -> Iterator[Pair]:
    """The pairs of both ends of routes, one for each shared line, each once."""
    written = set[tuple[str, str]]()
    for first, second in routes:
        shared = _Texts(compared_form(pair.source) for pair in second)
        sources: dict[str, str] = {}
        for chunk in grouped(first, CHUNK):
            lines = [compared_form(pair.target) for pair in chunk]
            for pair, line, is_shared in zip(chunk, lines, shared.contain(lines), strict=True):
                if is_shared:
                    sources.setdefault(line, pair.source)
        for pair in second:
            source = sources.pop(compared_form(pair.source), None)
            if source is not None and (source, pair.target) not in written:
                written.add((source, pair.target))
                yield Pair(source, pair.target)


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
