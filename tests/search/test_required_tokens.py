"""Every search finds hypotheses with the required tokens, and their numbers stay those of the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from lookup import (
    BOS,
    LookupTask,
    Task,
    TransformerTask,
    assert_same,
    constraints,
    log_probabilities_of,
)

from dragoman.search.decode import decode
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.logits_processors import RequiredTokens
from dragoman.settings import Decoding

LIMIT = 8
RESERVED = [3, 4]
COUNTS = [{}, {3: 1}, {4: 1}, {3: 1, 4: 1}, {3: 2}, {3: 2, 4: 1}, {3: 4, 4: 3}, {4: 2}]
SEARCHES: list[dict[str, Any]] = [
    {"beam_size": 1},
    {"beam_size": 4, "n_best": 3},
    {"sampling": True, "n_best": 2},
    {"mbr_samples": 3},
    {"beam_size": 3, "min_length": 2},
    {"beam_size": 3, "no_repeat_ngram": 2},
    {"beam_size": 1, "no_repeat_ngram": 2},
]


@pytest.fixture(scope="module", params=[LookupTask, TransformerTask])
def task(request: pytest.FixtureRequest) -> Task:
    made: Task = request.param()
    return made


def search(task: Task, settings: Decoding, indices: list[int], limit: int = LIMIT) -> list[list[Hypothesis]]:
    required = RequiredTokens.of(RESERVED, [COUNTS[index] for index in indices], torch.device("cpu"))
    limits = replace(constraints([limit] * len(indices)), required=required)
    return decode(task, torch.tensor(indices), settings, limits, keys=indices)


@pytest.mark.parametrize("settings", SEARCHES, ids=str)
def test_hypotheses_contain_exactly_the_required_tokens(task: Task, settings: dict[str, Any]) -> None:
    everything = list(range(len(COUNTS)))
    for counts, hypotheses in zip(COUNTS, search(task, Decoding(**settings), everything), strict=True):
        assert hypotheses
        for hypothesis in hypotheses:
            assert {each: hypothesis.tokens.count(each) for each in RESERVED} == dict.fromkeys(RESERVED, 0) | counts
            assert BOS not in hypothesis.tokens


@pytest.mark.parametrize("settings", SEARCHES, ids=str)
def test_batches_do_not_matter(task: Task, settings: dict[str, Any]) -> None:
    together = search(task, Decoding(**settings), list(range(len(COUNTS))))
    for index, hypotheses in enumerate(together):
        (alone,) = search(task, Decoding(**settings), [index])
        assert_same(hypotheses, alone)


def test_log_probabilities_are_those_of_the_model(task: Task) -> None:
    for beam_size in (1, 3):
        found = search(task, Decoding(beam_size=beam_size), list(range(len(COUNTS))))
        for sentence, (best,) in enumerate(found):
            assert best.log_probabilities == pytest.approx(log_probabilities_of(task, sentence, best.tokens), abs=1e-5)


def test_the_maximum_length_is_kept_if_it_is_too_short(task: Task) -> None:
    for (hypothesis,) in search(task, Decoding(beam_size=2), list(range(len(COUNTS))), limit=3):
        assert len(hypothesis.tokens) < 3


def test_a_hypothesis_that_would_end_is_continued_with_a_missing_token() -> None:
    required = RequiredTokens.of([3, 4], [{3: 1}, {}], torch.device("cpu"))
    logits = torch.tensor([[0.0, 9.0, 1.0, 0.5, 2.0], [0.0, 9.0, 1.0, 0.5, 2.0], [0.0, 1.0, 9.0, 0.5, 2.0]])
    tokens, limits = torch.tensor([[2], [2], [2]]), torch.tensor([9, 9, 9])
    restricted = required.restrict(logits, tokens, torch.tensor([0, 1, 0]), limits, eos=1)
    allowed = [row.isfinite().nonzero()[:, 0].tolist() for row in restricted]
    assert allowed == [[3], [0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize("limit", range(2, 7))
def test_missing_tokens_are_forced_only_when_the_rest_of_the_length_is_theirs(limit: int) -> None:
    required = RequiredTokens.of([3, 4], [{3: 2}], torch.device("cpu"))
    logits, tokens = torch.tensor([[0.0, 1.0, 9.0, 0.5, 2.0]]), torch.tensor([[2]])
    (row,) = required.restrict(logits, tokens, torch.tensor([0]), torch.tensor([limit]), eos=1)
    room = limit - tokens.shape[1] - 1  # without eos
    assert row.isfinite().nonzero()[:, 0].tolist() == ([3] if room <= 2 else [0, 2, 3])
