"""The logit lens shows what a model would predict that ends after a layer."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch
from random_bundles import VARIANTS, make_bundle

from dragoman.explanation.attention_map import map_attention
from dragoman.explanation.logit_lens import look_through_lens
from dragoman.model.torch_transformer import TorchTransformer
from dragoman.translator import Translator

TEXT = "Ein kleiner Junge spielt im Park mit einem Hund."


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_layer_predicts_what_a_model_that_ends_there_predicts(variant: str) -> None:
    bundle = make_bundle(variant)
    (source,) = bundle.source.encode_masked([TEXT])
    (target,) = bundle.target.encode_masked(["A boy plays in the park."])
    lens = look_through_lens(bundle, source, target)
    output = [*target, bundle.target.vocabulary.eos]
    for layer in range(2):
        shorter = deepcopy(bundle.model)
        shorter.decoder = shorter.decoder[: layer + 1]
        if isinstance(shorter, TorchTransformer):
            shorter.theirs.decoder.layers = shorter.theirs.decoder.layers[: layer + 1]
        _, logits = map_attention(type(bundle)(bundle.recipe, shorter, bundle.source, bundle.target), source, target)
        expected = logits.softmax(dim=-1)
        own = expected[torch.arange(len(output)), output]
        np.testing.assert_allclose(lens.probabilities[layer], own, rtol=1e-3, atol=1e-6)
        for best, row in zip(lens.predictions[layer], expected, strict=True):
            assert best[0][0] == bundle.target.vocabulary.tokens[int(row.argmax())]
            np.testing.assert_allclose([value for _, value in best], row.topk(3).values, rtol=1e-3, atol=1e-6)


def test_the_last_layer_is_the_model(translator: Translator) -> None:
    explanation = translator.explain(TEXT)
    values = np.log(explanation.logit_lens.probabilities[-1])
    np.testing.assert_allclose(values, explanation.influence.log_probabilities, atol=1e-3)
    assert explanation.logit_lens.target == explanation.attention.target_output
