"""Batches to translate contain each sentence once, keep to the limit, and occupy all workers."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engines import EngineRequest
from dragoman.engines.batching import batches_by_length
from dragoman.settings import Decoding
from dragoman.translator import Translator


def batches_of(translator: Translator, lengths: list[int], tokens: int, workers: int) -> list[list[int]]:
    request = EngineRequest(translator.bundle, Decoding(batch_tokens=tokens, beam_size=1), torch.device("cpu"))
    return batches_by_length([[0] * length for length in lengths], request, workers)


@given(lengths=st.lists(st.integers(0, 60), max_size=60), tokens=st.integers(1, 300), workers=st.integers(1, 5))
def test_each_sentence_is_in_a_batch_within_the_limit(
    translator: Translator, lengths: list[int], tokens: int, workers: int
) -> None:
    batches = batches_of(translator, lengths, tokens, workers)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) * (max(lengths[index] for index in batch) + 1) <= tokens or len(batch) == 1
    plain = batches_of(translator, lengths, tokens, 1)
    assert len(plain) <= len(batches) < len(plain) + workers


def test_all_workers_get_as_many_batches(translator: Translator) -> None:
    lengths = [10 + index % 30 for index in range(1000)]
    for workers in (2, 3, 4):
        for tokens in (3000, 5000, 9000):
            assert len(batches_of(translator, lengths, tokens, workers)) % workers == 0
    assert len(batches_of(translator, lengths, 10**6, 4)) == 1
