"""The copy task: the form of the sequences, and splits that do not overlap."""

from __future__ import annotations

import pytest

from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.synthetic.copy_task import copy_sequences
from dragoman.errors import UserError

SIZES = {"train": 12_000, "validation": 200, "test": 1_000}


def test_sequences_are_ten_words_from_1_to_10_and_start_with_1() -> None:
    for split, size in SIZES.items():
        sequences = copy_sequences(split)
        assert len(sequences) == size
        for sequence in sequences:
            words = sequence.split()
            assert len(words) == 10
            assert words[0] == "1"
            assert all(1 <= int(word) <= 10 for word in words)


def test_no_sequence_occurs_twice() -> None:
    everything = [sequence for split in SIZES for sequence in copy_sequences(split)]
    assert len(set(everything)) == len(everything)


def test_the_translation_is_the_sequence() -> None:
    pairs = list(read_corpus("copy:test", source_language="given", target_language="copied"))
    assert [pair.source for pair in pairs] == [pair.target for pair in pairs] == copy_sequences("test")


def test_an_unknown_split_is_rejected_with_the_allowed_ones() -> None:
    with pytest.raises(UserError, match=r"no split 'tests', only train, validation, test; did you mean 'test'"):
        copy_sequences("tests")
