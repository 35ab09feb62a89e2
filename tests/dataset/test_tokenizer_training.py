"""What the tokenizers of a recipe are trained on."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from dragoman.corpus.pair import Pair
from dragoman.dataset.split import split_pairs
from dragoman.dataset.tokenizer_training import sample_evenly, train_on_split, with_capitals
from dragoman.system.progress import no_update
from dragoman.text.registry import load_tokenizer

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


@pytest.mark.parametrize(
    ("languages", "lowercase", "is_known"),
    [(("de", "en"), False, True), (("de", "tr"), False, False), (("de", "en"), True, False)],
)
def test_the_usual_case_of_words_is_counted(
    languages: tuple[str, str], lowercase: bool, is_known: bool, make_recipe: RecipeMaker
) -> None:
    source, target = languages
    settings = f"data.source_language={source}", f"data.target_language={target}", f"text.lowercase={lowercase}".lower()
    recipe = make_recipe("text.placeholders=true", "text.vocabulary_size=400", *settings)
    pairs = [Pair(f"Der Hund {index} läuft nicht.", f"The dog {index} does not run.") for index in range(97)]
    for tokenizer in train_on_split(recipe, split_pairs(pairs, recipe.data, 1, no_update), no_update):
        masking = load_tokenizer(tokenizer.to_json()).masking
        assert masking
        assert (masking.case is not None) == is_known
        text = masking.mask("DER HUND {A} LÄUFT NICHT.")
        assert text.text == ("Der Hund \ufdd0 läuft nicht." if is_known else "DER HUND \ufdd0 LÄUFT NICHT.")
        assert text.restore("A dog: \ufdd0") == ("A DOG: {A}" if is_known else "A dog: {A}")


def test_tokenizers_see_as_many_capital_letters_as_training(make_recipe: RecipeMaker) -> None:
    pairs = PAIRS * 20
    assert list(with_capitals(pairs, make_recipe())) == pairs
    recipe = make_recipe("training.augmentation.upper_case=0.2", "training.augmentation.title_case=0.3")
    changed = list(with_capitals(pairs, recipe))
    assert changed == list(with_capitals(pairs, recipe))
    assert [pair.source.lower() for pair in changed] == [pair.source for pair in pairs]
    upper = sum(pair.source.isupper() and pair.target.isupper() for pair in changed)
    title = sum(pair.source.istitle() and pair.target.istitle() for pair in changed)
    assert upper == pytest.approx(0.2 * len(pairs), rel=0.15)
    assert title == pytest.approx(0.3 * len(pairs), rel=0.15)


def test_symbols_that_training_text_lacks_are_copied(make_recipe: RecipeMaker) -> None:
    """The tokenizers know the characters of the sources, without those of masked spans, also after a restart."""
    recipe = make_recipe("text.placeholders=true", "text.vocabulary_size=400")
    pairs = [Pair(f"Das kostet {number} Euro, 5 %, siehe {{a&b}}.", "It is 5 %, see {a&b}.") for number in range(97)]
    source, target = train_on_split(recipe, split_pairs(pairs, recipe.data, 1, no_update), no_update)
    for tokenizer in (source, target, load_tokenizer(source.to_json())):
        masking = tokenizer.masking
        assert masking is not None
        assert list(masking.mask("Äpfel & 50 % Euro: 5").spans.values()) == ["Äpfel", "&", ":", "5"]
