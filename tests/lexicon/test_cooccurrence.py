"""Vectors of tokens from counts of the training text."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.corpus.pair import Pair
from dragoman.corpus.synthetic.captions import captions
from dragoman.dataset.token_store import PairStore
from dragoman.lexicon import cooccurrence
from dragoman.lexicon.cooccurrence import Side, cooccurrence_vectors, weigh_neighbors, weigh_pairs
from dragoman.lexicon.dictionary import learn_dictionary
from dragoman.text.id_store import IdStore

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


def side(*sentences: list[int]) -> Side:
    """The tokens of sentences, as the counts read them."""
    places = [number for number, sentence in enumerate(sentences) for _ in sentence]
    return np.array([token for sentence in sentences for token in sentence], np.int64), np.array(places, np.int64)


def test_rare_tokens_count_more_and_pairs_have_length_1() -> None:
    weights = weigh_pairs([side([0, 1, 1], [0, 2]), side([3], [3])], 2, 5).to_dense()
    assert torch.equal(weights > 0, torch.tensor([[0, 0], [1, 0], [0, 1], [0, 0], [0, 0]]) > 0), (
        "0 and 3 are everywhere"
    )
    torch.testing.assert_close(weights.norm(dim=0), torch.ones(2))
    weights = weigh_pairs([side([0, 1], [1], [2]), side([], [], [])], 3, 3).to_dense()
    assert (weights[0, 0] / weights[1, 0]).item() == pytest.approx(np.log(3) / np.log(3 / 2))


def test_neighbors_are_compared_with_chance_on_their_side() -> None:
    """Two of six neighbors are 0 and 1; by chance, there would be 3 / 6 times 3."""
    first = side([0, 1], [0, 1], [0, 2], [3, 1], [3, 2], [3, 2])
    weights = weigh_neighbors([first, side([0, 1])], 4).to_dense()
    assert weights[0, 1].item() == pytest.approx(np.log(2 / (3 * 3 / 6)))
    assert weights[1, 4 + 0].item() == weights[0, 1].item(), "to the left, as to the right"
    assert weights[0, 2] == weights[3, 1] == 0, "less often than by chance"
    assert torch.equal(weights, torch.cat([weigh_neighbors([first], 4).to_dense(), torch.zeros(4, 16)], 1)), (
        "one pair of neighbors of the other side is no more frequent than by chance"
    )


def test_only_some_of_much_text_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = sum(len(text.split()) for pair in PAIRS for text in (pair.source, pair.target))
    monkeypatch.setattr(cooccurrence, "COUNTED_TOKENS", tokens // 10)
    source, target, vectors = count(PAIRS)
    counted = int(vectors.any(dim=1).sum())
    assert len(source + target) / 10 < counted < len(source + target)


def test_words_of_a_shared_vocabulary_have_one_vector() -> None:
    ids = IdStore.of([[1, 2], [2, 3], [1, 3]])
    vectors = cooccurrence_vectors(PairStore(ids, ids), 0, 5, 8, 1)
    assert vectors.any(dim=1).tolist() == [False, True, True, True, False]


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
