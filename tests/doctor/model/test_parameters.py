"""Parameters that are passed to examine: hints for mistakes, groups in messages, and whether they were trained."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from correct_models import LinearBiases, ScalarGains, hugging_face, torch_transformer

from dragoman.doctor.model.probe import (
    describe_groups,
    group_by_module,
    looks_untrained,
    named_parameters,
    parameters_of,
    skipped_layers,
)
from dragoman.errors import UserError

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # a warning of nn.Transformer
NAMES = [f"layers.{layer}.{part}.{kind}" for layer in range(3) for part in ("a", "b") for kind in ("weight", "bias")]


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("parameters", "tensors without names, as from model.parameters()"),
        ("state_dict", "tensors without gradients, as from model.state_dict()"),
        ("modules", "objects of type LinearBiases"),
    ],
)
def test_something_else_than_named_parameters_leads_to_a_hint(attribute: str, message: str) -> None:
    given: Any = getattr(LinearBiases(), attribute)
    with pytest.raises(UserError, match=r"pass model.named_parameters\(\)"):
        named_parameters(given)  # a method that was not called
    with pytest.raises(UserError, match="expected pairs of names and tensors") as raised:
        named_parameters(given())
    assert message in str(raised.value)
    with pytest.raises(UserError, match="an object of type LinearBiases"):
        named_parameters(LinearBiases())


def test_named_parameters_may_be_a_dictionary() -> None:
    model = LinearBiases()
    expected = tuple(model.named_parameters())
    assert named_parameters(dict(model.named_parameters())) == expected == named_parameters(model.named_parameters())


def test_parameters_are_found_in_functions_with_the_names_of_variables() -> None:
    one, other = LinearBiases(), LinearBiases()
    assert parameters_of(one) == tuple(one.named_parameters()) == parameters_of(lambda source, target: one(source))
    names = [name for name, _ in parameters_of(lambda source, target: other(one(source), one(target)))]
    assert sorted(names) == sorted(
        f"{model}.{name}" for model in ("one", "other") for name, _ in one.named_parameters()
    )


layers = ScalarGains()
"""Another model, with the name of an attribute."""


def test_a_model_with_the_name_of_an_attribute_is_not_used() -> None:
    model = LinearBiases()
    assert parameters_of(lambda source, target: model.layers[0](source)) == tuple(model.named_parameters())


def test_initial_gains_show_that_a_model_is_untrained() -> None:
    for model in (LinearBiases(), ScalarGains(), torch_transformer(norm_first=True)):
        parameters = tuple(model.named_parameters())
        assert looks_untrained(parameters)
        for _, tensor in parameters:
            tensor.data += 0.01 * torch.randn_like(tensor)  # as training does
        assert not looks_untrained(parameters)
    assert not looks_untrained(())


def test_untrained_t5_has_gains_but_no_biases() -> None:
    pytest.importorskip("transformers")
    assert looks_untrained(tuple(hugging_face("t5").named_parameters()))


def test_parameters_are_grouped_by_the_largest_complete_module() -> None:
    assert group_by_module(NAMES, NAMES) == {"layers": NAMES}
    assert group_by_module(NAMES[:4], NAMES) == {"layers.0": NAMES[:4]}
    assert group_by_module(NAMES[1:4], NAMES) == {NAMES[1]: NAMES[1:2], "layers.0.b": NAMES[2:4]}
    assert describe_groups(group_by_module(NAMES[1:4], NAMES)) == "layers.0.a.bias, layers.0.b (2 parameters)"
    assert describe_groups(group_by_module(NAMES[:8], NAMES)) == "layers.* (8 parameters)"
    many = [f"part{letter}.weight" for letter in "abcdefgh"]
    assert describe_groups(group_by_module(many, many)).endswith("parte.weight and 3 more")


def test_a_stack_of_which_only_the_last_layer_is_used_is_recognized() -> None:
    assert skipped_layers(["layers.0", "layers.1"], NAMES) == {"layers.0", "layers.1"}
    assert not skipped_layers(["layers.1", "layers.2"], NAMES)
    assert not skipped_layers(["layers.0", "other"], NAMES)
