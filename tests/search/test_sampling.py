"""Sampling: the probabilities of the model as the settings shape them, reproducible from the seed."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import pytest
import torch
from lookup import BOS, EOS, WORDS, LookupTask, assert_same, beam, decode_with, greedy, log_probabilities_of, score_of

from dragoman.search.decode import Sampler, decode
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.logits_processors import Constraints
from dragoman.settings import Decoding

DRAWS = 5000


def found(sentences: list[int], max_lengths: list[int], **decoding: Any) -> list[list[Hypothesis]]:
    """What these decoding settings find with the lookup model."""
    return decode_with(LookupTask(), sentences, max_lengths, Decoding.model_validate(decoding))


def shaped(logits: list[float], temperature: float = 1.0, top_k: int = 4, top_p: float = 1.0) -> dict[int, float]:
    """The probability of each token: a power, then the k likeliest, then those until p is reached."""
    powers = {token: math.exp(logits[token] / temperature) for token in (EOS, *WORDS)}
    likeliest = sorted(powers, key=lambda token: -powers[token])[:top_k]
    total = sum(powers[token] for token in likeliest)
    chosen: dict[int, float] = {}
    for token in likeliest:
        if sum(chosen.values()) < top_p:
            chosen[token] = powers[token] / total
    return {token: share / sum(chosen.values()) for token, share in chosen.items()}


def probability(sentence: int, tokens: tuple[int, ...], max_length: int, **options: Any) -> float:
    """Of a whole hypothesis; eos is certain at the limit."""
    result = 1.0
    for length, token in enumerate((*tokens, EOS)[: max_length - 1]):
        result *= shaped(LookupTask().logits(sentence, tokens[:length]), **options).get(token, 0.0)
    return result


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"temperature": 0.5},
        {"temperature": 2.0},
        {"top_k": 2},
        {"top_p": 0.7},
        {"temperature": 2.0, "top_k": 3, "top_p": 0.8},
    ],
    ids=str,
)
@pytest.mark.parametrize("sentence", [0, 1])
def test_frequencies_are_probabilities(sentence: int, options: dict[str, Any]) -> None:
    """Pearson's chi-square over all hypotheses of at most two words stays within five deviations of its mean."""
    (drawn,) = found([sentence], [3], sampling=True, n_best=DRAWS, **options)
    counts = Counter(tuple(each.tokens) for each in drawn)
    hypotheses = [words for length in range(3) for words in product(WORDS, repeat=length)]
    expected = {words: DRAWS * probability(sentence, words, 3, **options) for words in hypotheses}
    assert sum(expected.values()) == pytest.approx(DRAWS)
    possible = {words: count for words, count in expected.items() if count}
    assert counts.keys() <= possible.keys()
    statistic = sum((counts[words] - count) ** 2 / count for words, count in possible.items())
    freedom = len(possible) - 1
    assert statistic < freedom + 5 * math.sqrt(2 * freedom)


def test_the_seed_decides() -> None:
    sentences, limits = list(range(6)), [8] * 6
    draw = [found(sentences, limits, sampling=True, n_best=3, seed=seed) for seed in (1, 1, 2)]
    assert draw[0] == draw[1]
    assert draw[0] != draw[2]


def test_the_callers_random_numbers_play_no_part() -> None:
    torch.manual_seed(1)
    first = found([0, 1], [8, 8], sampling=True)
    after = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(1), after)
    assert found([0, 1], [8, 8], sampling=True) == first


@pytest.mark.parametrize("options", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}], ids=str)
def test_sharpest_sampling_is_greedy(options: dict[str, Any]) -> None:
    sentences, limits = list(range(8)), [5] * 8
    samples = [best for (best,) in found(sentences, limits, sampling=True, **options)]
    assert [each.tokens for each in samples] == [each.tokens for each in greedy(LookupTask(), sentences, limits)]


@pytest.mark.parametrize("options", [{}, {"top_k": 2}, {"top_p": 0.7}], ids=str)
def test_samples_are_scored_by_the_model(options: dict[str, Any]) -> None:
    """Which tokens may be drawn does not change what the model thinks of them, forced ends included."""
    drawn = found([0, 1, 2], [3, 3, 3], sampling=True, n_best=20, length_penalty=0.6, **options)
    for sentence, samples in enumerate(drawn):
        assert [each.score for each in samples] == sorted((each.score for each in samples), reverse=True)
        for each in samples:
            expected = log_probabilities_of(LookupTask(), sentence, each.tokens)
            assert each.log_probabilities == pytest.approx(expected, abs=1e-5)
            assert each.score == pytest.approx(score_of(expected, 0.6), abs=1e-5)


def test_each_sentence_keeps_to_its_own_limit() -> None:
    limits = [1, 5, 2, 3]
    drawn = found([0, 1, 2, 3], limits, sampling=True, n_best=40)
    assert [max(len(each.log_probabilities) for each in samples) for samples in drawn] == limits


@pytest.mark.parametrize("beam_size", [1, 4])
def test_settings_reach_the_search(beam_size: int) -> None:
    sentences, limits = list(range(6)), [6] * 6
    ours = found(sentences, limits, beam_size=beam_size, n_best=beam_size, length_penalty=0.6)
    theirs = beam(LookupTask(), sentences, beam_size, limits, n_best=beam_size, alpha=0.6)
    for our, their in zip(ours, theirs, strict=True):
        assert_same(our, their)


@pytest.mark.parametrize(
    "options", [{"beam_size": 1}, {"beam_size": 4, "n_best": 4}, {"sampling": True, "n_best": 50}], ids=str
)
@pytest.mark.parametrize("forbidden", [(0,), (0, 3), (0, 2, 4)])
def test_forbidden_ids_never_appear(forbidden: tuple[int, ...], options: dict[str, Any]) -> None:
    settings, limited = Decoding.model_validate(options), Constraints(BOS, EOS, forbidden, torch.full((8,), 5))
    results = decode(LookupTask(), torch.arange(8), settings, limited)
    produced = {token for hypotheses in results for each in hypotheses for token in each.tokens}
    assert produced == set(WORDS) - set(forbidden)


@pytest.mark.parametrize("number", [0.0, 1.0])
def test_extreme_random_numbers_choose_tokens_that_can_be_chosen(number: float) -> None:
    sampler = Sampler(Decoding(sampling=True), [0, 1], torch.tensor([3, 3]))
    sampler.numbers = torch.full((2, 3), number, dtype=torch.float64)
    logits = torch.tensor([[-math.inf, 1.0, 2.0, 0.5]] * 2)
    assert sampler.draw(logits, torch.zeros(2, 1, dtype=torch.int64), [0, 1]).tolist() == [3 if number else 1] * 2


def test_no_sentences_need_no_random_numbers() -> None:
    assert Sampler(Decoding(sampling=True), [], torch.zeros(0, dtype=torch.int64)).numbers.numel() == 0
