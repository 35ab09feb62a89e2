"""R-Drop adds the divergence between two passes to the mean of their losses; the fused loss and its gradients agree."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.kernels import projected_loss
from dragoman.kernels import projected_r_drop as r_drop_module
from dragoman.kernels.projected_loss import plain_cross_entropy
from dragoman.kernels.projected_r_drop import plain_r_drop, projected_r_drop

TOKENS, D_MODEL, VOCABULARY, PAD = 40, 16, 50, 3
LOSSES = pytest.mark.parametrize("loss", [plain_r_drop, projected_r_drop])
Loss = Callable[..., tuple[Tensor, Tensor]]


def parts(*, bias: bool = True, dtype: torch.dtype = torch.float32) -> tuple[list[Tensor], Tensor]:
    """Hidden states of two passes, weight and (if wanted) bias as leaves, and targets, some of which are padding."""
    generator = torch.Generator().manual_seed(1)
    shapes = ((2, TOKENS, D_MODEL), (VOCABULARY, D_MODEL), (VOCABULARY,))[: 2 + bias]
    leaves = [(torch.randn(shape, generator=generator) / 2).to(dtype).requires_grad_() for shape in shapes]
    targets = torch.randint(VOCABULARY, (TOKENS,), generator=generator)
    targets[::7] = PAD
    return leaves, targets


def compute(
    loss: Loss, leaves: list[Tensor], targets: Tensor, weight: float, smoothing: float = 0.1, ignore: int | None = PAD
) -> list[Tensor]:
    """Loss, log-likelihood and gradients."""
    hidden, matrix, *bias = leaves
    total, nll = loss(hidden, (matrix, bias[0] if bias else None), targets, smoothing, weight, ignore)
    assert not nll.requires_grad
    return [total.detach(), nll, *torch.autograd.grad(total / 3, leaves)]


def assert_near(ours: list[Tensor], theirs: list[Tensor], tolerance: float) -> None:
    """Equal within a tolerance relative to the largest entry of each tensor."""
    for our, their in zip(ours, theirs, strict=True):
        assert our.shape == their.shape
        limit = tolerance * their.abs().max().item()
        torch.testing.assert_close(our.double(), their.double(), rtol=0.0, atol=limit)


def formula(hidden: Tensor, projection: tuple[Tensor, Tensor | None], targets: Tensor, *rest: float) -> Tensor:
    """Eq. 3 of the paper, halved, by torch's functions."""
    smoothing, weight, ignore = rest
    real = targets != ignore
    logs = [F.linear(each[real], *projection).log_softmax(-1) for each in hidden]
    entropies = [F.cross_entropy(log, targets[real], reduction="sum", label_smoothing=smoothing) for log in logs]
    divergences = [F.kl_div(a, b, reduction="sum", log_target=True) for a, b in (logs, logs[::-1])]
    return torch.stack(entropies).sum() / 2 + weight / 2 * torch.stack(divergences).sum() / 2


@LOSSES
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("weight", "smoothing"), [(0.0, 0.1), (3.0, 0.0), (5.0, 0.3)])
def test_value_and_gradients_are_those_of_the_formula(loss: Loss, weight: float, smoothing: float, bias: bool) -> None:
    leaves, targets = parts(bias=bias)
    expected = formula(leaves[0], (leaves[1], leaves[2] if bias else None), targets, smoothing, weight, PAD)
    gradients = torch.autograd.grad(expected / 3, leaves)
    value, _, *ours = compute(loss, leaves, targets, weight, smoothing)
    assert_near([value, *ours], [expected.detach(), *gradients], 1e-5)


@LOSSES
def test_the_likelihood_is_that_of_the_first_pass(loss: Loss) -> None:
    leaves, targets = parts()
    hidden, weight, bias = leaves
    _, nll, *_ = compute(loss, leaves, targets, 5.0)
    torch.testing.assert_close(nll, plain_cross_entropy(hidden[0], weight, bias, targets, 0.0, PAD)[0].detach())


@LOSSES
def test_passes_that_agree_cost_nothing_more(loss: Loss) -> None:
    (hidden, weight, bias), targets = parts()
    same = hidden[:1].expand(2, -1, -1).detach()
    total, _ = loss(same, (weight, bias), targets, 0.1, 5.0, PAD)
    torch.testing.assert_close(total, plain_cross_entropy(same[0], weight, bias, targets, 0.1, PAD)[0])


