"""Measure whether removal finds the source words that a translation depends on, and whether attention does.

Of each caption, three words are deleted: the most influential ones by single removals, the most attended ones, or
random ones; with --all, also the three of all whose deletion harms most, which takes a hundred times as long. The more
the log-probability of the same translation falls, the more it depended on these words.

python benchmarks/influence.py runs/multi30k-de-en --corpus multi30k:val
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dragoman
from dragoman.corpus.corpus import read_corpus
from dragoman.explanation.attention_map import AttentionMap
from dragoman.explanation.influence import remove_words, score_each_source

DELETED = 3

Received = Callable[[AttentionMap], NDArray[np.float32]]
"""The attention that each source token receives, (source,)."""

ATTENTION: dict[str, Received] = {
    "mean of all layers and heads": lambda attention: attention.mean("cross").mean(axis=0).sum(axis=0),
    "mean of the last layer's heads": lambda attention: attention.mean("cross")[-1].sum(axis=0),
    "maximum of all layers and heads": lambda attention: attention.maximum("cross").max(axis=0).sum(axis=0),
    "rollout": lambda attention: attention.rollout("cross").sum(axis=0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", help="or a run directory")
    parser.add_argument("--corpus", default="captions:test")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--all", action="store_true", help="try all triples of words, too")
    arguments = parser.parse_args()
    translator = dragoman.load(arguments.bundle, engine="torch")
    languages = translator.bundle.recipe.data.languages
    random = np.random.default_rng(1)
    falls: dict[str, list[float]] = {}
    for pair in read_corpus(arguments.corpus, source_language=languages[0], target_language=languages[1]):
        if len(falls.get("random", ())) == arguments.sentences:
            break
        explanation = translator.explain(pair.source)
        influence, given = explanation.influence, explanation.model_input
        words = influence.words
        if len(words) <= DELETED:
            continue
        rankings: dict[str, NDArray[np.floating[Any]]] = {
            "removal": influence.total,
            "random": random.random(len(words)),
        }
        for name, received in ATTENTION.items():
            weights = received(explanation.attention)
            rankings[name] = np.array([weights[word.start : word.end].sum() for word in words])
        chosen = {name: tuple(sorted(np.argsort(-ranking)[:DELETED].tolist())) for name, ranking in rankings.items()}
        triples = list(combinations(range(len(words)), DELETED) if arguments.all else set(chosen.values()))
        sources = [remove_words(given.source, [words[index] for index in triple]) for triple in triples]
        totals = score_each_source(given.bundle, sources, given.target).sum(axis=1)
        fall = dict(zip(triples, influence.log_probabilities.sum() - totals, strict=True))
        for name, triple in chosen.items():
            falls.setdefault(name, []).append(fall[triple])
        if arguments.all:
            falls.setdefault("the worst of all", []).append(max(fall.values()))
    means = {name: float(np.mean(values)) for name, values in falls.items()}
    print(f"{len(falls['removal'])} sentences; log-probability falls without {DELETED} words by, in nats:")
    for name, mean in means.items():
        print(f"  {mean:7.2f}  {name}; by removal {means['removal'] / mean:.2f} times as much")


if __name__ == "__main__":
    main()
