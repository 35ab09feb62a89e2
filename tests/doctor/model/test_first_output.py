"""Models that are passed in an unexpected form lead to a message with a hint."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from correct_models import IDS, PAD, SIZE, TorchModel, torch_transformer
from torch import Tensor
from torch.nn.functional import pad

from dragoman.doctor import examine
from dragoman.errors import UserError

MODEL = torch_transformer(norm_first=False)


def time_first(source: Tensor, target: Tensor) -> Tensor:
    if source.shape[1] != target.shape[1]:
        raise RuntimeError("the batch sizes differ")
    logits: Tensor = MODEL(source.T, target.T).transpose(0, 1)
    return logits


def needs_masks(source: Tensor, target: Tensor, source_mask: Tensor) -> Tensor:
    return target


SLICED = "forward=lambda source, target: model(source, target)[..., :50]"
FORMS: dict[str, tuple[Callable[..., Any], str]] = {
    "time first": (time_first, "expects ids with shape (length, batch): pass forward=lambda source, target: model("),
    "logits are time first": (lambda s, t: MODEL(s, t).transpose(0, 1), ".transpose(0, 1)"),
    "flattened": (lambda s, t: MODEL(s, t).flatten(0, 1), ".view(*target.shape, -1)"),
    "vocabulary second": (lambda s, t: MODEL(s, t).transpose(1, 2), ".transpose(1, 2)"),
    "shifts the target": (lambda s, t: MODEL(s, t[:, :-1]), "removes the last target id itself"),
    "attribute": (lambda s, t: SimpleNamespace(logits=MODEL(s, t)), "model(…).logits"),
    "tuple": (lambda s, t: (None, MODEL(s, t)), "element 1, pass forward=lambda source, target: model(…)[1]"),
    "dictionary": (lambda s, t: {"logits": MODEL(s, t)}, 'model(…)["logits"]'),
    "array": (lambda s, t: MODEL(s, t).detach().numpy(), "torch.from_numpy(model(…))"),
    "target first": (lambda s, t: MODEL(t, s), "model(target, source)"),
    "masks": (needs_masks, "such as masks, pass a function"),
    "larger vocabulary": (
        lambda s, t: MODEL(s, t)[..., :30],
        "is vocabulary_size, the size of the target vocabulary, 30?",
    ),
    "padded vocabulary": (lambda s, t: pad(MODEL(s, t), (0, 14)), f"is that large, pass {SLICED}"),
    "one argument": (lambda ids: MODEL(ids, ids), "fewer arguments than source and target ids"),
    "fewer ids": (lambda s, t: MODEL(s + SIZE, t), "check vocabulary_size and source_vocabulary_size"),
    "ids": (lambda s, t: torch.zeros(*t.shape, SIZE, dtype=torch.long), "not logits"),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_unexpected_form_leads_to_a_hint(form: str) -> None:
    forward, hint = FORMS[form]
    with pytest.raises(UserError) as raised:
        examine(forward, **IDS)
    assert hint in str(raised.value)


class InvertedMask(TorchModel):
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory = self.transformer.encoder(self.embed(source, self.source), src_key_padding_mask=source != PAD)
        logits: Tensor = self.output(self.transformer.decoder(self.embed(target, self.target), memory))
        return logits


def test_an_inverted_padding_mask_leads_to_a_hint() -> None:
    with pytest.raises(UserError, match="src_key_padding_mask is inverted"):
        examine(InvertedMask().eval(), **IDS)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("vocabulary_size", "many", "vocabulary_size = 'many': expected an integer"),
        ("bos_id", None, "bos_id = None: expected an integer"),
        ("eos_id", -1, "eos_id = -1: not an id"),
        ("pad_id", 500, "pad_id = 500: not an id of the vocabulary; vocabulary_size = 50, so ids are 0 to 49"),
        ("source_vocabulary_size", 3, "eos_id = 3: not an id of the vocabulary; source_vocabulary_size = 3"),
        ("max_length", 0, "max_length = 0: at least 10 ids"),
        ("forward", "model", "forward: expected a model"),
    ],
)
def test_wrong_arguments_are_named(name: str, value: Any, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        examine(**{"forward": MODEL, **IDS, name: value})


def test_no_hint_says_to_shorten_logits_that_are_too_short_or_to_add_arguments_to_too_many() -> None:
    with pytest.raises(UserError, match=r"size of the target vocabulary, 30\?$"):
        examine(lambda s, t: MODEL(s, t)[..., :30], **IDS)
    with pytest.raises(UserError) as raised:
        examine(lambda ids: MODEL(ids, ids), **IDS)  # type: ignore[arg-type,misc]
    assert "such as masks" not in str(raised.value)


def test_the_hint_for_time_first_models_works() -> None:
    with pytest.raises(UserError, match="length, batch"):
        examine(time_first, **IDS)
    findings = examine(lambda source, target: time_first(source.T, target.T).transpose(0, 1), **IDS)
    assert all(finding.severity == "note" for finding in findings)
