"""Corpora whose sources are marked: one token at the start, which no text contains, in every epoch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from preparation import prepare_dataset, treat_as_large

from dragoman.dataset.augmentation import KINDS, PairAugmenter
from dragoman.dataset.prepare import Dataset
from dragoman.doctor.data.cleaned_text import clean_data
from dragoman.errors import UserError
from dragoman.recipe import build_recipe
from dragoman.system.progress import no_log
from dragoman.training.loop.batches import BatchStream
from dragoman.training.loop.progress import Progress

if TYPE_CHECKING:
    from dragoman.settings import Recipe

KINDS_OF_TEXT = ["text.tokenizer=bpe", "text.tokenizer=unigram", "text.tokenizer=whitespace", "text.placeholders=true"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def make_tagged(recipe_document: dict[str, Any], corpus: Path) -> Any:
    """Makes recipes with two corpora, the second of which may be tagged."""

    def make(*overrides: str, tagged: bool = True) -> Recipe:
        entries = [f"{corpus}/train.{{lang}}", {"corpus": f"{corpus}/test.{{lang}}", "tagged": tagged}]
        return build_recipe(recipe_document | {"data": recipe_document["data"] | {"train": entries}}, overrides)

    return make


def sources(data: Dataset) -> list[list[int]]:
    return [data.train.source[index].tolist() for index in range(len(data.train))]


@pytest.mark.parametrize("text", KINDS_OF_TEXT)
@pytest.mark.parametrize("large", [False, True])
def test_the_tag_is_one_token_at_the_start_of_the_source(
    text: str, large: bool, make_tagged: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        treat_as_large(monkeypatch, tmp_path)
    override = (text, "text.vocabulary_size=500")
    tagged, plain = prepare_dataset(make_tagged(*override)), prepare_dataset(make_tagged(*override, tagged=False))
    tag = tagged.source.vocabulary.bos
    expected = [[tag] * (index >= 400) + ids for index, ids in enumerate(sources(plain))]
    assert sources(tagged) == expected
    assert np.array_equal(tagged.train.target.ids, plain.train.target.ids)
    assert tagged.source.to_json() == plain.source.to_json()
    texts = [tagged.source.decode(ids) for ids in sources(tagged)]
    assert texts == [plain.source.decode(ids) for ids in sources(plain)]


def test_no_text_is_encoded_as_the_tag(prepared: Dataset) -> None:
    tag = prepared.source.vocabulary.specials.bos
    ids = prepared.source.encode([tag, f"{tag} Hund", f" {tag}{tag}"])
    assert prepared.source.vocabulary.bos not in {index for each in ids for index in each}


@pytest.mark.parametrize("kind", KINDS)
def test_augmentation_keeps_the_tag(kind: str, make_tagged: Any) -> None:
    marks = ("text.placeholders=true", "text.terms=true")
    recipe = make_tagged(*marks, f"training.augmentation.{kind}=1", "data.max_tokens=50")
    data = prepare_dataset(recipe)
    tag, pairs = data.source.vocabulary.bos, np.arange(len(data.train))
    augmenter = PairAugmenter(recipe, data)
    after = [list(map(int, ids)) for ids in augmenter.change(pairs, 0).source]
    single = kind == "single_words"  # which replaces pairs
    assert [ids[0] == tag for ids in after] == [tag in ids and not single for ids in sources(data)]
    separators = int(kind == "fuzzy_matches")  # between the source and the translation of a similar one
    assert all(ids[1:].count(tag) <= separators and len(ids) > 1 for ids in after if ids[0] == tag)
    assert all(len(ids) + 1 <= length for ids, length in zip(after, augmenter.lengths(0)[0], strict=True))
    assert max(map(len, after)) <= 50
    marked = [(ids[1:], other[1:]) for ids, other in zip(after, sources(data), strict=True) if ids[0] == tag]
    least = 0 if kind in ("terms", "fuzzy_matches") else 0.5 * len(marked)  # many pairs have no term and no match
    assert len(marked) > 6 or single
    assert single or sum(one != other for one, other in marked) > least


def test_bpe_dropout_keeps_the_tag(make_tagged: Any) -> None:
    recipe = make_tagged("text.bpe_dropout=0.5")
    data = prepare_dataset(recipe)
    stream = BatchStream(recipe, data, Progress())
    tag, marked = data.source.vocabulary.bos, 0
    while stream.epoch == 0:
        for group in [group for batch in stream.next_step() for group in batch]:
            is_marked = group.source == tag
            marked += int(is_marked.sum())
            assert not is_marked[:, 1:].any()
    assert marked > 0


@pytest.mark.parametrize("seed", range(3))
def test_tagged_pairs_are_not_held_out(seed: int, make_tagged: Any) -> None:
    recipe = make_tagged("data.validation=[]", "data.validation_pairs=40", f"training.seed={seed}")
    tagged_first = recipe.data.model_copy(update={"train": recipe.data.train[::-1]})
    data = prepare_dataset(recipe.model_copy(update={"data": tagged_first}))
    assert len(data.validation) == 40
    tag = data.source.vocabulary.bos
    assert sum(tag in ids for ids in sources(data)) == 30


def test_tagged_text_alone_needs_validation_text(make_tagged: Any) -> None:
    recipe = make_tagged("data.validation=[]")
    tagged = recipe.data.model_copy(update={"train": recipe.data.train[1:]})
    with pytest.raises(UserError, match=r"data\.validation: name some text"):
        prepare_dataset(recipe.model_copy(update={"data": tagged}))


def test_cleaned_corpora_keep_their_tag(make_tagged: Any) -> None:
    recipe = make_tagged("data.test=[]")
    cleaned, copy = clean_data(recipe.data.model_copy(update={"clean": True}), None, no_log)
    assert copy is not None
    assert [each.tagged for each in cleaned.weighted] == [False, True]
