"""Training pairs with matches: similar, but never the pair itself, an equal source or a held-out pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from preparation import contents, kinds, prepare_dataset, treat_as_large
from rapidfuzz.distance import Levenshtein

from dragoman.dataset.prepare import Dataset
from dragoman.dataset.token_store import PairStore
from dragoman.errors import UserError
from dragoman.lexicon.fuzzy_matches import FuzzyMatches, find_matches
from dragoman.lexicon.match_context import MatchContext
from dragoman.lexicon.match_index import MIN_SCORE
from dragoman.system.progress import no_update
from dragoman.text.id_store import IdStore

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RecipeMaker

SETTINGS = ("training.augmentation.fuzzy_matches=0.5", "text.placeholders=true", "data.validation=[]")


@pytest.fixture(scope="module")
def data(make_recipe: RecipeMaker) -> Dataset:
    return prepare_dataset(make_recipe(*SETTINGS))


def matches_of(data: Dataset) -> list[int]:
    assert data.matches is not None
    found: list[int] = data.matches.tolist()
    return found


def test_matches_are_similar_and_not_equal(data: Dataset) -> None:
    matches = matches_of(data)
    assert 0.1 < np.mean([match >= 0 for match in matches]) < 1
    for index, match in enumerate(matches):
        if match >= 0:
            one, other = (data.train.source[each].tolist() for each in (index, match))
            assert match != index
            assert one != other
            assert not np.array_equal(data.train.target[index], data.train.target[match]), "the answer"
            numbered = map(MatchContext(data.source).number_spans, (one, other))
            assert Levenshtein.normalized_similarity(*numbered) >= MIN_SCORE


def test_another_translation_of_the_source_is_never_a_match(data: Dataset) -> None:
    """Data diversification makes (S', T) and (S, T') of (S, T)."""
    one, other = [9, 10, 11, 12, 13], [9, 10, 11, 12, 14]
    targets = [20, 21, 22], [20, 21, 23]
    made = PairStore(IdStore.of([one, other, one]), IdStore.of([targets[0], targets[0], targets[1]]))
    assert find_matches(made, data.source, no_update).tolist() == [-1, -1, -1]
    without_original = PairStore(IdStore.of([other, one]), IdStore.of(targets))
    assert find_matches(without_original, data.source, no_update).tolist() == [1, 0]


def test_the_mark_of_tagged_pairs_makes_no_other_source(data: Dataset) -> None:
    one, other, mark = [9, 10, 11, 12, 13], [9, 10, 11, 12, 14], data.source.vocabulary.bos
    targets = [[20, 21, number] for number in (22, 23, 24, 25)]
    equal = PairStore(IdStore.of([one, [mark, *one]]), IdStore.of(targets[:2]))
    assert find_matches(equal, data.source, no_update).tolist() == [-1, -1]
    similar = PairStore(IdStore.of([one, other, [mark, *one], [mark, *other]]), IdStore.of(targets))
    assert find_matches(similar, data.source, no_update).tolist() == [1, 0, 1, 0]


def test_many_copies_do_not_hide_what_is_only_similar(data: Dataset) -> None:
    one, other, copies = [9, 10, 11, 12, 13], [9, 10, 11, 12, 14], 6000
    targets = [[20, 21 + number] for number in range(copies + 1)]
    made = PairStore(IdStore.of([*[one] * copies, other]), IdStore.of(targets))
    found = find_matches(made, data.source, no_update)
    assert set(found[:copies].tolist()) == {copies}
    assert found[copies] == 0


def test_held_out_text_is_never_a_match(data: Dataset) -> None:
    """Only training pairs are searched, and those share no side with a held-out pair."""
    assert data.validation
    held_out = {pair.target for pair in data.validation}
    for match in filter(lambda match: match >= 0, matches_of(data)):
        assert data.target.decode(data.train.target[match].tolist()) not in held_out


def test_a_match_that_makes_a_source_too_long_is_left_out(data: Dataset) -> None:
    assert data.matches is not None
    found = FuzzyMatches(data.train, data.matches, data.source, limit=128)
    lengths = [len(found.source(index)) for index in range(len(data.train))]
    assert all(length <= planned for length, planned in zip(lengths, found.lengths.tolist(), strict=True))
    limit = int(np.median(lengths))
    limited = FuzzyMatches(data.train, data.matches, data.source, limit)
    for index in range(len(data.train)):
        source, alone = list(limited.source(index)), data.train.source[index].tolist()
        fits = found.lengths[index] <= limit
        assert source == (list(found.source(index)) if fits else alone)
        assert source == alone or len(source) <= limit


def test_of_many_pairs_some_are_searched_and_some_get_a_match(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.lexicon.fuzzy_matches.SEARCHED", 100)
    monkeypatch.setattr("dragoman.lexicon.fuzzy_matches.WITH_MATCH", 50)
    found = find_matches(data.train, data.source, no_update)
    assert 0 < np.count_nonzero(found >= 0) <= 50
    assert len(set(found[found >= 0].tolist())) <= 100


def test_a_large_corpus_has_the_same_matches_and_keeps_them(
    data: Dataset, make_recipe: RecipeMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = treat_as_large(monkeypatch, tmp_path)
    large = prepare_dataset(make_recipe(*SETTINGS))
    assert contents(large) == contents(data)
    assert matches_of(large) == matches_of(data)
    assert "matches" in kinds(home)
    monkeypatch.setattr("dragoman.dataset.prepare.find_matches", None)
    assert matches_of(prepare_dataset(make_recipe(*SETTINGS))) == matches_of(data)


def test_a_vocabulary_for_each_language_is_refused(make_recipe: RecipeMaker) -> None:
    with pytest.raises(UserError, match=r"fuzzy_matches needs text\.joint"):
        make_recipe(*SETTINGS, "text.joint=false", "model.tie=target")
