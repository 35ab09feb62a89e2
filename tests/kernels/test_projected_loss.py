"""The fused loss is that of torch, and so are its gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.kernels import projected_loss as loss_module
from dragoman.kernels.projected_loss import plain_cross_entropy, projected_cross_entropy

TOKENS, D_MODEL, VOCABULARY = 40, 16, 50
close = torch.testing.assert_close


def parts(*, bias: bool, dtype: torch.dtype = torch.float32, spread: float = 1.0) -> tuple[list[Tensor], Tensor]:
    """Hidden states, weight and (if wanted) bias as leaves, and targets."""
    generator = torch.Generator().manual_seed(1)
    shapes = ((TOKENS, D_MODEL), (VOCABULARY, D_MODEL), (VOCABULARY,))[: 2 + bias]
    leaves = [(torch.randn(shape, generator=generator) * spread).to(dtype).requires_grad_() for shape in shapes]
    return leaves, torch.randint(VOCABULARY, (TOKENS,), generator=generator)


def ours(leaves: list[Tensor], targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    hidden, weight, *bias = leaves
    return projected_cross_entropy(hidden, weight, bias[0] if bias else None, targets, smoothing)


def theirs(leaves: list[Tensor], targets: Tensor, smoothing: float) -> Tensor:
    return F.cross_entropy(F.linear(*leaves), targets, label_smoothing=smoothing, reduction="sum")


def gradients(loss: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    return list(torch.autograd.grad(loss, leaves))


def assert_near(ours: list[Tensor], theirs: list[Tensor], tolerance: float) -> None:
    """Equal within a tolerance relative to the largest entry of each tensor."""
    for our, their in zip(ours, theirs, strict=True):
        assert our.shape == their.shape
        close(our.double(), their.double(), rtol=0.0, atol=tolerance * their.abs().max().item())


@pytest.mark.parametrize("spread", [0.1, 1.0])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_value_and_gradients_are_those_of_torch(smoothing: float, bias: bool, spread: float) -> None:
    leaves, targets = parts(bias=bias, spread=spread)
    loss, _ = ours(leaves, targets, smoothing)
    expected = theirs(leaves, targets, smoothing)
    close(loss, expected, rtol=1e-5, atol=0.0)
    assert_near(gradients(loss, leaves), gradients(expected, leaves), 1e-5)


@pytest.mark.parametrize("bias", [True, False])
def test_ignored_targets_have_no_loss(bias: bool) -> None:
    leaves, targets = parts(bias=bias)
    targets[::7] = 0
    real = targets != 0
    assert 0 < real.sum() < len(targets)
    hidden, *rest = leaves
    loss, likelihood = projected_cross_entropy(hidden, rest[0], rest[1] if bias else None, targets, 0.1, ignore=0)
    expected, expected_likelihood = ours([hidden[real], *rest], targets[real], 0.1)
    close([loss, likelihood], [expected, expected_likelihood])
    assert_near(gradients(loss, leaves), gradients(expected, leaves), 1e-6)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 7, TOKENS - 1])
def test_some_tokens_at_a_time_are_all_tokens(rows: int, bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    leaves, targets = parts(bias=bias)
    ignore = int(targets[3])

    def all_tokens() -> list[Tensor]:
        hidden, weight = leaves[:2]
        values = projected_cross_entropy(hidden, weight, leaves[2] if bias else None, targets, 0.1, ignore=ignore)
        return [*values, *gradients(values[0], leaves)]

    at_once = all_tokens()
    monkeypatch.setattr(loss_module, "LOGITS_AT_ONCE_ON_CPU", rows * VOCABULARY)
    assert_near(all_tokens(), at_once, 1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_scale_with_the_upstream_gradient(smoothing: float) -> None:
    leaves, targets = parts(bias=True)
    scaled = gradients(ours(leaves, targets, smoothing)[0] / 7 + 3, leaves)
    assert_near(scaled, gradients(theirs(leaves, targets, smoothing) / 7, leaves), 1e-5)


def test_gradients_flow_into_what_made_the_hidden_states() -> None:
    (x, weight), targets = parts(bias=False)
    inner = torch.eye(D_MODEL).requires_grad_()
    loss, _ = projected_cross_entropy(torch.tanh(x @ inner), weight, None, targets, 0.1)
    expected = theirs([torch.tanh(x @ inner), weight], targets, 0.1)
    assert_near(gradients(loss, [x, inner, weight]), gradients(expected, [x, inner, weight]), 1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("bias", [True, False])
def test_likelihood_is_the_loss_without_smoothing(smoothing: float, bias: bool) -> None:
    leaves, targets = parts(bias=bias)
    loss, likelihood = ours(leaves, targets, smoothing)
    close(likelihood, theirs(leaves, targets, 0.0), rtol=1e-5, atol=0.0)
    assert torch.equal(likelihood, loss) == (smoothing == 0.0)
    assert not likelihood.requires_grad


def test_batches_add_up() -> None:
    """Losses are sums: accumulated batches have the gradient of one."""
    (hidden, weight, bias), targets = parts(bias=True)
    whole, _ = projected_cross_entropy(hidden, weight, bias, targets, 0.1)
    halves = [
        projected_cross_entropy(hidden[part], weight, bias, targets[part], 0.1)[0]
        for part in (slice(None, 13), slice(13, None))
    ]
    close(halves[0] + halves[1], whole)
    leaves = [hidden, weight, bias]
    assert_near(gradients(halves[0] + halves[1], leaves), gradients(whole, leaves), 1e-5)


def test_without_gradients_the_value_is_the_same() -> None:
    leaves, targets = parts(bias=True)
    with torch.inference_mode():
        plain = ours(leaves, targets, 0.1)
    close(plain, ours(leaves, targets, 0.1))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_bfloat16_is_close(smoothing: float) -> None:
    leaves, targets = parts(bias=True, dtype=torch.bfloat16)
    exact = [leaf.detach().float().requires_grad_() for leaf in leaves]
    loss, _ = ours(leaves, targets, smoothing)
    expected = theirs(exact, targets, smoothing)
    close(loss.float(), expected, rtol=2e-2, atol=0.0)
    found = gradients(loss, leaves)
    assert all(gradient.dtype == torch.bfloat16 for gradient in found)
    assert_near(found, gradients(expected, exact), 3e-2)


@pytest.mark.parametrize("bias", [True, False])
def test_the_plain_equivalent_gives_the_same(bias: bool) -> None:
    leaves, targets = parts(bias=bias)
    hidden, weight, *rest = leaves
    arguments = hidden, weight, rest[0] if bias else None, targets, 0.1, int(targets[3])
    fused, plain = projected_cross_entropy(*arguments), plain_cross_entropy(*arguments)
    close(fused, plain)
    assert_near(gradients(fused[0], leaves), gradients(plain[0], leaves), 1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_loss_of_improbable_targets_is_exact(dtype: torch.dtype) -> None:
    weight = torch.zeros(VOCABULARY, D_MODEL)
    weight[0, 0], weight[1, 0] = 1.0, -1.0
    hidden = torch.zeros(3, D_MODEL)
    hidden[:, 0] = torch.tensor([9.0, 30.0, 100.0])
    loss, nll = projected_cross_entropy(hidden.to(dtype), weight.to(dtype), None, torch.ones(3, dtype=torch.int64), 0.0)
    expected = F.cross_entropy(F.linear(hidden, weight), torch.ones(3, dtype=torch.int64), reduction="sum")
    close(loss, expected, rtol=1e-3, atol=0.0)
    close(nll, expected, rtol=1e-3, atol=0.0)


def test_float16_gradients_are_rounded_after_the_loss_is_scaled() -> None:
    """The gradients of tokens that the model is almost certain about are smaller than the numbers of float16."""
    weight, hidden = torch.zeros(VOCABULARY, D_MODEL), torch.zeros(3, D_MODEL)
    weight[0, 0], hidden[:, 0], scale = 1.0, 14.0, 2.0**16
    leaves, targets = (
        [hidden.half().requires_grad_(), weight.half().requires_grad_()],
        torch.zeros(3, dtype=torch.int64),
    )
    loss, nll = ours(leaves, targets, 0.0)
    exact = [hidden.double().requires_grad_(), weight.double().requires_grad_()]
    expected = theirs(exact, targets, 0.0)
    close([loss.double(), nll.double()], [expected, expected], rtol=0.05, atol=0.0)
    assert_near(gradients(loss * scale, leaves), gradients(expected * scale, exact), 0.05)


@pytest.mark.parametrize("bias", [True, False])
def test_float16_some_tokens_at_a_time_are_all_tokens(bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    leaves, targets = parts(bias=bias, dtype=torch.float16)
    exact = [leaf.detach().float().requires_grad_() for leaf in leaves]
    real = targets != targets[3]
    expected = theirs([exact[0][real], *exact[1:]], targets[real], 0.1)
    monkeypatch.setattr(loss_module, "LOGITS_AT_ONCE_ON_CPU", 4 * 7 * VOCABULARY)
    arguments = leaves[0], leaves[1], leaves[2] if bias else None, targets, 0.1, int(targets[3])
    loss, _ = projected_cross_entropy(*arguments)
    close(loss, expected, rtol=1e-2, atol=0.0)
    assert_near(gradients(loss, leaves), gradients(expected, exact), 1e-2)


def test_second_derivatives_are_refused() -> None:
    leaves, targets = parts(bias=True)
    loss, _ = ours(leaves, targets, 0.1)
    (gradient,) = torch.autograd.grad(loss, leaves[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        gradient.square().sum().backward()  # type: ignore[no-untyped-call]


def test_float16_without_tokens_has_no_loss() -> None:
    hidden, weight = (torch.zeros(rows, D_MODEL, dtype=torch.float16, requires_grad=True) for rows in (0, VOCABULARY))
    loss, nll = ours([hidden, weight], torch.zeros(0, dtype=torch.int64), 0.1)
    assert loss.item() == nll.item() == 0.0
    assert not torch.autograd.grad(loss, weight)[0].any()
