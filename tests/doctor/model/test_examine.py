"""Every fault is found by its code and by no other; sound models of several makers are not accused."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from sound_models import BOS, EOS, HUGGING_FACE, IDS, PAD, SIZE, TorchModel, ours, torch_transformer
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.doctor import Finding, examine, is_healthy
from dragoman.doctor.findings.explanations import MODEL
from dragoman.errors import UserError

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # what nn.Transformer says of itself
PRECISIONS = [torch.float32, torch.bfloat16]
OURS: dict[str, dict[str, Any]] = {
    "pre": {},
    "post": {"norm": "post", "tie": "none", "output_bias": True, "attention": "explicit"},
    "no final norm": {"final_norm": False, "qkv_bias": False, "tie": "target"},
    "learned": {"positions": "learned", "activation": "gelu", "attention": "fused"},
    "rotary": {"positions": "rotary", "activation": "swiglu"},
    "xavier": {"embedding_init": "xavier", "tie": "none", "norm": "post", "final_norm": False},
    "torch": {"implementation": "torch", "attention_dropout": 0.1, "activation_dropout": 0.1},
}
SOUND: dict[str, Callable[[], nn.Module]] = {
    **{name: partial(ours, **options) for name, options in OURS.items()},
    "nn.Transformer": lambda: torch_transformer(norm_first=False),
    "nn.Transformer pre-norm": lambda: torch_transformer(norm_first=True),
    **HUGGING_FACE,
}


def examined(model: nn.Module, **options: Any) -> list[Finding]:
    return examine(model, parameters=model.named_parameters(), **{**IDS, **options})


def codes(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings if finding.severity != "note"}


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@pytest.mark.parametrize("name", SOUND)
def test_sound_models_are_healthy(name: str, precision: torch.dtype) -> None:
    if name in HUGGING_FACE:
        pytest.importorskip("transformers")
    findings = examined(SOUND[name]().to(precision), overfit=precision == torch.float32)
    assert not codes(findings), findings
    assert is_healthy(findings)
    assert not findings or name.startswith("nn.") or name == "torch", "torch's own gives NaN where all is padding"


def test_sound_with_other_vocabularies_and_ids() -> None:
    from dragoman.model.build import build_model
    from dragoman.settings import Model

    settings = Model(d_model=32, heads=4, d_ff=64, encoder_layers=1, decoder_layers=1, tie="none", max_length=140)
    model = build_model(settings, 90, SIZE, source_pad=0, seed=1).eval()
    assert not codes(examined(model, source_vocabulary_size=90, pad_id=0))


class Broken(TorchModel):
    """A sound model whose parts can be exchanged for broken ones."""

    def finish(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.finish(super().forward(source, target), source, target)


class NoCausalMask(TorchModel):
    """The published mistake: the mask is computed, and what masked_fill returns is thrown away."""

    offset: int | None = None

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        length, padding = target.shape[1], source == PAD
        future = torch.ones(length, length, dtype=torch.bool)
        future = torch.zeros_like(future) if self.offset is None else future.triu(self.offset)
        hidden = self.transformer(
            self.place(source, self.source),
            self.place(target, self.target),
            tgt_mask=future,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        logits: Tensor = self.output(hidden)
        return logits


class OffByOne(NoCausalMask):
    offset = 2


class SmallFutureLeak(Broken):
    def finish(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        probabilities = logits.softmax(-1)
        leak = F.one_hot(F.pad(target[:, 1:], (0, 1), value=BOS), SIZE)
        return (probabilities * 0.999 + 0.001 * leak).log()


class NoPaddingMask(TorchModel):
    """Padding is masked in the encoder but, as often, not in the decoder's attention to the source."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        memory = self.transformer.encoder(self.place(source, self.source))
        logits: Tensor = self.output(self.transformer.decoder(self.place(target, self.target), memory, tgt_mask=future))
        return logits


