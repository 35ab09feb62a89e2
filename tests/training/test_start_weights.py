"""Weights that are copied from a bundle into a model with the same or another vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.corpus.synthetic.captions import captions
from dragoman.errors import UserError
from dragoman.model.build import build_model
from dragoman.recipe import build_recipe
from dragoman.settings import Text
from dragoman.text.masking import ALL_RESERVED
from dragoman.text.registry import train_tokenizers
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.loop.state import copy_start_weights, mix_start_weights, rows_of_tokens
from dragoman.training.run.run_data import check_start_fits

SIZES = {"d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1}
SOURCES, TARGETS = zip(*islice(captions("train"), 200), strict=True)


def tokenizers(sources: Sequence[str] = SOURCES, **text: Any) -> tuple[Tokenizer, Tokenizer]:
    languages = {"source_language": "de", "target_language": "en"}
    return train_tokenizers(sources, TARGETS, Text(vocabulary_size=500, **text), **languages)


def bundle_of(pair: tuple[Tokenizer, Tokenizer], **model: Any) -> Bundle:
    """A bundle with random weights."""
    document = {
        "name": "old",
        "data": {"source_language": "de", "target_language": "en", "train": ["x.tsv"], "max_tokens": 9},
        "text": {"joint": model.get("tie", "all") == "all"},
        "model": SIZES | {"max_length": 20} | model,
        "training": {"steps": 1},
    }
    recipe = build_recipe(document)
    sizes = len(pair[0].vocabulary), len(pair[1].vocabulary)
    built = build_model(recipe.model, *sizes, source_pad=1, seed=5)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.add_(0.1)  # biases and gains have other values than in a new model
    return Bundle(recipe, built, *pair)


def started(old: Bundle, pair: tuple[Tokenizer, Tokenizer], seed: int = 1) -> Any:
    sizes = len(pair[0].vocabulary), len(pair[1].vocabulary)
    model = build_model(old.recipe.model, *sizes, source_pad=1, seed=seed)
    copy_start_weights(old, model, *pair)
    return model


@pytest.mark.parametrize(
    "variant",
    [{"tie": "all"}, {"tie": "target"}, {"tie": "none", "output_bias": True}, {"positions": "learned", "norm": "post"}],
)
def test_with_the_same_vocabulary_all_weights_are_copied(variant: dict[str, Any]) -> None:
    pair = tokenizers(joint=variant.get("tie", "all") == "all")
    old = bundle_of(pair, **variant)
    new = started(old, pair)
    assert all(torch.equal(one, other) for one, other in zip(old.model.parameters(), new.parameters(), strict=True))


def test_a_model_with_fewer_layers_gets_the_first_ones() -> None:
    pair = tokenizers(joint=True)
    old = bundle_of(pair, encoder_layers=2, decoder_layers=3)
    changes = {"encoder_layers": 1, "decoder_layers": 2}
    shape = old.recipe.model.model_copy(update=changes)
    new = build_model(shape, len(pair[0].vocabulary), len(pair[1].vocabulary), source_pad=1, seed=1)
    copy_start_weights(old, new, *pair)
    assert all(torch.equal(value, old.model.get_parameter(name)) for name, value in new.named_parameters())
    smaller = old.recipe.model_copy(update={"model": shape})
    check_start_fits(smaller, old.recipe, "old")
    mixed = smaller.model_copy(update={"training": smaller.training.model_copy(update={"start_share": 0.5})})
    with pytest.raises(UserError, match=r"fewer layers need training.start_share = 0"):
        check_start_fits(mixed, old.recipe, "old")
    with pytest.raises(UserError, match=r"model.decoder_layers: 3 in the recipe, 2 in the bundle"):
        check_start_fits(old.recipe, smaller, "old")


def test_shared_tokens_keep_their_embeddings_and_others_get_the_mean_of_their_pieces() -> None:
    old_pair = tokenizers(placeholders=True)
    old = bundle_of(old_pair)
    new_pair = tokenizers([f"{text} Grundstücksverkehrsgenehmigung" for text in SOURCES], placeholders=True)
    new = started(old, new_pair)
    before, after = old.model.target_embedding.weight, new.target_embedding.weight
    ids, tokens = old_pair[0].vocabulary.ids, new_pair[0].vocabulary.tokens
    shared = [token for token in tokens if token in ids]
    assert {"<s>", "<0x41>", ALL_RESERVED[3], *shared} < set(tokens)
    for token in shared:
        assert torch.equal(after[new_pair[0].vocabulary.ids[token]], before[ids[token]])
    whole = next(token for token in tokens if token == "▁Grundstücksverkehrsgenehmigung")
    (pieces,) = old_pair[0].encode(["Grundstücksverkehrsgenehmigung"])
    expected = before[pieces].mean(0)
    torch.testing.assert_close(after[new_pair[0].vocabulary.ids[whole]], expected)
    assert torch.equal(new.encoder[0].attention.qkv.weight, old.model.encoder_layers[0].attention.qkv.weight)


def test_special_tokens_are_found_by_their_meaning() -> None:
    old, new = tokenizers(), tokenizers(specials={"bos": "[BOS]", "eos": "[EOS]", "unk": "[UNK]", "pad": "[PAD]"})
    rows = rows_of_tokens(new[0], old[0])
    found = [rows[index] for index in new[0].vocabulary.special_ids]
    assert found == [[index] for index in old[0].vocabulary.special_ids]


def test_what_the_old_vocabulary_cannot_spell_stays_random() -> None:
    old, new = tokenizers(byte_fallback=False), tokenizers(placeholders=True)
    rows = rows_of_tokens(new[0], old[0])
    ids = new[0].vocabulary.ids
    assert rows[ids[ALL_RESERVED[0]]] == rows[ids["<0xF0>"]] == []
    first, second = (started(bundle_of(old), new, seed).source_embedding.weight for seed in (1, 2))
    assert not torch.equal(first[ids["<0xF0>"]], second[ids["<0xF0>"]])
    assert not torch.equal(first[ids[ALL_RESERVED[0]]], first[ids[ALL_RESERVED[1]]])


def test_mixed_weights_are_between_both_and_new_tokens_keep_theirs() -> None:
    old, pair = bundle_of(tokenizers(byte_fallback=False)), tokenizers(placeholders=True)
    sizes = len(pair[0].vocabulary), len(pair[1].vocabulary)
    trained, mixed = (build_model(old.recipe.model, *sizes, source_pad=1, seed=3) for _ in range(2))
    mix_start_weights(old, mixed, *pair, 0.25)
    start = started(old, pair)
    attention = next(name for name, _ in trained.named_parameters() if name.endswith("attention.qkv.weight"))
    expected = 0.75 * trained.get_parameter(attention) + 0.25 * start.get_parameter(attention)
    torch.testing.assert_close(mixed.get_parameter(attention), expected)
    for index, ids in enumerate(rows_of_tokens(pair[0], old.source)):
        before, other = trained.source_embedding.weight[index], start.source_embedding.weight[index]
        expected = 0.75 * before + 0.25 * other if ids else before
        torch.testing.assert_close(mixed.source_embedding.weight[index], expected)


def test_pieces_inside_words_are_spelled_without_the_start_of_a_word() -> None:
    old, new = tokenizers(), tokenizers([f"{text} xylophonartig" for text in SOURCES])
    rows = rows_of_tokens(new[0], old[0])
    start = old[0].vocabulary.ids["▁"]
    for token, row in zip(new[0].vocabulary.tokens, rows, strict=True):
        spelled = "".join(old[0].vocabulary.tokens[index] for index in row)
        if "<0x" not in spelled and not token.startswith(("<", "[")):
            assert spelled == token, "the pieces of a token are its characters"
            assert token.startswith("▁") or start not in row


@pytest.mark.parametrize("types", [("whitespace", "bpe"), ("bpe", "whitespace"), ("unigram", "bpe")])
def test_words_and_subwords_start_from_each_other(types: tuple[str, str]) -> None:
    old, new = (tokenizers(tokenizer=each) for each in types)
    rows = rows_of_tokens(new[0], old[0])
    known = {token.removeprefix("▁") for token in old[0].vocabulary.tokens if old[0].starts_word(token)}
    for token, row in zip(new[0].vocabulary.tokens, rows, strict=True):
        if new[0].starts_word(token) and (word := token.removeprefix("▁")) in known and word:
            assert [old[0].vocabulary.tokens[index].removeprefix("▁") for index in row] == [word]
    model = started(bundle_of(old), new)
    assert model.target_embedding.weight.isfinite().all()
