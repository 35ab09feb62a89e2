"""Which pairs are trained on, and which are held out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.corpus.pair import Pair
from dragoman.dataset.split import HeldOutText, Split, TrainingPairs, choose_held_out, split_pairs
from dragoman.errors import UserError
from dragoman.settings import Data
from dragoman.system.progress import no_update
from dragoman.system.resumable import Entry

if TYPE_CHECKING:
    from conftest import RecipeMaker

PAIRS = [Pair(f"s{index % 50}" * (1 + index % 5), f"t{index % 70}" * (1 + index % 7)) for index in range(97)]


@pytest.fixture
def data(make_recipe: RecipeMaker) -> Data:
    return make_recipe("data.validation=[]", "data.validation_pairs=5", "data.max_characters=18").data


def is_shorter(pair: Pair, limit: int) -> bool:
    return max(len(pair.source), len(pair.target)) < limit


def share_a_side(pairs: list[Pair], others: list[Pair]) -> bool:
    sources, targets = {pair.source for pair in others}, {pair.target for pair in others}
    return any(pair.source in sources or pair.target in targets for pair in pairs)


def test_training_pairs_can_be_read_repeatedly(data: Data) -> None:
    data = data.model_copy(update={"max_characters": 9})
    short = [pair for pair in PAIRS if is_shorter(pair, 9)]
    assert 0 < len(short) < len(PAIRS)
    text = TrainingPairs(PAIRS, data)
    assert list(text) == list(text) == short
    rest = TrainingPairs(PAIRS, data, held_out=[short[3]])
    assert list(rest) == list(rest) == [pair for pair in short if pair not in HeldOutText([short[3]])]
    assert 0 < len(list(rest)) < len(short)


@pytest.mark.parametrize("block", [1, 7, 20, 1000])
def test_at_most_a_tenth_is_held_out(block: int, data: Data) -> None:
    data = data.model_copy(update={"validation_pairs": 20, "validation_block": block})
    for number, expected in ((5, 1), (100, 10), (200, 20), (1000, 20)):
        chosen = choose_held_out(number, data, seed=1)
        assert chosen == sorted(set(chosen))
        assert set(chosen) <= set(range(number))
        assert len(chosen) == expected or number < 2 * block, "the last block, which is short, is not the only one"
        assert expected - block < len(chosen) <= expected
        assert block > 1 or len(chosen) == expected


def test_the_seed_decides_which_blocks_are_held_out(data: Data) -> None:
    blocks = data.model_copy(update={"validation_pairs": 100, "validation_block": 10})
    chosen, other = (choose_held_out(2000, blocks, seed) for seed in (1, 2))
    assert chosen != other
    starts = chosen[::10]
    assert chosen == [start + offset for start in starts for offset in range(10)]
    assert all(start % 10 == 0 for start in starts)


def test_blocks_are_separated_from_training_by_more_than_punctuation(data: Data) -> None:
    pairs = [Pair(f"Satz {number}", f"sentence {number}") for number in range(100)]
    variants = [Pair(f"satz {number}!", f"Something else {number}") for number in range(100)]
    for block, kept in ((1, 190), (2, 180)):
        split = split_pairs(
            [*pairs, *variants],
            data.model_copy(update={"validation_block": block, "validation_pairs": 10, "max_characters": None}),
            1,
            no_update,
        )
        assert len(split.held_out) == 10
        assert len(list(split.training)) == kept


def test_held_out_pairs_share_no_side_with_training(data: Data) -> None:
    split = split_pairs(PAIRS, data, 1, no_update)
    short = [pair for pair in PAIRS if is_shorter(pair, 18)]
    training = list(split.training)
    assert (split.read, split.short, len(split.held_out)) == (len(PAIRS), len(short), 5)
    assert not share_a_side(training, split.held_out)
    assert all(pair in training or share_a_side([pair], split.held_out) for pair in short)
    assert len(training) <= split.at_most == len(short) - 5


@pytest.mark.parametrize("ignore_punctuation", [False, True])
def test_held_out_text_is_recognized_if_it_looks_the_same(ignore_punctuation: bool) -> None:
    held_out, others = [Pair("Ein Bär.", "A bear.")], [Pair("Ein Bar.", "A bar.")]
    sources = ["Ein  Bär. ", "Ein Ba\u0308r.", "Ein B\u00adär.", "Ein Ba\u200b\u0308r."]
    targets = ["A\u00a0bear.", "A\u200b bear.", "\ufeffA bear."]
    same = [*(Pair(text, "It.") for text in sources), *(Pair("Es.", text) for text in targets)]
    text = HeldOutText(held_out, ignore_punctuation)
    assert [pair for pair in [*same, *others] if pair not in text] == others


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("ខ្ញុំ​ជា​គ្រូ", "ខ្ញុំជាគ្រូ"),
        ("น้ำเย็น", "น้ํ​าเย็น"),
        ("ＡＢＣ１２", "ABC12"),
        ("ｶﾒﾗ", "カメラ"),
        ("ﻻ", "لا"),
        ("می‌رود", "میرود"),
        ("❤️ da", "❤ da"),
        ("ﬁnden", "finden"),
    ],
)
def test_held_out_text_is_recognized_in_other_characters(text: str, other: str) -> None:
    for one, two in ((text, other), (other, text)):
        assert Pair("Es.", one) in HeldOutText([Pair("Ein Hund.", two)])


def test_the_seed_decides_what_is_held_out(data: Data) -> None:
    first, again, other = (split_pairs(PAIRS, data, seed, no_update) for seed in (1, 1, 2))
    assert first == again
    assert first.held_out != other.held_out


def test_nothing_is_held_out_if_there_is_a_validation_corpus(make_recipe: RecipeMaker) -> None:
    split = split_pairs(PAIRS, make_recipe().data, 1, no_update)
    assert split.held_out == []
    assert list(split.training) == PAIRS


def test_a_saved_split_is_loaded_as_it_was(data: Data, tmp_path: Path) -> None:
    split = split_pairs(PAIRS, data, 1, no_update)
    assert Split.load(Entry(tmp_path, split.save(tmp_path)), PAIRS, data) == split


@pytest.mark.parametrize("pairs", [[], [Pair("s", "t")], [Pair("s", "t")] * 50, [Pair("long " * 9, "t")] * 50])
def test_pairs_that_leave_nothing_to_train_on_are_refused(pairs: list[Pair], data: Data) -> None:
    """Nothing at all, one pair to hold out, only copies of the held-out pair, only long ones."""
    with pytest.raises(UserError, match=f"data.train: {len(pairs)} pairs?, too few"):
        split_pairs(pairs, data, 1, no_update)
