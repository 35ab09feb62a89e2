"""What the tokenizers of a recipe are trained on."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dragoman.corpus.find import Pair
from dragoman.dataset.split import split_pairs
from dragoman.dataset.tokenizer_training import load_tokenizers, sample_evenly, save_tokenizers, train_on_split
from dragoman.system.progress import no_update

if TYPE_CHECKING:
    from conftest import RecipeMaker

PAIRS = [Pair(f"wort{index} eins zwei", f"word{index} one two") for index in range(97)]


@pytest.mark.parametrize("size", [1, 2, 50, 96, 97])
def test_a_sample_has_the_size_asked_for_and_is_evenly_spread(size: int) -> None:
    sample = list(sample_evenly(PAIRS, len(PAIRS), size))
    assert len(sample) == size
    places = [PAIRS.index(pair) for pair in sample]
    gaps = {after - before for before, after in pairwise([-1, *places])}
    assert max(gaps) - min(gaps) <= 1


@pytest.mark.parametrize("number", [97, 98, 1000])
def test_a_sample_of_all_pairs_is_complete_though_their_number_is_an_upper_bound(number: int) -> None:
    assert list(sample_evenly(PAIRS, number, number)) == PAIRS


def test_subwords_are_trained_on_a_sample_and_words_on_all_pairs(make_recipe: RecipeMaker) -> None:
    def vocabulary(*overrides: str) -> list[str]:
        recipe = make_recipe("text.vocabulary_size=330", *overrides)
        return train_on_split(recipe, split_pairs(PAIRS, recipe.data, 1, no_update), no_update)[0].vocabulary.tokens

    assert vocabulary("text.subword_pairs=40") != vocabulary("text.subword_pairs=97") == vocabulary()
    words = "text.tokenizer=whitespace"
    assert vocabulary(words, "text.subword_pairs=40") == vocabulary(words)


@pytest.mark.parametrize("joint", ["true", "false"])
def test_saved_tokenizers_are_loaded_as_they_were(joint: str, make_recipe: RecipeMaker, tmp_path: Path) -> None:
    recipe = make_recipe("text.tokenizer=whitespace", f"text.joint={joint}", "model.tie=target")
    trained = train_on_split(recipe, split_pairs(PAIRS, recipe.data, 1, no_update), no_update)
    save_tokenizers(tmp_path, trained)
    loaded = load_tokenizers(tmp_path)
    assert [tokenizer.to_json() for tokenizer in loaded] == [tokenizer.to_json() for tokenizer in trained]
    assert (loaded[0].to_json() == loaded[1].to_json()) == (joint == "true")
