"""Which pairs are learnt from."""

from __future__ import annotations

from itertools import pairwise

import pytest

from dragoman.corpus.pair import Corpus, Pair
from dragoman.dataset.split import TrainingText, choose_held_out, evenly, without

PAIRS = [Pair(f"s{index}" * (index % 5), f"t{index}" * (1 + index % 7)) for index in range(97)]


@pytest.mark.parametrize("limit", [1, 2, 50, 96, 97, 98, 1000])
def test_a_sample_is_as_large_as_it_may_be_and_evenly_spread(limit: int) -> None:
    sample = list(evenly(PAIRS, len(PAIRS), limit))
    assert len(sample) == min(limit, len(PAIRS))
    places = [PAIRS.index(pair) for pair in sample]
    gaps = {after - before for before, after in pairwise([-1, *places])}
    assert max(gaps) - min(gaps) <= 1


def test_text_is_read_anew_each_time_without_blank_long_and_held_out_pairs() -> None:
    corpus = Corpus("numbers", lambda: iter(PAIRS))
    text = TrainingText([corpus, corpus], max_characters=9)
    complete = [pair for pair in PAIRS if pair.source]
    short = [pair for pair in complete if max(len(pair.source), len(pair.target)) < 9]
    assert 0 < len(short) < len(complete) < len(PAIRS)
    assert list(text.complete()) == complete * 2
    assert list(text) == list(text) == short * 2
    held = TrainingText([corpus, corpus], max_characters=9, held_out=[short[3]])
    assert list(held) == list(without([short[3]], short)) * 2
    assert len(list(held)) == 2 * (len(short) - 1)


def test_no_more_than_a_tenth_is_held_out() -> None:
    assert [len(choose_held_out(number, 20, seed=1)) for number in (5, 100, 200, 1000)] == [1, 10, 20, 20]
    chosen = choose_held_out(1000, 20, seed=1)
    assert chosen == sorted(set(chosen))
    assert chosen != choose_held_out(1000, 20, seed=2)
