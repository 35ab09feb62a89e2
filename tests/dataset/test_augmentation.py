"""Augmented pairs: decided by seed, epoch and index alone, in the shares of the settings, never too long."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from preparation import prepare_dataset, treat_as_large

from dragoman.dataset.augmentation import KINDS, WRONG_TERMS, PairAugmenter, TermAligner
from dragoman.dataset.prepare import Dataset
from dragoman.text.term_marks import TERM_MARKS

if TYPE_CHECKING:
    from conftest import RecipeMaker

TOKENS = ("text.placeholders=true", "text.terms=true")
ALL = (*TOKENS, *(f"training.augmentation.{kind}=0.125" for kind in KINDS))
Pairs = list[tuple[list[int], list[int]]]


@pytest.fixture(scope="module")
def data(make_recipe: RecipeMaker) -> Dataset:
    """The tiny corpus, with a dictionary and a lexicon."""
    return prepare_dataset(make_recipe(*ALL))


def originals(data: Dataset) -> Pairs:
    return [(data.train.source[index].tolist(), data.train.target[index].tolist()) for index in range(len(data.train))]


def changed(augmenter: PairAugmenter, indices: Any, epoch: int = 0) -> Pairs:
    pairs = augmenter.change(np.array(indices), epoch)
    return [
        (list(map(int, source)), list(map(int, target)))
        for source, target in zip(pairs.source, pairs.target, strict=True)
    ]


def test_neither_order_nor_groups_matter(data: Dataset, make_recipe: RecipeMaker) -> None:
    order = np.random.default_rng(1).permutation(len(data.train))
    whole = changed(PairAugmenter(make_recipe(*ALL), data), np.arange(len(order)), 3)
    other = PairAugmenter(make_recipe(*ALL), data)
    for start in range(0, len(order), 7):
        indices = order[start : start + 7]
        assert changed(other, indices, 3) == [whole[index] for index in indices]


def test_epochs_and_seeds_differ(data: Dataset, make_recipe: RecipeMaker) -> None:
    augmenter, indices = PairAugmenter(make_recipe(*ALL), data), np.arange(len(data.train))
    other_seed = PairAugmenter(make_recipe(*ALL, "training.seed=2"), data)
    before = originals(data)
    versions = [changed(augmenter, indices), changed(augmenter, indices, 1), changed(other_seed, indices)]
    unchanged = [{index for index in indices if version[index] == before[index]} for version in versions]
    for index, same in enumerate(unchanged):
        assert 0.15 < len(same) / len(indices) < 0.4
        for other in unchanged[:index]:
            assert len(same & other) < 0.5 * len(same), "other pairs are changed"


@pytest.mark.parametrize("kind", KINDS)
def test_each_setting_changes_its_share(kind: str, data: Dataset, make_recipe: RecipeMaker) -> None:
    indices, before = np.arange(len(data.train)), originals(data)
    for share in (0.0, 0.3, 1.0):
        augmenter = PairAugmenter(make_recipe(*TOKENS, f"training.augmentation.{kind}={share}"), data)
        after = changed(augmenter, indices)
        different = np.mean([one != other for one, other in zip(after, before, strict=True)])
        possible = np.mean(data.matches >= 0) if kind == "fuzzy_matches" and data.matches is not None else 1
        assert possible * share - 0.1 <= different <= possible * share + 0.1
        if kind in ("typos", "terms"):
            assert [target for _, target in after] == [target for _, target in before]
        if kind == "terms":
            sources = [data.source.text_ids(source) for source, _ in after]
            assert [data.source.decode(source) for source in sources] == [data.source.decode(one) for one, _ in before]
        if kind == "fuzzy_matches":
            assert all(new == old or new[1] == old[1] for new, old in zip(after, before, strict=True))
            assert all(new[0][: len(old[0])] == old[0] for new, old in zip(after, before, strict=True))
        if kind == "single_words" and share == 1.0:
            words = {(data.source.decode(source), data.target.decode(target)) for source, target in after}
            assert words <= set(data.dictionary)
            assert len(words) > 0.8 * len(data.dictionary)


def given_lemmas(data: Dataset, source: list[int]) -> list[str]:
    """The translations of the terms that are marked in a source."""
    _, before, after = (data.source.vocabulary.ids[mark] for mark in TERM_MARKS)
    starts, ends = ([place for place, token in enumerate(source) if token == mark] for mark in (before, after))
    return [data.source.decode(source[start:end]) for start, end in zip(starts, ends, strict=True)]


def test_some_marked_terms_are_those_of_other_pairs(data: Dataset, make_recipe: RecipeMaker) -> None:
    augmenter = PairAugmenter(make_recipe(*TOKENS, "training.augmentation.terms=1"), data)
    after = changed(augmenter, np.arange(len(data.train)))
    aligner = TermAligner(data.lexicon, ("de", "en"))
    possible = [
        {term.lemma for term in aligner.find(data.source.decode(source), data.target.decode(target))}
        for source, target in originals(data)
    ]
    given = [given_lemmas(data, source) for source, _ in after]
    fits = [lemma in right for lemmas, right in zip(given, possible, strict=True) for lemma in lemmas]
    assert len(fits) > 0.9 * len(after)
    assert 0.5 * WRONG_TERMS < 1 - np.mean(fits) < 1.2 * WRONG_TERMS  # that of another pair may be right by chance
    assert {lemma for lemmas in given for lemma in lemmas} <= set().union(*possible)


@pytest.mark.parametrize("overrides", [(), ("data.max_tokens=24",)], ids=str)
def test_no_pair_is_longer_than_planned(overrides: tuple[str, ...], make_recipe: RecipeMaker) -> None:
    recipe = make_recipe(*ALL, *overrides)
    data = prepare_dataset(recipe)
    augmenter = PairAugmenter(recipe, data)
    for epoch in range(3):
        planned = list(zip(*augmenter.lengths(epoch), strict=True))
        pairs = changed(augmenter, np.arange(len(data.train)), epoch)
        exact = 0
        for lengths, pair in zip(planned, pairs, strict=True):
            assert all(1 < len(side) + 1 <= length for side, length in zip(pair, lengths, strict=True))
            assert max(map(len, pair)) <= recipe.data.max_tokens
            exact += all(len(side) + 1 == length for side, length in zip(pair, lengths, strict=True))
        assert exact > 0.6 * len(pairs)


def test_without_a_dictionary_no_pair_is_replaced(prepared: Dataset, make_recipe: RecipeMaker) -> None:
    augmenter = PairAugmenter(make_recipe("training.augmentation.single_words=1"), prepared)
    assert changed(augmenter, np.arange(50)) == originals(prepared)[:50]


def test_a_corpus_on_disk_is_changed_like_one_in_memory(
    data: Dataset, make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    treat_as_large(monkeypatch, tmp_path)
    recipe = make_recipe(*ALL)
    large = prepare_dataset(recipe)
    assert large.train.maps
    found = [changed(PairAugmenter(recipe, each), np.arange(len(data.train)), 2) for each in (data, large)]
    assert found[0] == found[1]
