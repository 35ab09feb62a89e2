"""Dropout in the model: the right share, the same mean, its own gradient."""

from __future__ import annotations

import math

import pytest
import torch
from tiny_models import padded_source, random_ids, tiny_model

from dragoman.kernels import accelerate
from dragoman.kernels.dropout import ByteDropout


def dropout(x: torch.Tensor, probability: float, training: bool) -> torch.Tensor:
    result: torch.Tensor = ByteDropout(probability).train(training)(x)
    return result


COUNT = 200_003  # odd on purpose: no multiple of anything the random bytes come in


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9])
def test_share_of_zeros_and_mean(probability: float) -> None:
    torch.manual_seed(1)
    result = dropout(torch.ones(COUNT), probability, training=True)
    zeros = (result == 0).float().mean().item()
    deviation = math.sqrt(probability * (1 - probability) / COUNT)
    assert abs(zeros - probability) < 1 / 512 + 5 * deviation  # the probability may be rounded to a 256th
    assert len(set(result.tolist())) == 2
    scale = result.max().item()
    assert abs(result.mean().item() - 1) < 5 * scale * deviation
    assert scale == pytest.approx(1 / (1 - probability), rel=1 / 512 / (1 - probability) + 1e-6)


@pytest.mark.parametrize("probability", [0.001, 0.999])
def test_extreme_probabilities_are_not_rounded_to_all_or_nothing(probability: float) -> None:
    torch.manual_seed(1)
    result = dropout(torch.ones(COUNT), probability, training=True)
    assert len(set(result.tolist())) == 2
    assert result.isfinite().all()


def test_neighbours_drop_independently() -> None:
    torch.manual_seed(1)
    zeros = (dropout(torch.ones(COUNT), 0.5, training=True) == 0).double() - 0.5
    for shift in (1, 2, 3, 4, 8, 16):
        correlation = 4 * (zeros[shift:] * zeros[:-shift]).mean().item()
        assert abs(correlation) < 5 / math.sqrt(COUNT)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_gradient_is_the_mask_and_its_scale(dtype: torch.dtype) -> None:
    x = torch.randn(7, 5, 13, dtype=dtype).transpose(0, 1).requires_grad_()
    torch.manual_seed(1)
    result = dropout(x, 0.25, training=True)
    torch.manual_seed(1)
    scale = dropout(torch.ones_like(x), 0.25, training=True)
    assert 0 < (scale == 0).sum() < scale.numel()
    upstream = torch.randn_like(result)
    (gradient,) = torch.autograd.grad(result, x, upstream)
    assert result.dtype == dtype
    assert torch.equal(result, x * scale)
    assert torch.equal(gradient, upstream * scale)


def test_nothing_happens_outside_training_or_without_probability() -> None:
    x = torch.randn(100)
    assert torch.equal(dropout(x, 0.5, training=False), x)
    assert torch.equal(dropout(x, 0.0, training=True), x)


def test_the_seed_decides() -> None:
    def draw(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return torch.stack([dropout(torch.ones(64), 0.5, training=True) for _ in range(2)])

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))
    assert not torch.equal(draw(1)[0], draw(1)[1])


@pytest.mark.parametrize("fast", [False, True], ids=["plain", "fast"])
@pytest.mark.parametrize("attention", ["explicit", "fused"])
@pytest.mark.parametrize("where", ["dropout", "attention_dropout", "activation_dropout"])
def test_each_dropout_of_the_model_acts_in_training_only(where: str, attention: str, fast: bool) -> None:
    off = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
    model = tiny_model(**{**off, where: 0.2}, attention=attention)
    if fast:
        accelerate(model)
    still = tiny_model(**off)
    source, target = padded_source(6, 4), random_ids(2, 5)
    torch.testing.assert_close(model(source, target), still(source, target))
    torch.testing.assert_close(still.train()(source, target), still.eval()(source, target))
    model.train()
    torch.manual_seed(1)
    first, second = model(source, target), model(source, target)
    torch.manual_seed(1)
    assert torch.equal(model(source, target), first)
    assert not torch.allclose(first, second)
