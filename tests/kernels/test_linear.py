"""Linear maps by oneDNN have the values and gradients of torch's."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.kernels import linear as module
from dragoman.kernels.linear import OneDNNLinear, matmul, matmul_nt, matmul_tn, onednn_linear

pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch without oneDNN")  # type: ignore[no-untyped-call]
close = torch.testing.assert_close


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Shapes given to oneDNN, which now computes small products too."""
    shapes: list[tuple[int, ...]] = []
    onednn = module._onednn

    def recorded(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
        shapes.append((*a.shape, *b.shape))
        return onednn(a, b, bias)

    monkeypatch.setattr(module, "HAS_ONEDNN_LINEAR", True)
    monkeypatch.setattr(module, "MIN_ONEDNN_INPUT", 1)
    monkeypatch.setattr(module, "_onednn", recorded)
    return shapes


def random(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float32)


@pytest.mark.parametrize(("m", "k", "n"), [(7, 5, 3), (33, 16, 48), (1, 20, 20), (64, 48, 16)])
def test_products_are_those_of_torch(m: int, k: int, n: int, calls: list[tuple[int, ...]]) -> None:
    close(matmul_nt(random(m, k), random(n, k), random(n)), random(m, k) @ random(n, k).T + random(n))
    close(matmul(random(m, k), random(k, n)), random(m, k) @ random(k, n))
    close(matmul_tn(random(k, m), random(k, n)), random(k, m).T @ random(k, n))
    assert len(calls) == 3


@pytest.mark.parametrize("shape", [(6, 5), (2, 3, 5)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("out", [3, 9])
def test_value_and_gradients_are_those_of_torch(
    out: int, bias: bool, shape: tuple[int, ...], calls: list[tuple[int, ...]]
) -> None:
    leaves = [random(*shape), random(out, 5), *([random(out)] if bias else [])]
    ours, theirs = ([leaf.clone().requires_grad_() for leaf in leaves] for _ in range(2))
    values = onednn_linear(*ours), F.linear(*theirs)
    close(*values)
    weights = random(out, *shape[:-1]).movedim(0, -1)  # so that gradients are not contiguous
    gradients = [
        torch.autograd.grad((value * weights).sum(), of) for value, of in zip(values, (ours, theirs), strict=True)
    ]
    close(*gradients)
    assert len(calls) == 3, "the value and two gradients; the bias's is a sum"


def test_what_needs_no_gradient_has_none(calls: list[tuple[int, ...]]) -> None:
    weight = random(3, 5).requires_grad_()
    (gradient,) = torch.autograd.grad(onednn_linear(random(6, 5), weight).sum(), weight)
    close(gradient, random(6, 5).sum(0).expand(3, 5))
    assert len(calls) == 2


def test_all_but_float32_is_left_to_torch(calls: list[tuple[int, ...]]) -> None:
    layer = OneDNNLinear(nn.Linear(5, 3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(random(6, 5)).dtype == torch.bfloat16
    layer.double()(random(6, 5).double())
    assert not calls
    layer.float()(random(6, 5))
    assert len(calls) == 1
    with torch.inference_mode():
        layer(random(6, 5))
    assert len(calls) == 2