class SmallPaddingLeak(Broken):
    def finish(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        share = (source == PAD).float().mean(dim=1)[:, None, None]
        wanted = F.one_hot(torch.tensor(7), SIZE)
        return (logits.softmax(-1) * (1 - 0.002 * share) + 0.002 * share * wanted).log()


class CountsTargetWidth(Broken):
    def finish(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits * (1 + 0.01 * target.shape[1])


class CountsTargetPadding(Broken):
    def finish(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits * (1 + 0.01 * (target == PAD).sum(dim=1)[:, None, None])


class MixesBatch(Broken):
    def finish(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits + 0.1 * logits.mean(dim=0)


class FirstRowsMask(TorchModel):
    """The padding mask of the first sentence serves all of the batch."""

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        padding = (source == PAD)[:1].expand_as(source)
        memory = self.transformer.encoder(self.place(source, self.source), src_key_padding_mask=padding)
        hidden = self.transformer.decoder(
            self.place(target, self.target), memory, tgt_mask=future, memory_key_padding_mask=padding
        )
        logits: Tensor = self.output(hidden)
        return logits


class IgnoresSource(TorchModel):
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(source.masked_fill(source != PAD, EOS), target)


class CutsSource(TorchModel):
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(source[:, :4], target)


class NoPositions(TorchModel):
    """Positions are left out on one side, or added along the batch."""

    side, along_batch = "source", False

    def place(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        if embedding is not getattr(self, self.side):
            return super().place(ids, embedding)
        x: Tensor = embedding(ids) * math.sqrt(32)
        return x + torch.arange(len(ids))[:, None, None].sin() if self.along_batch else x


class NoTargetPositions(NoPositions):
    side = "target"


class PositionsAlongBatch(NoPositions):
    along_batch = True


class Softmaxed(Broken):
    def finish(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits.softmax(dim=-1)


class SharedUnscaled(Broken):
    def __init__(self) -> None:
        super().__init__()
        self.output.weight = self.target.weight


class UnusedLayer(Broken):
    def __init__(self) -> None:
        super().__init__()
        self.forgotten = nn.Linear(32, 32)


class DetachedMemory(Broken):
    def place(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        placed = super().place(ids, embedding)
        return placed.detach() if embedding is self.source else placed


class Squeezed(Broken):
    def finish(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits.tanh()


class NotANumber(Broken):
    def finish(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits / 0.0 - logits / 0.0


class OverflowsWhenLong(Broken):
    def finish(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits + 0 * torch.tensor(float(source.shape[1])).exp()


class OverflowsInHalf(Broken):
    def finish(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return logits.masked_fill(F.one_hot(torch.tensor(PAD), SIZE).bool(), -1e9)


class PaddingSpoilsBatch(Broken):
    def finish(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        lengths = (source != PAD).sum(dim=1)
        return logits + 0 * (1 / lengths).sum() * logits


class FewPositions(Broken):
    def finish(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        if target.shape[1] > 50:
            raise IndexError("index out of range in self")
        return logits


BROKEN: list[tuple[type[nn.Module], str]] = [
    (NoCausalMask, "future-leak"),
    (OffByOne, "future-leak"),
    (SmallFutureLeak, "future-leak"),
    (NoPaddingMask, "source-padding-leak"),
    (SmallPaddingLeak, "source-padding-leak"),
    (CountsTargetWidth, "target-padding-leak"),
    (CountsTargetPadding, "target-padding-leak"),
    (MixesBatch, "batch-leak"),
    (FirstRowsMask, "batch-leak"),
    (IgnoresSource, "source-ignored"),
    (CutsSource, "source-ignored"),
    (NoPositions, "position-blind"),
    (NoTargetPositions, "position-blind"),
    (PositionsAlongBatch, "position-blind"),
    (Softmaxed, "not-logits"),
    (SharedUnscaled, "bad-initial-loss"),
    (UnusedLayer, "no-gradient"),
    (DetachedMemory, "no-gradient"),
    (NotANumber, "overflow"),
    (OverflowsWhenLong, "overflow"),
    (OverflowsInHalf, "overflow"),
    (PaddingSpoilsBatch, "overflow"),
    (FewPositions, "length-limit"),
]


def broken(kind: type[nn.Module]) -> nn.Module:
    torch.manual_seed(2)
    return kind().eval()


@pytest.mark.parametrize(("kind", "code"), BROKEN, ids=lambda value: getattr(value, "__name__", value))
def test_a_fault_is_found_by_its_code_alone(kind: type[nn.Module], code: str) -> None:
    findings = examined(broken(kind))
    assert codes(findings) == {code}, findings


def test_dropout_is_found_and_hides_no_leak() -> None:
    assert codes(examined(broken(TorchModel).train())) == {"not-deterministic"}
    assert codes(examined(broken(NoCausalMask).train())) == {"not-deterministic", "future-leak"}


def test_what_cannot_learn_is_found_if_asked_for() -> None:
    assert not codes(examined(broken(Squeezed)))
    assert codes(examined(broken(Squeezed), overfit=True)) == {"cannot-overfit"}


def test_every_code_has_a_broken_model() -> None:
    assert {code for _, code in BROKEN} | {"not-deterministic", "cannot-overfit"} == set(MODEL)


def test_examining_changes_nothing() -> None:
    model = ours()
    before = {name: tensor.clone() for name, tensor in model.named_parameters()}
    state = torch.get_rng_state()
    examined(model, overfit=True)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.named_parameters())
    assert all(tensor.grad is None for tensor in model.parameters())
    assert torch.equal(torch.get_rng_state(), state)


def test_measures_say_where() -> None:
    (leak,) = examined(broken(OffByOne))
    assert 1 <= leak.measured["reach"] <= 2, "two layers that each see one token ahead"
    (gradient,) = examined(broken(UnusedLayer))
    assert gradient.measured["parameters"] == ["forgotten.weight", "forgotten.bias"]
    (limit,) = examined(broken(FewPositions))
    assert (limit.measured["side"], limit.measured["limit"], limit.severity) == ("target", 50, "warning")
    (promised,) = examined(broken(FewPositions), max_length=60)
    assert promised.severity == "error"
    assert not examined(broken(FewPositions), max_length=50)


def test_short_models_are_examined_within_their_limits() -> None:
    for limit in (10, 11, 20, 60):
        assert not codes(examined(ours(max_length=limit), max_length=limit))
        assert codes(examined(ours(max_length=limit))) == {"length-limit"}


def test_a_trained_model_may_be_surprised_by_random_words() -> None:
    model = broken(SharedUnscaled)
    assert codes(examined(model, fresh=False)) == set()
    for tensor in model.parameters():
        tensor.data += 0.01 * torch.randn_like(tensor)  # as training does
    assert codes(examined(model)) == set()
    assert codes(examined(model, fresh=True)) == {"bad-initial-loss"}


def test_what_is_no_such_model_is_refused() -> None:
    with pytest.raises(UserError, match="not a tensor"):
        examine(lambda source, target: None, **IDS)  # type: ignore[arg-type,return-value]
    with pytest.raises(UserError, match=r"\(4, 10, 50\)"):
        examine(lambda source, target: torch.zeros(*source.shape, SIZE), **IDS)
    with pytest.raises(UserError, match="IndexError"):
        examine(_fails, **IDS)


def _fails(source: Tensor, target: Tensor) -> Tensor:
    raise IndexError("no")