@LOSSES
def test_ignored_targets_have_no_loss(loss: Loss) -> None:
    leaves, targets = parts()
    real = targets != PAD
    fewer = [leaves[0][:, real].detach().requires_grad_(), *leaves[1:]]
    total, nll, d_hidden, *ours = compute(loss, leaves, targets, 2.0)
    expected, expected_nll, _, *theirs = compute(loss, fewer, targets[real], 2.0, ignore=None)
    assert_near([total, nll, *ours], [expected, expected_nll, *theirs], 1e-5)
    assert not d_hidden[:, ~real].any()


@pytest.mark.parametrize("chunk", [1, 7, TOKENS - 1, 2 * TOKENS])
@pytest.mark.parametrize("split", [1, 2, TOKENS])
def test_some_tokens_at_a_time_are_all_tokens(chunk: int, split: int, monkeypatch: pytest.MonkeyPatch) -> None:
    leaves, targets = parts()
    at_once = compute(projected_r_drop, leaves, targets, 5.0)
    monkeypatch.setattr(projected_loss, "LOGITS_AT_ONCE_ON_CPU", 2 * chunk * VOCABULARY)
    monkeypatch.setattr(r_drop_module, "NUMBERS_AT_ONCE_ON_CPU", split * VOCABULARY)
    assert_near(compute(projected_r_drop, leaves, targets, 5.0), at_once, 1e-6)


def test_bfloat16_is_as_exact_as_without_the_fused_loss() -> None:
    exact = compute(plain_r_drop, *parts(dtype=torch.float64), 5.0)
    ours, plain = (compute(each, *parts(dtype=torch.bfloat16), 5.0) for each in (projected_r_drop, plain_r_drop))
    for our, their, right in zip(ours, plain, exact, strict=True):
        error, usual = ((each.double() - right).norm() for each in (our, their))
        assert error < 1.5 * usual


@pytest.mark.parametrize("chunk", [7, 2 * TOKENS])
def test_float16_is_close(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projected_loss, "LOGITS_AT_ONCE_ON_CPU", 4 * 2 * chunk * VOCABULARY)
    ours = compute(projected_r_drop, *parts(dtype=torch.float16), 5.0)
    assert_near(ours, compute(plain_r_drop, *parts(dtype=torch.float64), 5.0), 1e-2)


def test_float16_gradients_are_rounded_after_the_loss_is_scaled() -> None:
    """The gradients of tokens that the model is almost certain about are smaller than the numbers of float16."""
    weight, hidden = torch.zeros(VOCABULARY, D_MODEL), torch.zeros(2, 3, D_MODEL)
    weight[0, 0], hidden[0, :, 0], hidden[1, :, 0], scale = 1.0, 14.0, 15.0, 2.0**16
    targets = torch.zeros(3, dtype=torch.int64)
    half, exact = (
        [each.to(dtype).requires_grad_() for each in (hidden, weight)] for dtype in (torch.half, torch.double)
    )
    found, expected = (
        torch.autograd.grad(loss(leaves[0], (leaves[1], None), targets, 0.0, 1.0, None)[0] * scale, leaves)
        for loss, leaves in ((projected_r_drop, half), (plain_r_drop, exact))
    )
    assert_near(list(found), list(expected), 0.05)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@LOSSES
def test_without_tokens_there_is_no_loss(loss: Loss, dtype: torch.dtype) -> None:
    (hidden, *projection), targets = parts(dtype=dtype)
    none = [hidden[:, :0].detach().requires_grad_(), *projection]
    padding = [hidden, *projection], torch.full_like(targets, PAD)
    for leaves, ids in ((none, targets[:0]), padding):
        assert not any(each.any() for each in compute(loss, leaves, ids, 5.0))


def test_ignored_targets_never_make_a_gpu_wait() -> None:
    """The meta device, which has no values, refuses every operator whose result has a size that depends on them."""
    hidden, weight = (torch.zeros(*shape, 4, device="meta", requires_grad=True) for shape in ((2, 8), (10,)))
    targets = torch.zeros(8, dtype=torch.int64, device="meta")
    for loss in (projected_r_drop, plain_r_drop):
        total, _ = loss(hidden, (weight, None), targets, 0.1, 5.0, PAD)
        total.backward()  # type: ignore[no-untyped-call]
