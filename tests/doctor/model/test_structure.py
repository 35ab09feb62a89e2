"""Mistakes that a reader of the code would see are noted, and correct models have no such notes."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from correct_models import IDS, PAD, SIZE, our_model
from torch import Tensor, nn

from dragoman.doctor import Finding, examine
from dragoman.errors import UserError

WIDTH, HEADS = 32, 4
STACKS = ("encoder", "decoder")


class ScalarNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        mean, deviation = x.mean(dim=-1, keepdim=True), x.std(dim=-1, keepdim=True)
        return self.gain * (x - mean) / (deviation + 1e-6) + self.bias


class Attention(nn.Module):
    """Multi-head attention; the scores are divided by `divisor`, and the softmax is over `dimension`."""

    def __init__(self, divisor: float = math.sqrt(WIDTH // HEADS), dimension: int = -1) -> None:
        super().__init__()
        self.divisor, self.dimension = divisor, dimension
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (
            layer(each).view(len(each), each.shape[1], HEADS, -1).transpose(1, 2)
            for layer, each in ((self.query, x), (self.key, memory), (self.value, memory))
        )
        scores = (q @ k.transpose(-2, -1) / self.divisor).masked_fill(~mask, -1e4)
        mixed: Tensor = self.output((scores.softmax(dim=self.dimension) @ v).transpose(1, 2).flatten(2))
        return mixed


class EinsumAttention(Attention):
    """The same with einsum, whose operands are a list."""

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (
            layer(each).view(*each.shape[:2], HEADS, -1)
            for layer, each in ((self.query, x), (self.key, memory), (self.value, memory))
        )
        scores = torch.einsum("bthd,bshd->bhts", [q, k]).masked_fill(~mask, -1e4) / self.divisor
        mixed: Tensor = self.output(torch.einsum("bhts,bshd->bthd", [scores.softmax(dim=-1), v]).flatten(2))
        return mixed


class OneMatrixForAllHeads(EinsumAttention):
    """The heads are split before the projections."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH // HEADS, WIDTH // HEADS) for _ in range(3))

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (
            layer(each.view(*each.shape[:2], HEADS, -1))
            for layer, each in ((self.query, x), (self.key, memory), (self.value, memory))
        )
        scores = torch.einsum("bthd,bshd->bhts", q, k).masked_fill(~mask, -1e4) / self.divisor
        mixed: Tensor = self.output(torch.einsum("bhts,bshd->bthd", scores.softmax(dim=-1), v).flatten(2))
        return mixed


class OneMatrixAfterTransposition(OneMatrixForAllHeads):
    """The heads are the second dimension when they are projected."""

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (
            layer(each.view(*each.shape[:2], HEADS, -1).transpose(1, 2))
            for layer, each in ((self.query, x), (self.key, memory), (self.value, memory))
        )
        scores = (q @ k.transpose(-2, -1)).masked_fill(~mask, -1e4) / self.divisor
        mixed: Tensor = self.output((scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2))
        return mixed


class FeedForward(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, WIDTH))


class Layer(nn.Module):
    """A layer of an encoder or of a decoder, post-norm."""

    def __init__(self, parts: dict[str, Any], is_decoder: bool) -> None:
        super().__init__()
        self.attention, cross = parts["attentions"]()
        if is_decoder:
            self.cross, self.cross_norm = cross, parts["norm"]()
        self.feed_forward = FeedForward()
        self.norms = nn.ModuleList(parts["norm"]() for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        x = self.norms[0](x + self.attention(x, x, mask))
        if memory is not None:
            x = self.cross_norm(x + self.cross(x, memory, memory_mask))
        normed: Tensor = self.norms[1](x + self.feed_forward(x))
        return normed


class SkippedSelfAttention(Layer):
    """The cross-attention reads the input of the layer."""

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        if memory is None:
            return super().forward(x, mask, memory, memory_mask)
        attended = self.norms[0](x + self.attention(x, x, mask))
        attended = self.cross_norm(attended + self.cross(x, memory, memory_mask))
        normed: Tensor = self.norms[1](attended + self.feed_forward(attended))
        return normed


def waves(length: int) -> Tensor:
    rates = torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(10000.0) / WIDTH))
    return sines(length, rates)


