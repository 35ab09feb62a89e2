"""Vectors of tokens from counts of the training text."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.corpus.pair import Pair
from dragoman.corpus.synthetic.captions import captions
from dragoman.dataset.cooccurrence import cooccurrence_vectors
from dragoman.dataset.dictionary import learn_dictionary
from dragoman.dataset.token_store import IdStore, PairStore

PAIRS = [Pair(*texts) for texts in islice(captions("train"), 2000)]
UNSEEN = 3


def count(pairs: list[Pair], *, dimensions: int = 32, seed: int = 1) -> tuple[list[str], list[str], Tensor]:
    """Source words, target words, and the vectors of both, followed by those of words that do not occur."""
    sides = [pair.source.split() for pair in pairs], [pair.target.split() for pair in pairs]
    source, target = (sorted({word for line in side for word in line}) for side in sides)
    of_source = IdStore.of([source.index(word) for word in line] for line in sides[0])
    of_target = IdStore.of([target.index(word) for word in line] for line in sides[1])
    size = len(source) + len(target) + UNSEEN
    return source, target, cooccurrence_vectors(PairStore(of_source, of_target), len(source), size, dimensions, seed)


def test_words_are_more_similar_to_their_translations_than_to_those_of_others() -> None:
    source, target, vectors = count(PAIRS)
    dictionary = [each for each in learn_dictionary(PAIRS) if each[0] in source and each[1] in target]
    of_source = vectors[[source.index(word) for word, _ in dictionary]]
    of_target = vectors[[len(source) + target.index(word) for _, word in dictionary]]
    similarities = of_source @ of_target.T
    best = similarities.argmax(dim=1) == torch.arange(len(dictionary))
    assert len(dictionary) > 20
    assert best.float().mean() > 0.5
    assert similarities.diagonal().mean() > similarities.mean() + 0.3


def test_words_with_the_same_neighbors_are_similar() -> None:
    pairs = [Pair(f"{article} {noun} {verb} sehr oft", str(number)) for number, (article, noun, verb) in enumerate(
        (article, noun, verb) for article in ("der", "ein") for noun in "abcdef" for verb in ("geht", "kommt", "sitzt")
    )]  # fmt: skip
    source, _, vectors = count(pairs)
    nouns = vectors[[source.index(noun) for noun in "abcdef"]]
    verb = vectors[source.index("geht")]
    assert (nouns @ nouns.T).mean() > (nouns @ verb).mean() + 0.3


@pytest.mark.parametrize("dimensions", [7, 32, 1000])
def test_vectors_of_words_have_length_1_and_others_are_zero(dimensions: int) -> None:
    _, _, vectors = count(PAIRS[:50], dimensions=dimensions)
    assert vectors.shape[1] == dimensions
    lengths = vectors.norm(dim=1)
    torch.testing.assert_close(lengths[:-UNSEEN], torch.ones(len(lengths) - UNSEEN))
    assert not vectors[-UNSEEN:].any()


def test_only_the_seed_is_random() -> None:
    before = torch.get_rng_state()
    _, _, first = count(PAIRS[:200])
    _, _, again = count(PAIRS[:200])
    _, _, other = count(PAIRS[:200], seed=2)
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(first, again)
    assert not torch.allclose(first, other, atol=0.1)
    correlation = np.corrcoef((first @ first.T).flatten().numpy(), (other @ other.T).flatten().numpy())[0, 1]
    assert correlation > 0.5, "directions differ, similarities do not"


def test_one_pair_is_enough() -> None:
    _, _, vectors = count([Pair("Hund", "dog")])
    assert vectors.isfinite().all()
