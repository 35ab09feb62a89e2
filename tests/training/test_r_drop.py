"""R-Drop adds the divergence between two passes to the mean of their losses."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from dragoman.settings import Training
from dragoman.training.r_drop import r_drop_loss


def settings(weight: float) -> Training:
    return Training(steps=1, r_drop=weight, label_smoothing=0.1)


@pytest.mark.parametrize("weight", [0.0, 3.0])
def test_two_passes_are_drawn_together(weight: float) -> None:
    generator = torch.Generator().manual_seed(1)
    first, second = (torch.randn(5, 7, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(2))
    targets = torch.tensor([3, 0, 2, 0, 6])
    real = targets != 0
    loss, nll = r_drop_loss((first, second), targets, settings(weight), ignore=0)
    logs = [logits[real].log_softmax(-1) for logits in (first, second)]
    entropies = [F.cross_entropy(log, targets[real], reduction="sum", label_smoothing=0.1) for log in logs]
    divergences = [F.kl_div(a, b, reduction="sum", log_target=True) for a, b in (logs, logs[::-1])]
    expected = torch.stack(entropies).sum() / 2 + weight / 2 * torch.stack(divergences).sum() / 2
    torch.testing.assert_close(loss, expected, check_dtype=False)
    torch.testing.assert_close(nll, F.nll_loss(logs[0], targets[real], reduction="sum"), check_dtype=False)
    for ours, theirs in zip(
        torch.autograd.grad(loss, (first, second)), torch.autograd.grad(expected, (first, second)), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_passes_that_agree_cost_nothing_more() -> None:
    logits, targets = torch.randn(6, 9), torch.tensor([1, 2, 3, 4, 0, 0])
    loss, _ = r_drop_loss((logits, logits.clone()), targets, settings(5.0), ignore=0)
    torch.testing.assert_close(
        loss, F.cross_entropy(logits, targets, reduction="sum", label_smoothing=0.1, ignore_index=0)
    )