def sines(length: int, rates: Tensor) -> Tensor:
    angles = torch.arange(length)[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


class Beginner(nn.Module):
    """A Transformer that a beginner might write; keyword arguments plant a mistake."""

    def __init__(self, **parts: Any) -> None:
        super().__init__()
        torch.manual_seed(3)
        defaults = {"norm": lambda: nn.LayerNorm(WIDTH), "attentions": lambda: (Attention(), Attention())}
        parts = {"table": waves(150), "buffer": True, "initialize": True, "share": False, **defaults, **parts}
        layer_class = parts.get("layer", Layer)
        self.source, self.target = nn.Embedding(SIZE, WIDTH), nn.Embedding(SIZE, WIDTH)
        self.encoder = nn.ModuleList(layer_class(parts, is_decoder=False) for _ in range(2))
        self.decoder = nn.ModuleList(layer_class(parts, is_decoder=True) for _ in range(2))
        if parts["share"]:
            self.decoder = nn.ModuleList([self.decoder[0]] * 2)
        self.output = nn.Linear(WIDTH, SIZE)
        if parts["buffer"]:
            self.register_buffer("table", parts["table"])
        else:
            self.table = parts["table"]
        for parameter in self.parameters():
            if parameter.dim() > 1 and parts["initialize"]:
                nn.init.xavier_uniform_(parameter)

    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        x: Tensor = embedding(ids) * math.sqrt(WIDTH) + self.table[: ids.shape[1]]
        return x

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        words, causal = (source != PAD)[:, None, None], torch.ones(target.shape[1], target.shape[1]).tril().bool()
        memory, x = self.embed(source, self.source), self.embed(target, self.target)
        for layer in self.encoder:
            memory = layer(memory, words, None, None)
        for layer in self.decoder:
            x = layer(x, causal, memory, words)
        logits: Tensor = self.output(x)
        return logits


def shared_norm() -> Any:
    norm = nn.LayerNorm(WIDTH)
    return lambda: norm


def one_attention() -> tuple[nn.Module, nn.Module]:
    attention = Attention()
    return attention, attention


MISTAKES: dict[str, tuple[dict[str, Any], str, str]] = {
    "scalar norm": ({"norm": ScalarNorm}, "scalar-norm", "encoder.0.norms.0"),
    "one norm": ({"norm": shared_norm()}, "shared-module", "one norm is used"),
    "one attention": ({"attentions": one_attention}, "shared-module", "for the target itself and for the source"),
    "one layer": ({"share": True}, "shared-module", "decoder.0"),
    "width of the model": (
        {"attentions": lambda: (Attention(math.sqrt(WIDTH)), Attention(math.sqrt(WIDTH)))},
        "attention-scale",
        "√32, but a query has 8 numbers",
    ),
    "not scaled": (
        {"attentions": lambda: (Attention(1.0), Attention(1.0))},
        "attention-scale",
        "not divided by anything",
    ),
    "width of the model, einsum": (
        {"attentions": lambda: (EinsumAttention(math.sqrt(WIDTH)), EinsumAttention(math.sqrt(WIDTH)))},
        "attention-scale",
        "√32, but a query has 8 numbers",
    ),
    "heads split first": (
        {"attentions": lambda: (OneMatrixForAllHeads(), OneMatrixForAllHeads())},
        "shared-module",
        "one matrix computes the queries of all 4 heads, each from only 8 of 32 numbers",
    ),
    "heads split and transposed first": (
        {"attentions": lambda: (OneMatrixAfterTransposition(), OneMatrixAfterTransposition())},
        "shared-module",
        "one matrix computes the queries of all 4 heads, each from only 8 of 32 numbers",
    ),
    "skipped self-attention": ({"layer": SkippedSelfAttention}, "skipped-sublayer", "decoder.0.cross, decoder.1.cross"),
    "equal frequencies": ({"table": sines(150, torch.ones(WIDTH // 2))}, "position-frequencies", "are equal"),
    "no exp": (
        {"table": sines(150, torch.arange(0, WIDTH, 2) * (-math.log(1000.0) / WIDTH))},
        "position-frequencies",
        "evenly spaced",
    ),
    "exponent twice": (
        {"table": sines(150, 10000.0 ** (-2 * torch.arange(0, WIDTH, 2) / WIDTH))},
        "position-frequencies",
        "slowest",
    ),
    "plain tensor": ({"buffer": False}, "plain-tensor", "Beginner.table (150, 32)"),
    "no initialization": ({"initialize": False}, "drowned-positions", "8 times as large"),
}


def notes(model: nn.Module) -> list[Finding]:
    noise = {"overflow"}  # a mask of -1e4 is too small for a source of padding
    return [finding for finding in examine(model.eval(), **IDS) if finding.code not in noise]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_noted_alone(mistake: str) -> None:
    parts, code, message = MISTAKES[mistake]
    (finding,) = notes(Beginner(**parts))
    assert (finding.code, finding.severity) == (code, "note")
    assert message in finding.message
    assert finding.effect
    assert finding.read.startswith(f"docs/findings.md#{code}")


@pytest.mark.parametrize("attention", [Attention, EinsumAttention])
def test_a_model_without_mistakes_has_no_notes(attention: type[Attention]) -> None:
    assert notes(Beginner(attentions=lambda: (attention(), attention()))) == []


@pytest.mark.parametrize("dimension", [1, 2])
def test_a_softmax_over_heads_or_queries_is_found(dimension: int) -> None:
    found = notes(Beginner(attentions=lambda: (Attention(dimension=dimension), Attention())))
    (finding,) = (each for each in found if each.code == "softmax-dimension")
    assert f"over dimension {dimension}" in finding.message
    assert finding.measured["modules"] == [f"{stack}.{layer}.attention" for stack in STACKS for layer in range(2)]


def test_a_model_that_fails_in_training_is_examined_nevertheless() -> None:
    class InPlace(Beginner):
        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            logits = super().forward(source, target)
            logits.exp_().mul_(logits).sqrt_()  # the gradient of each needs its result
            return logits

    found = {finding.code: finding for finding in notes(InPlace(table=sines(150, torch.ones(WIDTH // 2))))}
    assert "cannot be trained" in found["no-gradient"].message
    assert "position-frequencies" in found


class FromCudnn(torch.autograd.Function):
    """A recurrent layer in evaluation mode: the kernels of cuDNN compute no gradient then, others do."""

    @staticmethod
    def forward(context: Any, numbers: Tensor) -> Tensor:
        context.fails = torch.backends.cudnn.enabled
        return numbers.clone()

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        if context.fails:
            raise RuntimeError("cudnn RNN backward can only be called in training mode")
        return gradients[0]


def test_recurrent_layers_in_evaluation_mode_can_be_trained() -> None:
    class Recurrent(Beginner):
        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            logits: Tensor = FromCudnn.apply(super().forward(source, target))  # type: ignore[no-untyped-call]
            return logits

    assert "no-gradient" not in {finding.code for finding in notes(Recurrent().eval())}


@pytest.mark.parametrize(
    "options", [{"positions": "rotary"}, {"norm": "post"}, {"tie": "none"}, {"attention": "fused"}]
)
def test_our_models_have_no_notes(options: dict[str, Any]) -> None:
    assert notes(our_model(**options)) == []


def test_examining_leaves_no_hooks() -> None:
    model = Beginner().eval()
    before = copy.deepcopy(model.state_dict())
    notes(model)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


class LeakyLayer(Layer):
    """The second layer's self-attention has no mask."""

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return super().forward(x, torch.ones_like(mask), memory, memory_mask)


@pytest.mark.parametrize(("stack", "code"), [("decoder", "future-leak"), ("encoder", "source-padding-leak")])
def test_the_first_module_of_a_leak_is_named(stack: str, code: str) -> None:
    model = Beginner().eval()
    getattr(model, stack)[1].__class__ = LeakyLayer
    leak = next(finding for finding in notes(model) if finding.code == code)
    assert leak.measured["module"] == f"{stack}.1.attention"
    assert f"first leak: {stack}.1.attention" in leak.message


class SourceMaskInDecoder(Beginner):
    """The self-attention of the decoder gets the mask of the source."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        words = (source != PAD)[:, None, None]
        return self.decode(self.embed(target, self.target), self.encode(source, words), words, words)

    def encode(self, source: Tensor, words: Tensor) -> Tensor:
        memory = self.embed(source, self.source)
        for layer in self.encoder:
            memory = layer(memory, words, None, None)
        return memory

    def decode(self, x: Tensor, memory: Tensor, mask: Tensor, memory_mask: Tensor) -> Tensor:
        for layer in self.decoder:
            x = layer(x, mask, memory, memory_mask)
        logits: Tensor = self.output(x)
        return logits


class ExchangedMasks(SourceMaskInDecoder):
    """The masks come from outside, and are passed on in the wrong order."""

    def forward(self, source: Tensor, target: Tensor, source_mask: Tensor, target_mask: Tensor) -> Tensor:  # type: ignore[override]
        memory = self.encode(source, source_mask)
        return self.decode(self.embed(target, self.target), memory, source_mask, target_mask)


@pytest.mark.parametrize("model", [SourceMaskInDecoder, ExchangedMasks])
def test_a_mask_of_the_wrong_side_is_named(model: type[nn.Module]) -> None:
    found = {finding.code: finding for finding in notes(model())}
    assert found["length-limit"].severity == "error"
    message = "decoder.0.attention applies a mask of the source, (4, 1, 1, 7), where the target is attended to"
    assert message in found["length-limit"].message
    assert "future-leak" in found  # if both have the same length, as they have here after padding


def test_no_other_failure_counts_as_a_mask_of_the_wrong_side() -> None:
    class Short(Beginner):
        def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
            x: Tensor = embedding(ids) + self.table[:7]
            return x

    with pytest.raises(UserError, match="the model has a mistake there, or needs sentences of one length"):
        notes(Short())
