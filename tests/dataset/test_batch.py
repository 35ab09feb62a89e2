"""Batches: with bos, eos and padding as the model expects; counts are without padding."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.dataset.batch import make_batch, pad, take_rows
from dragoman.dataset.token_store import PairStore
from dragoman.settings import Specials
from dragoman.text.id_store import IdStore
from dragoman.text.vocabulary import Vocabulary, special_tokens

SOURCES = [[7, 8, 9], [5], [], [6, 6, 6, 6, 6], [9, 4]]
TARGETS = [[4, 5], [6, 7, 8, 9], [5], [7, 7], [8, 8, 8]]
SOURCE = Vocabulary([*special_tokens(Specials()), *"abcdef"], Specials())
TARGET = Vocabulary([*reversed(special_tokens(Specials())), *"ghijkl"], Specials())  # other ids than the source's
INDICES = [[0, 1, 2, 3, 4], [3, 0], [2], [4, 4]]


@pytest.fixture
def pairs() -> PairStore:
    return PairStore(IdStore.of(SOURCES), IdStore.of(TARGETS))


def without(row: torch.Tensor, padding: int) -> list[int]:
    """A row before its padding, of which there is none inside."""
    ids: list[int] = row.tolist()
    length = ids.index(padding) if padding in ids else len(ids)
    assert set(ids[length:]) <= {padding}
    return ids[:length]


@pytest.mark.parametrize("indices", INDICES)
def test_sentences_are_framed_and_padded(pairs: PairStore, indices: list[int]) -> None:
    batch = make_batch(pairs, np.array(indices), SOURCE, TARGET)
    for row, index in enumerate(indices):
        assert without(batch.source[row], SOURCE.pad) == [*SOURCES[index], SOURCE.eos]
        assert without(batch.target_input[row], TARGET.pad) == [TARGET.bos, *TARGETS[index]]
        assert without(batch.target_output[row], TARGET.pad) == [*TARGETS[index], TARGET.eos]


@pytest.mark.parametrize("indices", INDICES)
def test_shapes_are_those_of_the_longest(pairs: PairStore, indices: list[int]) -> None:
    batch = make_batch(pairs, np.array(indices), SOURCE, TARGET)
    assert batch.source.shape == (len(indices), 1 + max(len(SOURCES[index]) for index in indices))
    assert batch.target_input.shape == (len(indices), 1 + max(len(TARGETS[index]) for index in indices))
    assert batch.target_output.shape == batch.target_input.shape
    assert batch.padded_tokens == batch.source.numel() + batch.target_input.numel()
    assert {batch.source.dtype, batch.target_input.dtype, batch.target_output.dtype} == {torch.int64}


@pytest.mark.parametrize("indices", INDICES)
def test_output_is_the_input_shifted_by_one(pairs: PairStore, indices: list[int]) -> None:
    batch = make_batch(pairs, np.array(indices), SOURCE, TARGET)
    real = batch.target_input[:, 1:] != TARGET.pad
    assert torch.equal(batch.target_output[:, :-1][real], batch.target_input[:, 1:][real])


@pytest.mark.parametrize("indices", INDICES)
def test_tokens_are_counted_without_padding(pairs: PairStore, indices: list[int]) -> None:
    batch = make_batch(pairs, np.array(indices), SOURCE, TARGET)
    assert batch.source_tokens == int((batch.source != SOURCE.pad).sum())
    assert batch.target_tokens == int((batch.target_output != TARGET.pad).sum())
    assert batch.target_tokens == int((batch.target_input != TARGET.pad).sum())


@pytest.mark.parametrize("rows", [slice(0, 2), slice(1, 3), slice(2, 3), slice(4, 5), slice(0, 5)])
def test_rows_of_a_batch_are_the_batch_of_these_pairs(pairs: PairStore, rows: slice) -> None:
    indices = np.arange(5)
    taken = take_rows(make_batch(pairs, indices, SOURCE, TARGET), rows, SOURCE.pad, TARGET.pad)
    expected = make_batch(pairs, indices[rows], SOURCE, TARGET)
    for name in ("source", "target_input", "target_output"):
        assert torch.equal(getattr(taken, name), getattr(expected, name))
    assert (taken.source_tokens, taken.target_tokens) == (expected.source_tokens, expected.target_tokens)


def test_no_rows_are_a_token_without_a_target(pairs: PairStore) -> None:
    taken = take_rows(make_batch(pairs, np.arange(5), SOURCE, TARGET), slice(0), SOURCE.pad, TARGET.pad)
    assert taken.source.shape == taken.target_input.shape == (1, 1)
    assert taken.target_output.tolist() == [[TARGET.pad]]
    assert (taken.source_tokens, taken.target_tokens) == (0, 0)


def test_another_device_holds_the_same(pairs: PairStore) -> None:
    batch = make_batch(pairs, np.array([0, 1]), SOURCE, TARGET)
    moved = batch.to(torch.device("meta"))
    assert {moved.source.device.type, moved.target_input.device.type, moved.target_output.device.type} == {"meta"}
    assert moved.source.shape == batch.source.shape
    assert (moved.source_tokens, moved.target_tokens, moved.padded_tokens) == (
        batch.source_tokens,
        batch.target_tokens,
        batch.padded_tokens,
    )


@pytest.mark.parametrize(("first", "last"), [(None, None), (1, None), (None, 2), (1, 2)])
def test_padding_frames_with_the_ids_given(first: int | None, last: int | None) -> None:
    rows = pad(SOURCES, first=first, last=last, pad=0).tolist()
    frame = ([] if first is None else [first], [] if last is None else [last])
    expected = [[*frame[0], *sentence, *frame[1]] for sentence in SOURCES]
    longest = max(map(len, expected))
    assert rows == [sentence + [0] * (longest - len(sentence)) for sentence in expected]


def test_stores_return_what_they_were_given(pairs: PairStore) -> None:
    assert len(pairs) == len(pairs.source) == len(SOURCES)
    assert [pairs.source[index].tolist() for index in range(len(SOURCES))] == SOURCES
    assert pairs.target.lengths.tolist() == [len(target) for target in TARGETS]
    assert len(IdStore.of([])) == 0
