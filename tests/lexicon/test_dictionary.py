"""The dictionary that is learned from sentence pairs."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from dragoman.corpus.pair import Pair
from dragoman.corpus.synthetic.captions import captions
from dragoman.lexicon.dictionary import learn_dictionary

WORDS = {"Hund": "dog", "Katze": "cat", "Haus": "house", "Baum": "tree", "rennt": "runs", "schläft": "sleeps"}


def sentences(number: int, seed: int = 1) -> list[Pair]:
    """Sentences of some words in another order, with words around them that are always the same."""
    generator, words = random.Random(seed), list(WORDS)
    pairs = []
    for _ in range(number):
        chosen = generator.sample(words, 2)
        source, target = " ".join(chosen), " ".join(WORDS[word] for word in reversed(chosen))
        pairs.append(Pair(f"Ja, der {source} ist da.", f"Yes, the {target} is here!"))
    return pairs


def test_words_that_translate_each_other_are_found() -> None:
    assert dict(learn_dictionary(sentences(200))).items() >= WORDS.items()


def test_unrelated_sides_have_no_dictionary() -> None:
    targets = [pair.target for pair in sentences(200, seed=2)]
    shuffled = [Pair(pair.source, target) for pair, target in zip(sentences(200), targets, strict=True)]
    assert not set(learn_dictionary(shuffled)) & set(WORDS.items())


def test_rare_words_and_text_without_words_have_no_entries() -> None:
    assert learn_dictionary([]) == []
    assert learn_dictionary([Pair("1 2 3", "?"), Pair("...", "")] * 10) == []
    assert learn_dictionary([Pair("Ein Hund", "A dog")]) == []


def test_languages_without_spaces_have_no_dictionary() -> None:
    pairs = [Pair(pair.source, "狗在这里 NBA" + pair.target[:4]) for pair in sentences(100)]
    assert learn_dictionary(pairs) == []
    assert learn_dictionary([Pair(pair.target, pair.source) for pair in pairs]) == []


def test_words_are_spelled_as_inside_of_sentences() -> None:
    loud = [Pair(pair.source.upper(), pair.target.upper()) for pair in sentences(50)]
    assert dict(learn_dictionary([*sentences(200), *loud])).items() >= WORDS.items()


@pytest.mark.parametrize("number", [400, 3000])
def test_the_same_text_has_the_same_dictionary_without_punctuation(number: int) -> None:
    pairs = [Pair(*texts) for texts in islice(captions("train"), number)]
    found = learn_dictionary(pairs)
    assert found == learn_dictionary(iter(pairs))
    assert len(found) >= 20
    assert len({source for source, _ in found}) == len({target for _, target in found}) == len(found)
    for words in found:
        assert all(word.replace("-", "").replace("'", "").replace("’", "").isalpha() for word in words)
        source, target = (word.lower() for word in words)
        assert sum(source in pair.source.lower() and target in pair.target.lower() for pair in pairs) >= 3
