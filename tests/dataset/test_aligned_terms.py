"""Terms of sentence pairs: words that the corpus aligns, with lemmas of their translations."""

from __future__ import annotations

from itertools import islice, pairwise
from random import Random

import pytest

from dragoman.corpus.pair import Pair
from dragoman.corpus.synthetic.captions import captions
from dragoman.dataset.augmentation import MAX_TERMS, TermAligner
from dragoman.lexicon.lemma_pairs import Entry, learn_lexicon
from dragoman.text.lemmas import lemmatizer

PAIRS = [Pair(source, target) for source, target in islice(captions("train"), 400)]
LANGUAGES = "de", "en"


@pytest.fixture(scope="module")
def lexicon() -> list[Entry]:
    return learn_lexicon(PAIRS, LANGUAGES)


def test_the_lexicon_joins_the_forms_of_a_word(lexicon: list[Entry]) -> None:
    entries = {(source, target) for source, target, _ in lexicon}
    assert {("affe", "monkey"), ("abend", "evening")} <= entries
    lemmas = {lemmatizer("de")(word.strip(".,")).lower() for pair in PAIRS for word in pair.source.split()}
    assert {source for source, _ in entries} <= lemmas
    assert ("ein", "a") not in entries  # function words are too frequent
    assert lexicon == learn_lexicon(iter(PAIRS), LANGUAGES)


def test_words_of_pairs_that_do_not_belong_together_are_improbable_translations(lexicon: list[Entry]) -> None:
    targets = [pair.target for pair in PAIRS]
    Random(0).shuffle(targets)
    shuffled = [Pair(pair.source, target) for pair, target in zip(PAIRS, targets, strict=True)]
    chance, total = (sum(score for *_, score in each) for each in (learn_lexicon(shuffled, LANGUAGES), lexicon))
    assert chance < 0.2 * total
    assert learn_lexicon([], LANGUAGES) == []
    assert learn_lexicon([Pair("我喜欢狗。", "I like dogs.")] * 50, ("zh", "en")) == []


def test_each_term_is_in_its_pair(lexicon: list[Entry]) -> None:
    aligner, lemmatize = TermAligner(lexicon, LANGUAGES), lemmatizer("en")
    known = {(source, target) for source, target, _ in lexicon}
    found = 0
    for pair in PAIRS:
        targets = [lemmatize(word.strip(".,")) for word in pair.target.split()]
        for start, end, lemma in aligner.find(pair.source, pair.target):
            found += 1
            assert set(lemma.split()) <= set(targets)
            words = [lemmatizer("de")(word).lower() for word in pair.source[start:end].split()]
            assert all(any((word, other.lower()) in known for other in lemma.split()) for word in words)
            assert not pair.source[start - 1 : start].isalnum()
            assert not pair.source[end : end + 1].isalnum()
    assert found > len(PAIRS)


def test_chosen_terms_do_not_overlap_and_depend_only_on_the_generator(lexicon: list[Entry]) -> None:
    aligner = TermAligner(lexicon, LANGUAGES)
    for pair in PAIRS[:100]:
        chosen = aligner.choose(pair.source, pair.target, Random(1))
        assert 0 < len(chosen) <= MAX_TERMS
        assert set(chosen) <= set(aligner.find(pair.source, pair.target))
        assert all(before.end <= after.start for before, after in pairwise(chosen))
        assert chosen == aligner.choose(pair.source, pair.target, Random(1))
    assert aligner.choose("Ein Hund.", "Nothing.", Random(1)) == []


def test_terms_of_several_words() -> None:
    lexicon = [("festplatte", "hard", 0.3), ("festplatte", "disk", 0.4), ("rot", "red", 0.9), ("jacke", "jacket", 0.9)]
    aligner = TermAligner(lexicon, LANGUAGES)

    def found(source: str, target: str) -> set[tuple[str, str]]:
        return {(source[start:end], lemma) for start, end, lemma in aligner.find(source, target)}

    assert found("Meine Festplatte ist voll", "My hard disk is full") == {("Festplatte", "hard disk")}
    jackets = found("die roten Jacken", "the red jackets")
    assert jackets == {("roten", "red"), ("Jacken", "jacket"), ("roten Jacken", "red jacket")}
    assert ("roten, Jacken") not in {source for source, _ in found("die roten, Jacken", "the red jackets")}
    reverse = TermAligner([(target, source, score) for source, target, score in lexicon], ("en", "de"))
    (term,) = reverse.find("My hard disk is full", "Meine Festplatte ist voll")
    assert (term.start, term.end, term.lemma) == (3, 12, "Festplatte")
