"""The shortlist of a training text: it has nearly all tokens of the references, and few others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dragoman.dataset import shortlist_learning
from dragoman.dataset.prepare import prepare
from dragoman.dataset.shortlist_learning import CANDIDATES, learn_shortlist

if TYPE_CHECKING:
    from conftest import RecipeMaker
    from dragoman.dataset.prepare import Dataset


def covered(dataset: Dataset, chosen: range) -> tuple[float, float]:
    """The share of the target tokens that are possible, and the mean share of the vocabulary that is."""
    shortlist = learn_shortlist(dataset.train, dataset.source, dataset.target)
    found, sizes = [], []
    for index in chosen:
        possible = set(shortlist.always.tolist()).union(*map(shortlist.of, dataset.train.source[index].tolist()))
        found += [token in possible for token in dataset.train.target[index].tolist()]
        sizes.append(len(possible) / len(dataset.target.vocabulary))
    return float(np.mean(found)), float(np.mean(sizes))


def test_references_are_possible(prepared: Dataset, make_recipe: RecipeMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortlist_learning, "FREQUENT", 10)
    share, size = covered(prepared, range(200))
    assert share > 0.98
    assert size < 0.7
    joint = prepare(make_recipe("text.placeholders=true", "text.vocabulary_size=450"), None, None, print)
    assert covered(joint, range(200))[0] > 0.98


def test_special_tokens_and_copies_are_always_possible(prepared: Dataset) -> None:
    source, target = prepared.source.vocabulary, prepared.target.vocabulary
    shortlist = learn_shortlist(prepared.train, prepared.source, prepared.target)
    always = set(shortlist.always.tolist())
    assert always >= set(target.special_ids)
    for index, token in enumerate(source.tokens):
        candidates = shortlist.of(index)
        assert len(set(candidates)) == len(candidates) <= CANDIDATES
        assert not always & set(candidates)
        if token in target.ids:
            assert target.ids[token] in always | set(candidates)
