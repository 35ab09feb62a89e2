"""The index finds what comparing with all sentences finds."""

from __future__ import annotations

import random
from itertools import islice

import pytest
from rapidfuzz.distance import Levenshtein

from dragoman.corpus.synthetic.captions import captions
from dragoman.lexicon.match_index import MIN_SCORE, FoundSentence, MatchIndex
from dragoman.text.id_store import IdStore

Sentences = list[list[int]]


@pytest.fixture(scope="module")
def sentences() -> Sentences:
    """Captions, by the numbers of their words."""
    words: dict[str, int] = {}
    sources = [source for source, _ in islice(captions("train"), 3000)]
    return [[words.setdefault(word, len(words)) for word in source.split()] for source in sources]


@pytest.fixture(scope="module")
def index(sentences: Sentences) -> MatchIndex:
    return MatchIndex(IdStore.of(sentences))


def compare_with_all(text: list[int], sentences: Sentences) -> FoundSentence | None:
    """The most similar sentence that is not equal."""
    scores = [Levenshtein.normalized_similarity(text, other) for other in sentences]
    found = [FoundSentence(i, score) for i, score in enumerate(scores) if sentences[i] != text]
    best = max(found, key=lambda each: (each.score, -each.index))
    return best if best.score >= MIN_SCORE else None


def changed(text: list[int], generator: random.Random) -> list[int]:
    """The text with some tokens lost, added or replaced; some of them are unknown."""
    words = [token for token in text if generator.random() < 0.9]
    return [generator.randrange(5000) if generator.random() < 0.3 else token for token in words] or text


def test_the_most_similar_sentence_is_found(sentences: Sentences, index: MatchIndex) -> None:
    generator = random.Random(1)
    for text in generator.sample(sentences, 100):
        for query in (text, changed(text, generator)):
            found = index.find(query, lambda other, query=query: sentences[other] == query)  # type: ignore[misc]
            expected = compare_with_all(query, sentences)
            assert (found and found.score) == (expected and expected.score)
            if found:
                assert found.score == Levenshtein.normalized_similarity(query, sentences[found.index])
                assert sentences[found.index] != query


def test_short_and_unknown_texts(index: MatchIndex, sentences: Sentences) -> None:
    assert index.find([999_999]) is None
    assert index.find(sentences[0]) == FoundSentence(sentences.index(sentences[0]), 1.0)
    small = MatchIndex(IdStore.of([[], [7], [7, 8]]))
    assert small.find([7]) == FoundSentence(1, 1.0)
    assert small.find([7], lambda index: index == 1) == FoundSentence(2, 0.5)
    small.find([])


def test_limits_leave_the_most_similar_sentences(
    sentences: Sentences, index: MatchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few places and few comparisons, most matches are still found."""
    queries = [changed(text, random.Random(2)) for text in sentences[::50]]
    expected = [index.find(query) for query in queries]
    monkeypatch.setattr("dragoman.lexicon.match_index.READ_PLACES", 200)
    monkeypatch.setattr("dragoman.lexicon.match_index.COMPARED", 5)
    found = [index.find(query) for query in queries]
    same = sum((one and one.score) == (other and other.score) for one, other in zip(found, expected, strict=True))
    assert same > 0.7 * len(queries)
