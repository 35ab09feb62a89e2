"""An ensemble predicts with the mean of its models' probabilities."""

from __future__ import annotations

import pytest
import torch
from random_bundles import make_bundle, sentences
from tiny_models import padded_source, random_ids, tiny_model
from torch import Tensor

from dragoman.engines.decoders import EnsembleDecoder, PrefixDecoder
from dragoman.errors import UserError
from dragoman.evaluation.scoring import score
from dragoman.model.transformer import Transformer
from dragoman.translator import Translator

SOURCE, TARGET = padded_source(5, 3, 4), random_ids(3, 6)


def run(models: list[Transformer]) -> Tensor:
    """Probabilities of each next token, (rows, target, vocabulary)."""
    decoder = EnsembleDecoder(models)
    cache = decoder.start(SOURCE)
    found = []
    for position in range(TARGET.shape[1]):
        found.append(decoder.step(TARGET[:, position], cache).exp())
        cache.select(torch.tensor([0, 1, 2]), None)
    return torch.stack(found, dim=1)


def test_probabilities_are_the_mean_of_those_of_the_models() -> None:
    models = [tiny_model(norm="post"), tiny_model(positions="rotary", d_model=12), tiny_model(encoder_layers=1)]
    expected = torch.stack([model(SOURCE, TARGET).softmax(dim=-1) for model in models]).mean(dim=0)
    torch.testing.assert_close(run(models), expected, check_dtype=False, rtol=1e-5, atol=1e-6)


def test_an_ensemble_of_one_model_is_that_model() -> None:
    model = tiny_model()
    torch.testing.assert_close(
        run([model, model]), model(SOURCE, TARGET).softmax(dim=-1), check_dtype=False, rtol=1e-5, atol=1e-6
    )


def test_rows_and_sentences_are_selected_in_every_cache() -> None:
    model = tiny_model()
    decoder = EnsembleDecoder([model, PrefixDecoder(model)])
    cache = decoder.start(SOURCE)
    decoder.step(TARGET[:, 0], cache)
    kept = torch.tensor([2, 0])
    cache.select(kept, kept)
    found = decoder.step(TARGET[kept, 1], cache).exp()
    expected = model(SOURCE[kept], TARGET[kept, :2])[:, -1].softmax(dim=-1)
    torch.testing.assert_close(found, expected, check_dtype=False, rtol=1e-5, atol=1e-6)


def test_scores_are_the_mean_of_the_members_probabilities() -> None:
    bundles = [make_bundle(), make_bundle(model__heads=2)]
    pairs = [(text, "A dog runs.") for text in sentences()]
    members = [list(score(Translator(bundle), pairs)) for bundle in bundles]
    together = list(score(Translator(bundles[0], ensemble=bundles[1:]), pairs))
    for one, other, both in zip(*members, together, strict=True):
        expected = (torch.tensor(one.log_probabilities).exp() + torch.tensor(other.log_probabilities).exp()) / 2
        assert both.log_probabilities == pytest.approx(expected.log().tolist(), abs=1e-4)


def test_members_with_other_tokenizers_are_refused() -> None:
    with pytest.raises(UserError, match="have different tokenizers, so they cannot form an ensemble"):
        Translator(make_bundle(), ensemble=[make_bundle("words")])


def test_the_shortest_member_limits_sources_and_translations() -> None:
    long, short = make_bundle(), make_bundle(model__max_length=61)
    translator = Translator(long, ensemble=[short])
    assert translator.source_limit == 60
    (found,) = translator.stream(["Hund " * 100])
    assert found.truncated
    assert found.text
