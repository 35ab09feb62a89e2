"""Prepacked weights give the results of plain ones, also after the weights have changed."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from steps import Steps, check_steps
from tiny_models import VARIANTS, padded_source, random_ids, tiny_model
from torch import Tensor
from torch.nn import functional as F

from dragoman.kernels import KERNELS, accelerated, linear
from dragoman.kernels.linear import PrepackedLinear, rounded_rows
from dragoman.kernels.operators import HAS_ONEDNN_LINEAR
from dragoman.model.attention import StackedLinear
from dragoman.model.transformer import Transformer

pytestmark = pytest.mark.skipif(not HAS_ONEDNN_LINEAR, reason="this processor has no AVX-512")


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


def numbers(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.fixture(params=["oneDNN", "torch"])
def _library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which library computes the small products of these tests."""
    monkeypatch.setattr(linear, "FEW_ROWS", 0 if request.param == "oneDNN" else 64)
    monkeypatch.setattr(linear, "MIN_PRODUCTS", 1)


@pytest.mark.usefixtures("_library")
@torch.no_grad()
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sizes", [(48, 16), (16, 48)], ids=str)
@pytest.mark.parametrize("shape", [(1,), (0,), (7,), (13,), (2, 300), (3, 1), (2, 3, 5)], ids=str)
def test_products_are_those_of_plain_weights(shape: tuple[int, ...], sizes: tuple[int, int], bias: bool) -> None:
    size_out, size_in = sizes
    plain = StackedLinear(size_in, size_out, bias=bias)
    packed, x = PrepackedLinear(plain), numbers(*shape, size_in)
    for rows in (slice(None), slice(8), slice(8, None)):
        close(packed(x, rows), plain(x, rows))


@torch.no_grad()
def test_changed_weights_are_packed_again() -> None:
    plain, x = StackedLinear(512, 64), numbers(32, 512)
    packed = PrepackedLinear(plain)
    packed(x)
    plain.weight.mul_(2)
    close(packed(x), F.linear(x, plain.weight, plain.bias))
    plain.weight.data = numbers(64, 512)
    close(packed(x), F.linear(x, plain.weight, plain.bias))
    copied = deepcopy(packed)
    copied.weight.mul_(3)
    close(copied(x), F.linear(x, copied.weight, copied.bias))


def test_gradients_are_those_of_plain_weights() -> None:
    plain, x = StackedLinear(512, 64), numbers(256, 512).requires_grad_()
    found, expected = (
        torch.autograd.grad(each(x).square().sum(), plain.weight)[0] for each in (PrepackedLinear(plain), plain)
    )
    close(found, expected)


def test_the_number_of_rows_takes_few_values() -> None:
    sizes = [rounded_rows(rows) for rows in range(1, 2001)]
    assert all(rows <= size <= max(rows + 8, 1.15 * rows) for rows, size in enumerate(sizes, start=1))
    assert len(set(sizes)) < 100
    assert all(rounded_rows(size) == size for size in sizes)


@pytest.mark.usefixtures("_library")
@pytest.mark.parametrize("options", [*VARIANTS, {"attention": "fused"}], ids=str)
@pytest.mark.parametrize("lengths", [(4, 6, 2), (4, 4, 4), (17, 16, 33)], ids=str)
def test_steps_give_the_logits_of_the_model(options: dict[str, Any], lengths: tuple[int, ...]) -> None:
    check_steps(tiny_model(**{"max_length": 40, **options}), padded_source(*lengths), accelerated)


@pytest.mark.usefixtures("_library")
@torch.inference_mode()
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_many_rows_and_positions(positions: str) -> None:
    steps = Steps(tiny_model(max_length=40, positions=positions), padded_source(*range(2, 15)), accelerated)
    steps.select([sentence for sentence in range(13) for _ in range(11)], None)
    for length in range(40):
        steps.feed(random_ids(143, seed=length))
        if length % 16 == 0:
            steps.select(list(reversed(range(143))), list(reversed(range(13))))


def test_a_model_can_be_accelerated_without_prepacked_weights() -> None:
    def kinds(model: Transformer) -> set[type]:
        return {type(module) for module in model.modules()}

    assert PrepackedLinear in kinds(accelerated(tiny_model()))
    assert PrepackedLinear not in kinds(accelerated(tiny_model(), kernels=KERNELS.keys() - {"prepacked"}))
