"""Attention maps: what the model used, with the right tokens beside it, merged and summed up rightly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.errors import UserError
from dragoman.explanation.attention_map import AttentionMap, Side, Word, side_of
from dragoman.explanation.capture import KINDS, Kind, capture
from dragoman.explanation.explain import Explanation
from dragoman.settings import Decoding, Specials, Text
from dragoman.text.registry import train_tokenizers
from dragoman.translator import Translator

TEXT = "Ein kleiner Junge spielt im Park mit einem Hund."


@pytest.fixture(scope="module")
def explained(translator: Translator) -> Explanation:
    return translator.explain(TEXT)


def words(*sizes: int) -> Side:
    """Words of so many tokens each."""
    ends = np.cumsum(sizes).tolist()
    spans = [Word(f"w{end}", end - size, end) for size, end in zip(sizes, ends, strict=True)]
    return Side([f"t{index}" for index in range(ends[-1])], spans)


def random_map(layers: int = 3, heads: int = 2) -> AttentionMap:
    """Four source words of six tokens, three target words of five."""
    generator = np.random.default_rng(1)
    shapes: dict[Kind, tuple[int, int]] = {"encoder": (6, 6), "decoder": (5, 5), "cross": (5, 6)}
    weights = {kind: generator.random((layers, heads, *shape), np.float32) for kind, shape in shapes.items()}
    weights["decoder"] = np.tril(weights["decoder"])
    weights = {kind: each / each.sum(axis=-1, keepdims=True) for kind, each in weights.items()}
    return AttentionMap(words(1, 3, 1, 1), words(1, 2, 2), words(2, 2, 1), weights)


def test_the_explained_translation_is_the_usual_one(translator: Translator, explained: Explanation) -> None:
    usual = translator(TEXT)
    assert (explained.translation.text, explained.translation.tokens) == (usual.text, usual.tokens)
    assert explained.translation.log_probabilities == pytest.approx(usual.log_probabilities, abs=1e-4)


def test_tokens_of_both_sides(translator: Translator, explained: Explanation) -> None:
    attention, specials = explained.attention, Specials()
    source = translator.bundle.source
    assert [source.vocabulary.ids[token] for token in attention.source.tokens[:-1]] == source.encode([TEXT])[0]
    assert attention.source.tokens[-1] == specials.eos
    assert attention.read.tokens == [specials.bos, *explained.translation.tokens]
    assert attention.predicted.tokens == [*explained.translation.tokens, specials.eos]
    assert " ".join(word.text for word in attention.source.words[:-1]) == TEXT
    assert " ".join(word.text for word in attention.predicted.words[:-1]) == explained.translation.text
    assert [word.text for word in attention.read.words[1:]] == [word.text for word in attention.predicted.words[:-1]]


def test_every_layer_and_head_is_there_and_rows_sum_to_one(translator: Translator, explained: Explanation) -> None:
    model = translator.bundle.recipe.model
    layers = {"encoder": model.encoder_layers, "decoder": model.decoder_layers, "cross": model.decoder_layers}
    attention = explained.attention
    for view in (attention, attention.by_word()):
        for kind in KINDS:
            weights = view.weights[kind]
            size = len(view.queries(kind).tokens), len(view.keys(kind).tokens)
            assert weights.shape == (layers[kind], model.heads, *size)
            for each in (weights, view.mean(kind), view.rollout(kind)):
                np.testing.assert_allclose(each.sum(axis=-1), 1, atol=1e-5)
        assert not np.triu(attention.weights["decoder"], 1).any()


@pytest.mark.parametrize("cache", [True, False])
def test_the_attention_is_that_of_decoding(translator: Translator, cache: bool) -> None:
    greedy = Translator(translator.bundle, Decoding(beam_size=1, max_length=30, cache=cache))
    with capture(translator.bundle.model) as recording:
        tokens = greedy(TEXT).tokens
    attention = greedy.attention(TEXT)
    assert attention.predicted.tokens[:-1] == tokens
    for kind in KINDS:
        calls = recording.weights(kind)[:, 0]
        used = calls if cache or kind == "encoder" else calls[..., -len(attention.read.tokens) :, :]
        if kind == "encoder" and not cache:
            used = used[..., : len(attention.source.tokens), :]
        np.testing.assert_allclose(used.numpy(), attention.weights[kind], atol=1e-5)


def test_alternatives_hold_what_was_said_with_its_probability(explained: Explanation) -> None:
    said = zip(explained.attention.predicted.tokens, explained.translation.log_probabilities, strict=True)
    for (token, value), alternatives in zip(said, explained.alternatives, strict=True):
        assert dict(alternatives)[token] == pytest.approx(np.exp(value), abs=1e-4)
        probabilities = [probability for _, probability in alternatives]
        assert probabilities == sorted(probabilities, reverse=True)
        assert 0 < sum(probabilities) <= 1 + 1e-5
        assert not {"<unk>", "<pad>", "<s>"} & {token for token, _ in alternatives}


@pytest.mark.parametrize("beam_size", [1, 4])
def test_the_best_of_the_beam_search_is_the_translation(translator: Translator, beam_size: int) -> None:
    explained = Translator(translator.bundle, Decoding(beam_size=beam_size, max_length=30)).explain(TEXT)
    ended = [each for step in explained.steps for each in step if each.final is not None]
    best = max(ended, key=lambda each: each.final or 0.0)
    vocabulary = translator.bundle.target.vocabulary
    assert [vocabulary.tokens[index] for index in best.tokens[:-1]] == explained.translation.tokens
    assert best.final == explained.translation.score


def test_a_sampled_translation_has_attention_but_no_tree(translator: Translator) -> None:
    sampling = Translator(translator.bundle, Decoding(beam_size=1, sampling=True, max_length=30))
    explained = sampling.explain(TEXT)
    assert explained.steps == []
    assert explained.attention.predicted.tokens[:-1] == explained.translation.tokens == sampling(TEXT).tokens


@pytest.mark.parametrize("text", ["", " ", "▁"])
def test_nothing_cannot_be_explained(translator: Translator, text: str) -> None:
    with pytest.raises(UserError, match="no word"):
        translator.attention(text)


def test_texts_beyond_the_limit_are_explained_in_part(translator: Translator) -> None:
    explained = translator.explain(TEXT * 50)
    assert explained.translation.truncated
    assert len(explained.attention.source.tokens) == translator.source_limit + 1


def test_words_sum_what_goes_to_them_and_average_what_goes_from_them() -> None:
    attention = random_map()
    weights = attention.weights["cross"]
    merged = attention.by_word().weights["cross"]
    assert merged.shape == (3, 2, 3, 4)
    expected = (weights[..., 0, 1:4].sum(axis=-1) + weights[..., 1, 1:4].sum(axis=-1)) / 2
    np.testing.assert_allclose(merged[..., 0, 1], expected, rtol=1e-5)
    np.testing.assert_allclose(merged[..., 2, 0], weights[..., 4, 0], rtol=1e-5)
    np.testing.assert_allclose(merged.sum(axis=-1), 1, rtol=1e-5)
    again = attention.by_word().by_word()
    np.testing.assert_allclose(again.weights["cross"], merged, rtol=1e-5)


def test_mean_and_maximum_are_over_heads() -> None:
    attention = random_map()
    one, two = attention.weights["cross"][1]
    np.testing.assert_allclose(attention.mean("cross")[1], (one + two) / 2, rtol=1e-5)
    np.testing.assert_array_equal(attention.maximum("cross")[1], np.where(one > two, one, two))


def test_rollout_follows_attention_through_the_layers() -> None:
    one = random_map(layers=1)
    np.testing.assert_allclose(one.rollout("encoder"), (one.mean("encoder")[0] + np.eye(6)) / 2, rtol=1e-5)
    np.testing.assert_allclose(one.rollout("cross"), one.mean("cross")[0] @ one.rollout("encoder"), rtol=1e-5)
    three = random_map()
    first, second, third = ((layer + np.eye(6)) / 2 for layer in three.mean("encoder"))
    np.testing.assert_allclose(three.rollout("encoder"), third @ second @ first, rtol=1e-5)
    assert not np.triu(three.rollout("decoder"), 1).any(), "the future stays hidden"
    for kind in KINDS:
        np.testing.assert_allclose(three.rollout(kind).sum(axis=-1), 1, rtol=1e-5)


def test_rollout_across_follows_the_decoder_too() -> None:
    """The first token fetches from source 0 only, all others look at the first and fetch evenly."""
    attention = random_map(layers=2, heads=1)
    attention.weights["encoder"][:] = np.eye(6)
    attention.weights["decoder"][:] = np.eye(5)[[0] * 5]
    attention.weights["cross"][:] = 1 / 6
    attention.weights["cross"][:, :, 0] = np.eye(6)[0]
    rolled = attention.rollout("cross")
    np.testing.assert_allclose(rolled[0], np.eye(6)[0], atol=1e-6)
    assert rolled[1, 0] > 1 / 6 > rolled[1, 1], "what the first fetched came along"


@pytest.mark.parametrize(
    ("settings", "grouped"),
    [
        ({"tokenizer": "bpe", "vocabulary_size": 300}, True),
        ({"tokenizer": "unigram", "vocabulary_size": 300}, True),
        ({"tokenizer": "bpe", "vocabulary_size": 300, "pre_tokenizer": "whitespace"}, True),
        ({"tokenizer": "whitespace"}, False),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_words_of_every_tokenizer(settings: dict[str, Any], grouped: bool) -> None:
    text = "Der kleine Hund spielt"
    texts = [text, "Der Junge 😀"] * 20
    tokenizer, _ = train_tokenizers(texts, texts, Text(**settings), source_language="de", target_language="de")
    side = side_of(tokenizer, [tokenizer.vocabulary.bos, *tokenizer.encode([text])[0], tokenizer.vocabulary.eos])
    assert [word.text for word in side.words] == ["<s>", *text.split(), "</s>"]
    assert [word.start for word in side.words[1:]] == [word.end for word in side.words[:-1]]
    rare = "Hunde 🦊 Zebra"
    side = side_of(tokenizer, tokenizer.encode([rare])[0])
    if grouped:
        assert [word.text for word in side.words] == rare.split(), "bytes join to the character they spell"
        assert len(side.tokens) > len(side.words)
