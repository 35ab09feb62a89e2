"""Parameters that are zero at the start hide parts of correct models, but no mistakes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from broken_models import (
    CausalCrossAttention,
    CausalCrossAttentionPreNorm,
    IgnoresSource,
    IgnoresTarget,
    NoCausalMask,
    NoPositions,
    TruncatesSource,
    make_broken,
)
from correct_models import IDS, SIZE, TorchModel
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.doctor import Finding, examine

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # a warning of nn.Transformer


class ReZero(nn.Module):
    """The logits of a word, and those of a model behind a gate that is zero."""

    def __init__(self, inner: type[nn.Module] = TorchModel) -> None:
        super().__init__()
        self.inner, self.words = inner(), nn.Embedding(SIZE, SIZE)
        self.alpha = nn.Parameter(torch.zeros(()))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.words(target) + self.alpha * self.inner(source, target)
        return logits


class ZeroOutput(TorchModel):
    def __init__(self) -> None:
        super().__init__()
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)


class GateBehindZeroOutput(ZeroOutput):
    """The gate has a gradient only after the output layer has changed."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.zeros(32))
        self.changes = nn.Linear(32, 32)

    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        embedded = super().embed(ids, embedding)
        changed: Tensor = embedded + self.gate * self.changes(embedded)
        return changed


class LowRankAdapter(TorchModel):
    """LoRA: the first factor is random, and the second one zero."""

    def __init__(self) -> None:
        super().__init__()
        self.requires_grad_(False)
        self.a, self.b = nn.Parameter(torch.randn(4, 32)), nn.Parameter(torch.zeros(SIZE, 4))
        self.output.register_forward_hook(lambda module, inputs, output: output + inputs[0] @ self.a.T @ self.b.T)


class ZeroPositions(TorchModel):
    """A table of positions that starts at zero."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(140, 32))

    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        embedded: Tensor = embedding(ids) * 32**0.5
        return embedded + self.positions[: ids.shape[1]]


def gated(inner: type[nn.Module]) -> Callable[[], nn.Module]:
    return lambda: ReZero(inner)


def make(create: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(2)
    return create().eval()


def examine_module(model: nn.Module, with_parameters: bool = True) -> list[Finding]:
    return examine(model, parameters=model.named_parameters() if with_parameters else None, **IDS)


def codes(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings if finding.severity != "note"}


@pytest.mark.parametrize(
    ("create", "names"),
    [
        (ReZero, ["alpha"]),
        (ZeroOutput, ["output.weight"]),
        (GateBehindZeroOutput, ["output.weight", "gate"]),
        (LowRankAdapter, ["b"]),
        (ZeroPositions, ["positions"]),
    ],
)
def test_zeros_at_the_start_are_only_noted(create: type[nn.Module], names: list[str]) -> None:
    for with_parameters in (True, False):
        model = make(create)
        findings = examine_module(model, with_parameters)
        assert not codes(findings), findings
        notes = [finding for finding in findings if finding.code == "zero-at-start"]
        if create is not LowRankAdapter or with_parameters:  # the predictions do not depend on it
            assert sorted(notes[0].measured["parameters"]) == sorted(names)
        assert len(notes) <= 1
        assert not any(tensor.any() for name, tensor in model.named_parameters() if name in names)


@pytest.mark.parametrize(
    ("inner", "code"),
    [
        (IgnoresSource, "source-ignored"),
        (TruncatesSource, "source-ignored"),
        (IgnoresTarget, "target-ignored"),
        (NoPositions, "position-blind"),
        (NoCausalMask, "future-leak"),
    ],
)
def test_mistakes_behind_zeros_are_found(inner: type[nn.Module], code: str) -> None:
    assert codes(examine_module(make(gated(inner)))) == {code}


def test_zeros_that_training_does_not_change_are_errors() -> None:
    model = make(ReZero)
    model.alpha.requires_grad_(False)
    assert {"source-ignored", "target-ignored"} <= codes(examine_module(model, with_parameters=False))
    adapter = make(LowRankAdapter)
    nn.init.zeros_(adapter.get_parameter("a"))
    assert "no-gradient" in codes(examine_module(adapter))


def test_a_forward_pass_without_gradients_is_no_obstacle() -> None:
    model = make(ZeroOutput)
    assert not codes(examine(torch.no_grad()(lambda source, target: model(source, target)), **IDS))


def test_zeros_that_hide_nothing_are_not_mentioned() -> None:
    class Unhidden(TorchModel):
        def __init__(self) -> None:
            super().__init__()
            self.shift = nn.Parameter(torch.zeros(SIZE))

        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            return super().forward(source, target) + F.relu(self.shift)

    for model_class in (Unhidden, IgnoresSource):
        assert "zero-at-start" not in {each.code for each in examine_module(make_broken(model_class))}


@pytest.mark.parametrize("model_class", [CausalCrossAttention, CausalCrossAttentionPreNorm, TorchModel, IgnoresSource])
def test_names_of_parameters_are_no_evidence(model_class: type[nn.Module]) -> None:
    model = make(model_class)
    results = [
        examine(model, parameters=[(rename(name), tensor) for name, tensor in model.named_parameters()], **IDS)
        for rename in (
            str,
            lambda name: name.replace("bias", "beta"),
            lambda name: f"{name.replace('bias', 'b')}_weight",
        )
    ]
    expected = [(each.code, each.severity) for each in results[0]]
    for findings in results[1:]:
        assert [(each.code, each.severity) for each in findings] == expected
    assert "zero-at-start" not in dict(expected)
