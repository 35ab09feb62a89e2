"""A head that is off adds nothing, and a layer that is off is as if the model did not have it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from random_bundles import VARIANTS, make_bundle
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.explanation.switch_off import switch_off
from dragoman.model.attention import MultiHeadAttention
from dragoman.model.capture import KINDS
from dragoman.model.transformer import Transformer
from dragoman.translator import Translator

TEXTS = ["Ein kleiner Junge spielt im Park.", "Zwei Hunde laufen."]
every_variant = pytest.mark.parametrize("variant", VARIANTS)


def predict(model: Transformer) -> Tensor:
    """Logits of arbitrary ids."""
    with torch.inference_mode():
        logits: Tensor = model(torch.tensor([[7, 20, 30, 9, 3]]), torch.tensor([[2, 40, 8, 11]]))
    return logits


def attention_of(model: Transformer, kind: str, layer: int) -> MultiHeadAttention:
    if kind == "encoder":
        return model.encoder_layers[layer].attention
    decoder = model.decoder_layers[layer]
    return decoder.memory_attention if kind == "cross" else decoder.attention


@every_variant
def test_nothing_off_changes_nothing(variant: str) -> None:
    bundle = make_bundle(variant)
    torch.testing.assert_close(predict(switch_off(bundle).model), predict(bundle.model), rtol=1e-4, atol=1e-4)
    assert [each.text for each in Translator(switch_off(bundle))(TEXTS)] == [
        each.text for each in Translator(bundle)(TEXTS)
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", ["pre-norm, tied", "post-norm", "torch's layers", "rotary, swiglu"])
def test_without_all_of_its_heads_an_attention_returns_its_bias(variant: str, kind: Any) -> None:
    bundle = make_bundle(variant)
    before = predict(bundle.model)
    heads = [(kind, 1, head) for head in range(bundle.recipe.model.heads)]
    changed = deepcopy(bundle.model)
    attention_of(changed, kind, 1).output.weight.data.zero_()
    torch.testing.assert_close(predict(switch_off(bundle, heads).model), predict(changed), rtol=1e-4, atol=1e-4)
    one, other = (predict(switch_off(bundle, [head]).model) for head in heads[:2])
    assert not torch.allclose(one, other)
    assert torch.equal(predict(bundle.model), before), "the model itself does not change"


@pytest.mark.parametrize("part", ["encoder", "decoder"])
@every_variant
def test_without_a_layer_the_model_is_shorter(variant: str, part: str) -> None:
    bundle = make_bundle(variant)
    if variant == "torch's layers":
        bundle = switch_off(bundle)  # the plain implementation of the same model
    shorter = deepcopy(bundle.model)
    setattr(shorter, part, getattr(shorter, part)[1:])
    changed = switch_off(bundle, layers=[(part, 0), (part, 0)])
    torch.testing.assert_close(predict(changed.model), predict(shorter), rtol=1e-4, atol=1e-4)
    expected = Translator(Bundle(bundle.recipe, shorter, bundle.source, bundle.target))(TEXTS)
    assert [each.text for each in Translator(changed)(TEXTS)] == [each.text for each in expected]


def test_attention_of_what_is_off_is_still_recorded() -> None:
    bundle = make_bundle()
    off = Translator(switch_off(bundle, [("cross", 0, 1)], [("decoder", 1)])).explain(TEXTS[0])
    assert off.attention.weights["cross"].shape[:2] == (2, 4)
    assert off.influence.words
    assert off.logit_lens.probabilities.shape[0] == 2


def test_what_does_not_exist_is_refused() -> None:
    bundle = make_bundle()
    for arguments, message in (
        (([("cross", 2, 0)],), "no layer of the decoder with the index 2: there are 2, counted from 0"),
        (([("cross", 0, 4)],), "no head with the index 4"),
        (([("encoder", -1, 0)],), "index -1"),
        (([("self", 0, 0)],), "no attention 'self'"),
        (((), [("cross", 0)]), "no part 'cross' with layers"),
    ):
        with pytest.raises(UserError, match=message):
            switch_off(bundle, *arguments)
