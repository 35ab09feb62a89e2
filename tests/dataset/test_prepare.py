"""From corpora to ids: what is held out, what is left out, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.corpus.pair import Pair
from dragoman.dataset.prepare import Prepared, hold_out, prepare, read_pairs
from dragoman.errors import UserError
from dragoman.settings import Recipe

if TYPE_CHECKING:
    from conftest import RecipeMaker


def prepare_quietly(recipe: Recipe) -> Prepared:
    return prepare(recipe, None, None, lambda text: None)


def texts(prepared: Prepared) -> list[tuple[str, str]]:
    """The training pairs that the ids spell."""
    source, target, train = prepared.source, prepared.target, prepared.train
    return [
        (source.decode(train.source[index].tolist()), target.decode(train.target[index].tolist()))
        for index in range(len(train))
    ]


@pytest.fixture(scope="module")
def pairs(make_recipe: RecipeMaker) -> list[Pair]:
    data = make_recipe().data
    return read_pairs(data.train, data, None)


def test_ids_spell_the_training_pairs(prepared: Prepared, pairs: list[Pair], corpus: Path) -> None:
    assert texts(prepared) == [(pair.source, pair.target) for pair in pairs]
    assert [pair.target for pair in prepared.validation] == (corpus / "validation.en").read_text().splitlines()
    assert prepared.dropped == 0


@pytest.mark.parametrize(("wanted", "held"), [(7, 7), (1000, 40)])
def test_validation_pairs_are_held_out_of_training(
    wanted: int, held: int, make_recipe: RecipeMaker, pairs: list[Pair]
) -> None:
    prepared = prepare_quietly(make_recipe("data.validation=[]", f"data.validation_pairs={wanted}"))
    assert len(prepared.validation) == held, "as many as asked for, but no more than a tenth"
    sources, targets = (set(side) for side in zip(*texts(prepared), strict=True))
    assert not sources & {pair.source for pair in prepared.validation}
    assert not targets & {pair.target for pair in prepared.validation}
    assert {*texts(prepared)} | {(pair.source, pair.target) for pair in prepared.validation} == {
        (pair.source, pair.target) for pair in pairs
    }


def test_held_out_pairs_share_no_side_with_training() -> None:
    pairs = [Pair(f"s{index % 50}", f"t{index % 70}") for index in range(100)]
    kept, held = hold_out(pairs, 5, seed=1)
    assert len(held) == 5
    assert not {pair.source for pair in kept} & {pair.source for pair in held}
    assert not {pair.target for pair in kept} & {pair.target for pair in held}
    assert hold_out(pairs, 5, seed=1) == (kept, held)
    assert hold_out(pairs, 5, seed=2) != (kept, held)


def test_long_pairs_are_left_out_and_counted(make_recipe: RecipeMaker, pairs: list[Pair]) -> None:
    longest = max(len(text) for pair in pairs for text in (pair.source, pair.target))
    short = prepare_quietly(make_recipe(f"data.max_characters={longest}"))
    assert 0 < short.dropped < len(pairs)
    assert len(short.train) + short.dropped == len(pairs)
    assert all(len(source) < longest and len(target) < longest for source, target in texts(short))

    few = prepare_quietly(make_recipe("data.max_tokens=15"))
    assert 0 < few.dropped < len(pairs)
    assert max(few.train.source.lengths.max(), few.train.target.lengths.max()) == 15


def test_pairs_with_a_blank_side_are_skipped(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    (tmp_path / "x.de").write_text("eins\n\nzwei\n \ndrei\n")
    (tmp_path / "x.en").write_text("one\ntwo\n\t\n\nthree\n")
    recipe = make_recipe(f'data.train=["{tmp_path}/x.{{lang}}"]')
    assert texts(prepare_quietly(recipe)) == [("eins", "one"), ("drei", "three")]


def test_given_tokenizers_are_used(make_recipe: RecipeMaker, prepared: Prepared) -> None:
    given = prepared.source, prepared.target
    again = prepare(make_recipe("text.vocabulary_size=300"), None, given, lambda text: None)
    assert (again.source, again.target) == given


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("data.max_characters=2", "data.train: 400 pairs are too few"),
        ("data.max_tokens=1", "data.max_tokens = 1: no training pair"),
        ("text.vocabulary_size=100", "text.vocabulary_size = 100"),
    ],
)
def test_settings_that_leave_nothing_are_refused(override: str, message: str, make_recipe: RecipeMaker) -> None:
    with pytest.raises(UserError, match=message):
        prepare_quietly(make_recipe(override))


def test_validation_without_a_whole_pair_is_refused(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    (tmp_path / "halves.tsv").write_text("eins\t\n\ttwo\n")
    with pytest.raises(UserError, match=r"data\.validation: no pair has text on both sides"):
        prepare_quietly(make_recipe(f'data.validation=["{tmp_path}/halves.tsv"]'))


def test_one_pair_is_too_few_to_train_and_validate_on(make_recipe: RecipeMaker, tmp_path: Path) -> None:
    (tmp_path / "one.tsv").write_text("eins\tone\n")
    with pytest.raises(UserError, match="1 pairs are too few"):
        prepare_quietly(make_recipe(f'data.train=["{tmp_path}/one.tsv"]', "data.validation=[]"))
