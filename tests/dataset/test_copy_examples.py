"""Examples of copying: the same tokens on both sides, the same words as before, and enough of each token."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.corpus.pair import Pair
from dragoman.corpus.synthetic.captions import captions
from dragoman.dataset.encode import COPY_EXAMPLES, PairEncoder, insert_copies, mask_pairs
from dragoman.dataset.split import Split, TrainingPairs
from dragoman.dataset.tokenizer_training import train_on_split
from dragoman.recipe import build_recipe
from dragoman.settings import Data
from dragoman.system.progress import no_update
from dragoman.system.resumable import grouped, run_blocks
from dragoman.text.masking import ALL_RESERVED, KINDS, Masking

CAPTIONS = [Pair(*texts) for texts in islice(captions("train"), 3000)]
SENTENCES = st.text(st.characters(exclude_characters=ALL_RESERVED), min_size=1)


def reserved(text: str) -> list[str]:
    return [character for character in text if character in KINDS]


@given(source=SENTENCES, target=SENTENCES)
def test_both_sides_get_the_same_tokens_in_the_same_order(source: str, target: str) -> None:
    sides = insert_copies(source, target)
    assert reserved(sides[0]) == reserved(sides[1])
    assert 1 <= len(set(reserved(sides[0]))) == len(reserved(sides[0])) <= 3
    assert sides == insert_copies(source, target)


def test_words_stay_in_their_order_and_final_punctuation_at_the_end() -> None:
    only_spans = 0
    for pair in CAPTIONS[:500]:
        changed = insert_copies(pair.source, pair.target)
        if changed[0] == changed[1]:
            only_spans += 1
            continue
        for before, after in zip((pair.source, pair.target), changed, strict=True):
            words = [word for word in after[:-1].split() if not reserved(word)]
            assert " ".join(words) == before[:-1]
            assert after[-1] == before[-1] == "."
    assert 0 < only_spans < 60


def test_every_token_gets_examples_and_most_pairs_stay_as_they_are() -> None:
    sources, targets = mask_pairs(Masking(), *zip(*((each.source, each.target) for each in CAPTIONS), strict=True))
    changed = [source for source, pair in zip(sources, CAPTIONS, strict=True) if source != pair.source]
    assert len(changed) == pytest.approx(len(CAPTIONS) / COPY_EXAMPLES, rel=0.15)
    assert Counter(map(len, map(reserved, sources))) == Counter(map(len, map(reserved, targets)))
    assert set(reserved("".join(sources))) == set(ALL_RESERVED)


def split_of(pairs: list[Pair]) -> Split:
    return Split(
        len(pairs),
        len(pairs),
        [],
        TrainingPairs(pairs, Data(source_language="de", target_language="en", train=("captions:train",))),
    )


@pytest.mark.parametrize("joint", [True, False])
def test_numbers_of_the_training_text_decide_which_are_masked(joint: bool) -> None:
    generator = random.Random(1)
    pairs = []
    for pair in CAPTIONS[:200]:
        whole, part = generator.randint(10, 99), generator.randint(10, 99)
        pairs.append(Pair(f"{pair.source} {whole}.{part}. %s 1990", f"{pair.target} {whole}/{part} %s 1990"))
    data = {"source_language": "de", "target_language": "en", "train": ["captions:train"]}
    text = {"placeholders": True, "vocabulary_size": 400, "joint": joint}
    model = {"tie": "all" if joint else "target"}
    recipe = build_recipe({"name": "x", "data": data, "text": text, "model": model, "training": {"steps": 1}})
    source, target = train_on_split(recipe, split_of(pairs), no_update)
    masking = source.masking
    assert masking is not None
    assert masking == target.masking
    assert masking.numbers_as_text == {"0.0"}
    assert (source is target) == joint
    encoded = PairEncoder(source, target, 128).encode(pairs)
    for side, tokenizer in ((encoded.source, source), (encoded.target, target)):
        for index in range(len(side)):
            assert len(reserved("".join(tokenizer.vocabulary.tokens[each] for each in side[index]))) == 2


def test_several_processes_mask_like_one() -> None:
    data = {"source_language": "de", "target_language": "en", "train": ["captions:train"]}
    text = {"placeholders": True, "vocabulary_size": 400}
    recipe = build_recipe({"name": "x", "data": data, "text": text, "training": {"steps": 1}})
    pairs = [Pair(f"{pair.source} %s", f"%s {pair.target}") for pair in CAPTIONS[:50]] + CAPTIONS[50:100]
    encoder = PairEncoder(*train_on_split(recipe, split_of(pairs), no_update), 128)
    for block in run_blocks(encoder.encode, grouped(pairs, 20), processes=2):
        expected = encoder.encode(block.items)
        assert block.result.source.ids.tolist() == expected.source.ids.tolist()
        assert block.result.target.ids.tolist() == expected.target.ids.tolist()
