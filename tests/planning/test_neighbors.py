"""Similar neighbors are noticed in text in its original order, and not once the same lines are shuffled."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import pytest

from dragoman.corpus.corpus import read_corpus
from dragoman.planning.text_facts import NeighborSimilarity


@pytest.mark.parametrize("name", ["tatoeba-hi-en", "libreoffice-de-en", "europarl-20k-de-en", "wmt-news-de-en"])
def test_documents_have_similar_neighbors(name: str, data_directory: Path) -> None:
    source, target = name.split("-")[-2:]
    pairs = read_corpus(f"{name}:train", source_language=source, target_language=target, data_directory=data_directory)
    texts = [pair.source for pair in islice(pairs, 5000)]
    assert is_similar(texts)
    random.Random(1).shuffle(texts)
    assert not is_similar(texts)


def test_scripts_without_spaces_have_similar_neighbors_too() -> None:
    generator = random.Random(1)
    characters = [chr(code) for code in range(0x4E00, 0x5E00)]
    topics = [generator.sample(characters, 8) for _ in range(300)]
    lines = [
        "".join(generator.sample(topic, 6) + generator.sample(characters, 6)) for topic in topics for _ in range(5)
    ]
    assert is_similar(lines)
    generator.shuffle(lines)
    assert not is_similar(lines)


@pytest.mark.parametrize("texts", [[], ["one line"], ["same line"] * 50, ["a", "b", "c"]])
def test_a_few_lines_are_not_similar(texts: list[str]) -> None:
    assert not is_similar(texts)


def is_similar(texts: list[str]) -> bool:
    similarity = NeighborSimilarity()
    similarity.add(texts)
    return similarity.similar
