"""The parts of a layer are the equations of the reference."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dragoman.model.layers import FeedForward, SublayerConnection
from dragoman.reference import attention as reference
from dragoman.settings import Model

D_MODEL, D_FF = 6, 10
close = torch.testing.assert_close


def numpy_linear(linear: nn.Linear, outputs: slice = slice(None)) -> reference.Linear:
    """The reference's map to some of the outputs; its weight is the transpose of torch's."""
    return reference.Linear(linear.weight.detach().numpy()[outputs].T, linear.bias.detach().numpy()[outputs])


@pytest.fixture
def x() -> Tensor:
    return torch.randn(2, 3, D_MODEL, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def build(activation: str) -> FeedForward:
    torch.manual_seed(2)
    return FeedForward(D_MODEL, D_FF, activation=activation, dropout=0.0).double()


def test_relu_is_that_of_the_reference(x: Tensor) -> None:
    layer = build("relu")
    theirs = reference.feed_forward(x.numpy(), numpy_linear(layer.inner), numpy_linear(layer.outer))
    close(layer(x), torch.from_numpy(theirs))


def test_gelu_weighs_by_the_normal_distribution(x: Tensor) -> None:
    """x Φ(x) (Hendrycks and Gimpel 2016, eq. 1)."""
    layer = build("gelu")
    inner = torch.from_numpy(numpy_linear(layer.inner)(x.numpy()))
    hidden = inner * (1 + torch.erf(inner / 2**0.5)) / 2
    close(layer(x), torch.from_numpy(numpy_linear(layer.outer)(hidden.numpy())))


def test_silu_is_gated_by_itself(x: Tensor) -> None:
    """x σ(x), also called Swish (Ramachandran et al. 2017)."""
    layer = build("silu")
    inner = numpy_linear(layer.inner)(x.numpy())
    close(layer(x), torch.from_numpy(numpy_linear(layer.outer)(inner / (1 + np.exp(-inner)))))


def test_swiglu_lets_the_first_half_gate_the_second(x: Tensor) -> None:
    """(Swish(x W) * x V) W_2 (Shazeer 2020, eq. 6)."""
    layer = build("swiglu")
    gate = numpy_linear(layer.inner, slice(None, D_FF))(x.numpy())
    value = numpy_linear(layer.inner, slice(D_FF, None))(x.numpy())
    hidden = gate / (1 + np.exp(-gate)) * value
    close(layer(x), torch.from_numpy(numpy_linear(layer.outer)(hidden)))


@pytest.mark.parametrize("epsilon", [1e-6, 0.5])
@pytest.mark.parametrize("pre_norm", [True, False])
def test_the_norm_is_before_or_after_the_sublayer(x: Tensor, pre_norm: bool, epsilon: float) -> None:
    settings = Model(d_model=D_MODEL, heads=1, norm="pre" if pre_norm else "post", norm_epsilon=epsilon, dropout=0.0)
    residual = SublayerConnection(settings).double()
    for parameter in residual.parameters():
        nn.init.normal_(parameter)
    gain, bias = residual.norm.weight.detach().numpy(), residual.norm.bias.detach().numpy()

    def norm(array: reference.Array) -> reference.Array:
        return reference.layer_norm(array, gain, bias, epsilon)

    before = x.numpy()
    after = before + np.sin(norm(before)) if pre_norm else norm(before + np.sin(before))
    close(residual(x, torch.sin), torch.from_numpy(after))
