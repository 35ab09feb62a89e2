"""Every fault leads to one finding with its code, and correct models of several libraries have no findings."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from broken_models import (
    BROKEN,
    BoundedLogits,
    Broken,
    CarriesState,
    CausalCrossAttention,
    ExchangedMasks,
    ExpertsChooseTokens,
    FewPositions,
    HidesTargetPadding,
    KeepsFirstMemory,
    LargeSharedEmbeddings,
    LayersInList,
    NoCausalMask,
    NoPaddingMask,
    NormsInForward,
    NoTargetPositions,
    OffByOne,
    OverflowsInHalf,
    RandomLayerInForward,
    ReplacesUnknownWords,
    SkippedLayers,
    UnusedLayer,
    make_broken,
)
from correct_models import (
    HUGGING_FACE,
    IDS,
    PAD,
    SIZE,
    DistanceBias,
    LargeOutput,
    LowRankOutput,
    MixtureOfExperts,
    ProjectedEmbeddings,
    RoundsDifferently,
    ScaledSharedOutput,
    TorchModel,
    UnusedPooler,
    our_model,
    torch_transformer,
)
from torch import Tensor, nn

from dragoman.doctor import Finding, examine, is_healthy
from dragoman.doctor.findings.model import MODEL_FINDINGS
from dragoman.errors import UserError

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # a warning of nn.Transformer
PRECISIONS = [torch.float32, torch.bfloat16]
OUR_MODELS: dict[str, dict[str, Any]] = {
    "pre": {},
    "post": {"norm": "post", "tie": "none", "output_bias": True, "attention": "explicit"},
    "no final norm": {"final_norm": False, "qkv_bias": False, "tie": "target"},
    "learned": {"positions": "learned", "activation": "gelu", "attention": "fused"},
    "rotary": {"positions": "rotary", "activation": "swiglu"},
    "xavier": {"embedding_init": "xavier", "tie": "none", "norm": "post", "final_norm": False},
    "torch": {"implementation": "torch", "attention_dropout": 0.1, "activation_dropout": 0.1},
}
CORRECT: dict[str, Callable[[], nn.Module]] = {
    **{name: partial(our_model, **options) for name, options in OUR_MODELS.items()},
    "nn.Transformer": lambda: torch_transformer(norm_first=False),
    "nn.Transformer pre-norm": lambda: torch_transformer(norm_first=True),
    "nn.Transformer with experts": lambda: make_broken(MixtureOfExperts),
    "nn.Transformer with scaled logits": lambda: make_broken(ScaledSharedOutput),
    "nn.Transformer with low rank": lambda: make_broken(LowRankOutput),
    "nn.Transformer with narrow embeddings": lambda: make_broken(ProjectedEmbeddings),
    "nn.Transformer with pooler": lambda: make_broken(UnusedPooler),
    "nn.Transformer with rounding": lambda: make_broken(RoundsDifferently),
    **HUGGING_FACE,
}


def examine_module(model: nn.Module, **options: Any) -> list[Finding]:
    return examine(model, parameters=model.named_parameters(), **{**IDS, **options})


def examine_broken(model_class: type[nn.Module], **options: Any) -> list[Finding]:
    """The findings but one: all these models multiply the embeddings of nn.Embedding, which are large, by √d_model."""
    findings = examine_module(make_broken(model_class), **options)
    return [finding for finding in findings if finding.code != "drowned-positions"]


def codes(findings: list[Finding]) -> set[str]:
    return {finding.code for finding in findings if finding.severity != "note"}


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@pytest.mark.parametrize("name", CORRECT)
def test_correct_models_are_healthy(name: str, precision: torch.dtype) -> None:
    if name in HUGGING_FACE:
        pytest.importorskip("transformers")
    findings = examine_module(CORRECT[name]().to(precision), overfit=precision == torch.float32)
    assert not codes(findings), findings
    assert is_healthy(findings)
    assert not findings or name.startswith("nn.") or name == "torch", "nn.Transformer returns NaN for padding only"


def test_the_row_of_padding_in_the_output_affects_only_padding() -> None:
    assert not codes(examine_module(make_broken(LargeOutput), fresh=False))


def test_symmetric_distances_are_positions_but_not_on_the_fast_path_of_torch() -> None:
    (blind,) = [finding for finding in examine_module(make_broken(DistanceBias)) if finding.severity == "error"]
    assert blind.code == "position-blind"
    assert "fast path" in blind.cause
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        assert not codes(examine_module(make_broken(DistanceBias)))
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def test_a_decoder_without_positions_is_only_noted() -> None:
    (note,) = examine_broken(NoTargetPositions)
    assert (note.code, note.severity) == ("position-blind", "note")
    assert "bag of words" not in note.cause


def test_vocabularies_may_differ_and_ids_may_be_others() -> None:
    from dragoman.model.build import build_model
    from dragoman.settings import Model

    settings = Model(d_model=32, heads=4, d_ff=64, encoder_layers=1, decoder_layers=1, tie="none", max_length=140)
    model = build_model(settings, 90, SIZE, source_pad=0, seed=1).eval()
    assert not codes(examine_module(model, source_vocabulary_size=90, pad_id=0))


@pytest.mark.parametrize(("model_class", "code"), BROKEN, ids=lambda value: getattr(value, "__name__", value))
def test_a_fault_leads_to_its_code_alone(model_class: type[nn.Module], code: str) -> None:
    findings = examine_module(make_broken(model_class))
    assert codes(findings) == {code}, findings


def test_active_dropout_is_found_and_hides_no_leak() -> None:
    assert codes(examine_module(make_broken(TorchModel).train())) == {"not-deterministic"}
    assert codes(examine_module(make_broken(NoCausalMask).train())) == {"not-deterministic", "future-leak"}
    padding = codes(examine_module(make_broken(NoPaddingMask).train()))
    assert padding == {"not-deterministic", "source-padding-leak"}, "checks with other shapes need no fixed seed"


@pytest.mark.slow
def test_a_model_that_cannot_memorize_is_found_on_request() -> None:
    assert not codes(examine_module(make_broken(BoundedLogits)))
    assert codes(examine_module(make_broken(BoundedLogits), overfit=True)) == {"cannot-overfit"}


def test_every_code_has_a_broken_model() -> None:
    elsewhere = {"not-deterministic", "cannot-overfit", "zero-at-start", "called-as"}
    structure = {"scalar-norm", "shared-module", "attention-scale", "position-frequencies", "plain-tensor"}
    structure |= {"softmax-dimension", "skipped-sublayer"}
    model = {code for code in MODEL_FINDINGS if not code.startswith(("loss-", "search-"))}
    assert {code for _, code in BROKEN} | elsewhere | structure | {"drowned-positions"} == model


def test_examining_changes_nothing() -> None:
    model = our_model()
    before = {name: tensor.clone() for name, tensor in model.named_parameters()}
    state = torch.get_rng_state()
    examine_module(model, overfit=True)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.named_parameters())
    assert all(tensor.grad is None for tensor in model.parameters())
    assert torch.equal(torch.get_rng_state(), state)


def test_attributes_that_may_keep_state_or_layers_are_named() -> None:
    for model_class, name in ((CarriesState, "CarriesState.state"), (KeepsFirstMemory, "KeepsFirstMemory.sources")):
        (finding,) = examine(make_broken(model_class), **IDS)
        assert finding.measured["attributes"] == [name]
    model = make_broken(LayersInList)
    for forward in (model, model.forward, lambda source, target: model(source, target)):
        found = [finding for finding in examine(forward, **IDS) if finding.code == "unregistered-layers"]
        assert "LayersInList.layers (2 Sequentials)" in found[0].message


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_traced_models_are_examined() -> None:
    bigrams = torch.jit.trace(nn.Embedding(SIZE, SIZE), torch.tensor([[1, 2]]))  # type: ignore[no-untyped-call]
    assert codes(examine(lambda source, target: bigrams(target), **IDS)) == {"source-ignored", "target-ignored"}


def on_copies(model: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    def forward(source: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = model(source.clone(), target.clone())
        return logits

    return forward


def test_the_ids_that_change_are_named_and_copies_may_change() -> None:
    for model_class, side in ((ReplacesUnknownWords, "source"), (HidesTargetPadding, "target")):
        (finding,) = examine_broken(model_class)
        assert finding.measured["sides"] == [side]
        assert not codes(examine(on_copies(make_broken(model_class)), **IDS))


def test_measurements_locate_the_fault() -> None:
    (leak,) = examine_broken(OffByOne)
    assert leak.measured["reach"] == 2, "two layers that each see one token ahead"
    assert "2 later tokens" in leak.message
    (unmasked,) = examine_broken(NoCausalMask)
    assert unmasked.measured["reach"] == 9
    assert "all later tokens" in unmasked.message
    assert leak.cause != unmasked.cause
    (gradient,) = examine_broken(UnusedLayer)
    assert gradient.measured["parameters"] == ["unused.weight", "unused.bias"]
    (skipped,) = examine_broken(SkippedLayers)
    assert "layers.* (4 parameters)" in skipped.message
    (limit,) = examine_broken(FewPositions)
    assert (limit.measured["side"], limit.measured["limit"], limit.severity) == ("target", 50, "warning")
    (promised,) = examine_broken(FewPositions, max_length=60)
    assert promised.severity == "error"
    assert not examine_broken(FewPositions, max_length=50)


@pytest.mark.parametrize(
    ("code", "message", "measured"),
    [
        ("batch-leak", r"changing only the other sentences of a batch changes", set()),
        ("source-padding-leak", r"padding a source of 7 ids to \d+ ids changes", {"padding"}),
        ("target-padding-leak", r"padding after the end of a target changes the predictions before it", set()),
        ("future-leak", r"changing only later target tokens changes predictions", {"reach"}),
    ],
)
def test_leaks_are_described_and_measured(code: str, message: str, measured: set[str]) -> None:
    leaky = next(model_class for model_class, its_code in BROKEN if its_code == code)
    (leak,) = examine_broken(leaky)
    assert leak.measured.keys() - {"module"} == {"probability", "relative"} | measured
    amount = f"by up to {leak.measured['probability']:.2g} in probability"
    assert re.match(message + ".*" + re.escape(amount), leak.message)
    if "padding" in leak.measured:
        assert f"to {7 + leak.measured['padding']} ids" in leak.message


class LittlePadding(Broken):
    """Correct, unless a source ends with exactly one id of padding."""

    def change_logits(self, logits: Tensor, source: Tensor, target: Tensor) -> Tensor:
        return torch.where(((source == PAD).sum(1) == 1)[:, None, None], logits.roll(1, -1), logits)


def test_the_padding_that_changes_most_is_named() -> None:
    (leak,) = [each for each in examine_module(make_broken(LittlePadding)) if each.code == "source-padding-leak"]
    assert leak.measured["padding"] == 1


def test_what_is_harmless_or_only_wasteful_is_no_error() -> None:
    severities = {
        model_class: {(finding.code, finding.severity) for finding in examine_broken(model_class)}
        for model_class in (UnusedLayer, SkippedLayers, NormsInForward, RandomLayerInForward, OverflowsInHalf)
    }
    assert severities == {
        UnusedLayer: {("no-gradient", "warning")},
        SkippedLayers: {("no-gradient", "error")},
        NormsInForward: {("created-in-forward", "warning")},
        RandomLayerInForward: {("created-in-forward", "error")},
        OverflowsInHalf: {("overflow", "note")},
    }


def test_experts_are_reached_by_many_tokens_and_others_are_noted() -> None:
    (note,) = [finding for finding in examine_module(make_broken(MixtureOfExperts)) if finding.code == "no-gradient"]
    assert note.severity == "note"
    assert note.measured["parameters"] == ["experts.7.weight", "experts.7.bias"]


def test_experts_that_choose_tokens_are_a_possible_cause_of_a_future_leak() -> None:
    leaks = [each for each in examine_module(make_broken(ExpertsChooseTokens)) if each.code == "future-leak"]
    assert "a mixture of experts chooses among the tokens of several positions" in leaks[0].cause


def test_frozen_models_are_noted() -> None:
    findings = examine_module(make_broken(TorchModel).requires_grad_(False), overfit=True)
    assert {(finding.code, finding.severity) for finding in findings if finding.code == "no-gradient"} == {
        ("no-gradient", "note")
    }
    assert is_healthy(findings)


def test_models_are_examined_within_their_length_limits() -> None:
    for limit in (10, 11, 20, 60):
        assert not codes(examine_module(our_model(max_length=limit), max_length=limit))
        assert codes(examine_module(our_model(max_length=limit))) == {"length-limit"}


def test_only_untrained_models_must_have_the_loss_of_guessing() -> None:
    model = make_broken(LargeSharedEmbeddings)
    assert codes(examine_module(model, fresh=False)) == set()
    for tensor in model.parameters():
        tensor.data += 0.01 * torch.randn_like(tensor)  # as training does
    assert codes(examine_module(model)) == set()
    assert codes(examine_module(model, fresh=True)) == {"bad-initial-loss"}


def test_functions_that_are_not_such_models_are_refused() -> None:
    with pytest.raises(UserError, match="not a tensor"):
        examine(lambda source, target: None, **IDS)  # type: ignore[arg-type,return-value]
    with pytest.raises(UserError, match=r"\(4, 10, 50\)"):
        examine(lambda source, target: torch.zeros(*source.shape, SIZE), **IDS)
    with pytest.raises(UserError, match="IndexError"):
        examine(_fail, **IDS)
    with pytest.raises(UserError, match="vocabulary_size = 6: too small"):
        examine(_fail, **{**IDS, "vocabulary_size": 6})
    with pytest.raises(UserError, match="max_length = 9: at least 10 ids"):
        examine(_fail, **IDS, max_length=9)
    with pytest.raises(UserError, match=r"SystemExit in .*no GPU"):
        examine(lambda source, target: sys.exit("no GPU"), **IDS)


def test_a_model_without_values_is_refused() -> None:
    with pytest.raises(UserError, match="device 'meta'"):
        examine(lambda source, target: torch.zeros(*target.shape, SIZE, device="meta"), **IDS)


@pytest.mark.parametrize("value", [-math.inf, math.inf, math.nan])
def test_a_model_without_finite_logits_overflows(value: float) -> None:
    assert codes(examine(lambda source, target: torch.full((*target.shape, SIZE), value), **IDS)) == {"overflow"}


def _fail(source: Tensor, target: Tensor) -> Tensor:
    raise IndexError("no")


def test_exchanged_masks_are_the_cause_of_both_findings() -> None:
    findings = {each.code: each for each in examine_module(make_broken(ExchangedMasks)) if each.severity == "error"}
    assert findings.keys() == {"future-leak", "source-ignored"}
    assert all("are exchanged" in each.cause for each in findings.values())
    for model_class in (NoCausalMask, CausalCrossAttention):
        assert not any("are exchanged" in each.cause for each in examine_module(make_broken(model_class)))
