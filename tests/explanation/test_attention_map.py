"""Attention maps: the weights that the model used, with the right tokens, merged and summarized correctly."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.engines import EngineRequest, open_engine
from dragoman.engines.torch_engine import StepEngine
from dragoman.errors import UserError
from dragoman.explanation.attention_map import AttentionMap
from dragoman.explanation.explain import Explanation
from dragoman.explanation.tokens import TokenSequence, Word
from dragoman.model.capture import KINDS, AttentionKind, capture
from dragoman.model.transformer import Transformer
from dragoman.settings import Decoding, Specials
from dragoman.translator import Translator

TEXT = "Ein kleiner Junge spielt im Park mit einem Hund."


@pytest.fixture(scope="module")
def explanation(translator: Translator) -> Explanation:
    return translator.explain(TEXT)


def word_sequence(*sizes: int) -> TokenSequence:
    """Words with these numbers of tokens."""
    ends = np.cumsum(sizes).tolist()
    words = [Word(f"w{end}", end - size, end) for size, end in zip(sizes, ends, strict=True)]
    return TokenSequence([f"t{index}" for index in range(ends[-1])], words)


def random_map(layers: int = 3, heads: int = 2) -> AttentionMap:
    """Four source words of six tokens, three target words of five."""
    generator = np.random.default_rng(1)
    shapes: dict[AttentionKind, tuple[int, int]] = {"encoder": (6, 6), "decoder": (5, 5), "cross": (5, 6)}
    weights = {kind: generator.random((layers, heads, *shape), np.float32) for kind, shape in shapes.items()}
    weights["decoder"] = np.tril(weights["decoder"])
    weights = {kind: each / each.sum(axis=-1, keepdims=True) for kind, each in weights.items()}
    return AttentionMap(word_sequence(1, 3, 1, 1), word_sequence(1, 2, 2), word_sequence(2, 2, 1), weights)


# ---- explanations of a real model


def test_the_explained_translation_is_the_usual_one(translator: Translator, explanation: Explanation) -> None:
    usual = translator(TEXT)
    assert (explanation.translation.text, explanation.translation.tokens) == (usual.text, usual.tokens)
    assert explanation.translation.log_probabilities == pytest.approx(usual.log_probabilities, abs=1e-4)


def test_tokens_and_words_of_both_languages(translator: Translator, explanation: Explanation) -> None:
    attention, specials = explanation.attention, Specials()
    source = translator.bundle.source
    assert [source.vocabulary.ids[token] for token in attention.source.tokens[:-1]] == source.encode([TEXT])[0]
    assert attention.source.tokens[-1] == specials.eos
    assert attention.target_input.tokens == [specials.bos, *explanation.translation.tokens]
    assert attention.target_output.tokens == [*explanation.translation.tokens, specials.eos]
    source_words, input_words, output_words = (
        [word.text for word in sequence.words]
        for sequence in (attention.source, attention.target_input, attention.target_output)
    )
    assert " ".join(source_words[:-1]) == TEXT
    assert " ".join(output_words[:-1]) == explanation.translation.text
    assert input_words[1:] == output_words[:-1]


def test_every_layer_and_head_is_included_and_rows_sum_to_one(translator: Translator, explanation: Explanation) -> None:
    model = translator.bundle.recipe.model
    layers = {"encoder": model.encoder_layers, "decoder": model.decoder_layers, "cross": model.decoder_layers}
    attention = explanation.attention
    for view in (attention, attention.by_word()):
        for kind in KINDS:
            weights = view.weights[kind]
            size = len(view.queries(kind).tokens), len(view.keys(kind).tokens)
            assert weights.shape == (layers[kind], model.heads, *size)
            for each in (weights, view.mean(kind), view.rollout(kind)):
                np.testing.assert_allclose(each.sum(axis=-1), 1, atol=1e-5)
        assert not np.triu(attention.weights["decoder"], 1).any()


@pytest.mark.parametrize("cache", [True, False])
def test_the_attention_equals_that_of_decoding(translator: Translator, cache: bool) -> None:
    decoding = Decoding(beam_size=1, max_length=30, cache=cache)
    engine = open_engine(EngineRequest(translator.bundle, decoding), "torch")
    assert isinstance(engine, StepEngine)
    model = getattr(engine.decoder, "model", engine.decoder)
    assert isinstance(model, Transformer)
    greedy = Translator(translator.bundle, decoding, engine=engine)
    with capture(model) as recording:
        tokens = greedy(TEXT).tokens
    attention = greedy.attention(TEXT)
    assert attention.target_output.tokens[:-1] == tokens
    for kind in KINDS:
        used = recording.weights(kind)[:, 0]
        if kind == "encoder" and not cache:  # the encoder runs again at each step
            used = used[..., : len(attention.source.tokens), :]
        elif not cache:  # the last step repeats all earlier ones
            used = used[..., -len(attention.target_input.tokens) :, :]
        np.testing.assert_allclose(used.numpy(), attention.weights[kind], atol=1e-5)


def test_alternatives_include_the_output_token_with_its_probability(explanation: Explanation) -> None:
    output = zip(explanation.attention.target_output.tokens, explanation.translation.log_probabilities, strict=True)
    for (token, log_probability), alternatives in zip(output, explanation.alternatives, strict=True):
        assert dict(alternatives)[token] == pytest.approx(np.exp(log_probability), abs=1e-4)
        probabilities = [probability for _, probability in alternatives]
        assert probabilities == sorted(probabilities, reverse=True)
        assert 0 < sum(probabilities) <= 1 + 1e-5
        assert not {"<unk>", "<pad>", "<s>"} & {token for token, _ in alternatives}


@pytest.mark.parametrize("beam_size", [1, 4])
def test_the_best_ended_candidate_is_the_translation(translator: Translator, beam_size: int) -> None:
    explanation = Translator(translator.bundle, Decoding(beam_size=beam_size, max_length=30)).explain(TEXT)
    ended = [each for step in explanation.steps for each in step if each.final is not None]
    best = max(ended, key=lambda each: each.final or 0.0)
    vocabulary = translator.bundle.target.vocabulary
    assert [vocabulary.tokens[index] for index in best.tokens[:-1]] == explanation.translation.tokens
    assert best.final == explanation.translation.score


def test_a_sampled_translation_has_attention_but_no_search_steps(translator: Translator) -> None:
    sampling = Translator(translator.bundle, Decoding(beam_size=1, sampling=True, max_length=30))
    explanation = sampling.explain(TEXT)
    assert explanation.steps == []
    output = explanation.attention.target_output.tokens[:-1]
    assert output == explanation.translation.tokens == sampling(TEXT).tokens


@pytest.mark.parametrize("text", ["", " ", "▁"])
def test_a_text_without_words_cannot_be_explained(translator: Translator, text: str) -> None:
    with pytest.raises(UserError, match="no word"):
        translator.attention(text)


def test_texts_beyond_the_limit_are_explained_in_part(translator: Translator) -> None:
    explanation = translator.explain(TEXT * 50)
    assert explanation.translation.truncated
    assert len(explanation.attention.source.tokens) == translator.source_limit + 1


# ---- summaries of random weights


def test_attention_to_a_word_is_a_sum_and_from_a_word_a_mean() -> None:
    attention = random_map()
    weights = attention.weights["cross"]
    merged = attention.by_word().weights["cross"]
    assert merged.shape == (3, 2, 3, 4)
    expected = (weights[..., 0, 1:4].sum(axis=-1) + weights[..., 1, 1:4].sum(axis=-1)) / 2
    np.testing.assert_allclose(merged[..., 0, 1], expected, rtol=1e-5)
    np.testing.assert_allclose(merged[..., 2, 0], weights[..., 4, 0], rtol=1e-5)
    np.testing.assert_allclose(merged.sum(axis=-1), 1, rtol=1e-5)
    twice = attention.by_word().by_word()
    np.testing.assert_allclose(twice.weights["cross"], merged, rtol=1e-5)


def test_mean_and_maximum_are_over_heads() -> None:
    attention = random_map()
    one, two = attention.weights["cross"][1]
    np.testing.assert_allclose(attention.mean("cross")[1], (one + two) / 2, rtol=1e-5)
    np.testing.assert_array_equal(attention.maximum("cross")[1], np.where(one > two, one, two))


def test_rollout_multiplies_the_attention_of_all_layers() -> None:
    one = random_map(layers=1)
    np.testing.assert_allclose(one.rollout("encoder"), (one.mean("encoder")[0] + np.eye(6)) / 2, rtol=1e-5)
    np.testing.assert_allclose(one.rollout("cross"), one.mean("cross")[0] @ one.rollout("encoder"), rtol=1e-5)
    three = random_map()
    first, second, third = ((layer + np.eye(6)) / 2 for layer in three.mean("encoder"))
    np.testing.assert_allclose(three.rollout("encoder"), third @ second @ first, rtol=1e-5)
    assert not np.triu(three.rollout("decoder"), 1).any(), "the future stays masked"
    for kind in KINDS:
        np.testing.assert_allclose(three.rollout(kind).sum(axis=-1), 1, rtol=1e-5)


def test_rollout_of_cross_attention_includes_the_decoder_layers() -> None:
    """The first target token reads source token 0 only; all others attend to the first and to all source tokens."""
    attention = random_map(layers=2, heads=1)
    attention.weights["encoder"][:] = np.eye(6)
    attention.weights["decoder"][:] = np.eye(5)[[0] * 5]
    attention.weights["cross"][:] = 1 / 6
    attention.weights["cross"][:, :, 0] = np.eye(6)[0]
    rollout = attention.rollout("cross")
    np.testing.assert_allclose(rollout[0], np.eye(6)[0], atol=1e-6)
    assert rollout[1, 0] > 1 / 6 > rollout[1, 1], "the later tokens also read source token 0 through the first one"
