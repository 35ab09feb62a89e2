"""Int8 products are close to those of float32, and a row does not depend on the others."""

from __future__ import annotations

import pytest
import torch
from random_bundles import make_bundle, sentences
from tiny_models import padded_source, random_ids, tiny_model
from torch.nn import functional as F

from dragoman.engines import EngineRequest, open_engine
from dragoman.engines.cpu.decoder import PrepackedDecoder
from dragoman.engines.cpu.int8 import Int8Linear
from dragoman.engines.step_engine import StepEngine
from dragoman.kernels.operators import HAS_INT8_MATMUL, HAS_ONEDNN_LINEAR
from dragoman.search.hypothesis import Hypothesis

pytestmark = pytest.mark.skipif(not (HAS_ONEDNN_LINEAR and HAS_INT8_MATMUL), reason="this processor has no VNNI")


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def open_cpu(compute_type: str = "int8", beam_size: int = 3) -> StepEngine:
    bundle = make_bundle("rotary, swiglu")
    decoding = bundle.recipe.decoding.model_copy(update={"beam_size": beam_size, "max_length": 20})
    engine = open_engine(EngineRequest(bundle, decoding, compute_type=compute_type), "cpu")  # type: ignore[arg-type]
    assert isinstance(engine, StepEngine)
    return engine


def translate(engine: StepEngine, groups: list[list[list[int]]]) -> list[list[Hypothesis]]:
    return [found for sources in groups for found in engine.translate(sources)]


def sources() -> list[list[int]]:
    return [ids for ids in make_bundle("rotary, swiglu").source.encode(sentences()) if ids]


@pytest.mark.parametrize("bias", [numbers(96), None], ids=["bias", "no bias"])
@pytest.mark.parametrize("rows", [1, 5, 64])
def test_products_are_close_to_float32(rows: int, bias: torch.Tensor | None) -> None:
    x, weight, residual = numbers(rows, 64), numbers(96, 64), numbers(rows, 96)
    linear, expected = Int8Linear(weight, bias), F.linear(x, weight, bias)
    for ours, theirs in (
        (linear(x), expected),
        (linear(x, "relu"), expected.relu()),
        (linear.plus(x, residual), expected + residual),
    ):
        assert 0 < (ours - theirs).norm() < 0.02 * theirs.norm()


@pytest.mark.parametrize("bias", [numbers(96), None], ids=["bias", "no bias"])
@pytest.mark.parametrize("rows", [1, 5, 600])
def test_both_operators_give_the_same_numbers(
    rows: int, bias: torch.Tensor | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    linear, x, residual = Int8Linear(numbers(64, 96).t(), bias), numbers(rows, 64).abs(), numbers(rows, 96)
    found = []
    for large in 1, 2**30:
        monkeypatch.setattr("dragoman.engines.cpu.int8.LARGE_OUTPUT", large)
        found.append([linear(x), linear(x, "relu"), linear.plus(x, residual)])
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


def test_integers_are_exact() -> None:
    x, weight = torch.tensor([[127.0, -3.0, 0.0], [-127.0, 64.0, 2.0]]), torch.tensor([[1.0, -127.0, 5.0]])
    torch.testing.assert_close(Int8Linear(weight, None)(x), x @ weight.t())


def test_a_row_depends_on_no_other() -> None:
    linear, x = Int8Linear(numbers(96, 64), numbers(96)), numbers(16, 64)
    x[3] *= 1000
    torch.testing.assert_close(linear(x), torch.cat([linear(row[None]) for row in x]))


def test_a_row_of_zeros_gives_the_bias() -> None:
    bias = numbers(96)
    torch.testing.assert_close(Int8Linear(numbers(96, 64), bias)(torch.zeros(2, 64)), bias.expand(2, -1))


@torch.inference_mode()
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_logits_are_close_to_float32(norm: str) -> None:
    sizes = {"d_model": 64, "heads": 4, "d_ff": 128}
    model = tiny_model(norm=norm, positions="rotary", **sizes).float()
    float32, int8 = PrepackedDecoder(model), PrepackedDecoder(model, Int8Linear)
    caches = [each.start(padded_source(4, 6, 2)) for each in (float32, int8)]
    for step in range(5):
        tokens = random_ids(3, seed=step)
        expected, found = float32.step(tokens, caches[0]), int8.step(tokens, caches[1])
        assert 0 < (found - expected).norm() < 0.1 * expected.norm()


@pytest.mark.parametrize("beam_size", [1, 3])
def test_translations_do_not_depend_on_the_batch(beam_size: int) -> None:
    """Of these sentences; with many, rounding makes a different last bit of the attention decide about a few."""
    engine = open_cpu(beam_size=beam_size)
    together, alone = translate(engine, [sources()]), translate(engine, [[ids] for ids in sources()])
    assert [[each.tokens for each in found] for found in together] == [[each.tokens for each in one] for one in alone]


def test_scores_of_given_translations_are_those_of_float32() -> None:
    pairs = sources(), [[4, 5]] * len(sources())
    assert open_cpu("int8").score(*pairs) == open_cpu("float32").score(*pairs)


def test_without_instructions_for_int8_a_warning_says_that_it_computes_in_float32(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = translate(open_cpu("float32"), [sources()])
    monkeypatch.setattr("dragoman.engines.cpu.engine.HAS_INT8_MATMUL", False)
    with pytest.warns(UserWarning, match=r"the engine cpu computes in float32, because this processor .* int8"):
        engine = open_cpu("int8")
    assert engine.weight_type == "float32"
    assert translate(engine, [sources()]) == expected
