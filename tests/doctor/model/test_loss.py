"""Right losses have no findings, and each mistake in a loss leads to its code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.doctor import examine_loss
from dragoman.errors import UserError
from dragoman.learn.exercises import SOLUTION, load_solution

SIZE, PAD = 30, 0
IDS = {"vocabulary_size": SIZE, "pad_id": PAD}
ALL_IDS = {**IDS, "bos_id": 1, "eos_id": 2}


def entropy(logits: Tensor, labels: Tensor, **options: Any) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), **{"ignore_index": PAD, **options})


def smoothed(right: float, others: float) -> Callable[[Tensor, Tensor], Tensor]:
    def loss(logits: Tensor, labels: Tensor) -> Tensor:
        log_probabilities = logits.log_softmax(dim=-1)
        losses = -right * log_probabilities.gather(-1, labels[..., None])[..., 0] - others * log_probabilities.sum(-1)
        return losses[labels != PAD].mean()

    return loss


def divergence(log_probabilities: Tensor, labels: Tensor) -> Tensor:
    """Label smoothing with KLDivLoss, as in The Annotated Transformer."""
    wanted = torch.full_like(log_probabilities, 0.1 / (SIZE - 2)).scatter(-1, labels[..., None], 0.9)
    wanted[..., PAD] = 0.0
    wanted[labels == PAD] = 0.0
    return F.kl_div(log_probabilities, wanted, reduction="sum") / (labels != PAD).sum()


LOSSES: dict[str, tuple[Callable[..., Any], set[str]]] = {
    "cross-entropy": (entropy, set()),
    "smoothed": (lambda x, y: entropy(x, y, label_smoothing=0.1), set()),
    "the module of torch": (nn.CrossEntropyLoss(ignore_index=PAD), set()),
    "NLLLoss": (nn.NLLLoss(ignore_index=PAD), set()),
    "KLDivLoss": (divergence, set()),
    "of the course": (load_solution(SOLUTION).loss, set()),
    "by hand": (smoothed(0.9, 0.1 / SIZE), set()),
    "counts padding": (lambda x, y: entropy(x, y, ignore_index=-100), {"loss-padding"}),
    "sum": (lambda x, y: entropy(x, y, reduction="sum"), {"loss-mean"}),
    "divided by all positions": (lambda x, y: entropy(x, y, reduction="sum") / y.numel(), {"loss-mean"}),
    "mean of means": (
        lambda x, y: torch.stack([F.cross_entropy(*row, ignore_index=PAD) for row in zip(x, y, strict=True)]).mean(),
        {"loss-mean"},
    ),
    "smoothing is added": (smoothed(1.0, 0.1 / SIZE), {"loss-smoothing"}),
    "smoothing is lost": (smoothed(0.9, 0.0), {"loss-smoothing"}),
    "softmax twice": (lambda x, y: entropy(x.softmax(dim=-1), y), {"loss-form"}),
    "squares": (lambda x, y: (x - F.one_hot(y, SIZE)).square().mean(), {"loss-form"}),
    "log-probabilities minus ids": (lambda x, y: (x.log_softmax(-1).amax(-1) - y).mean(), {"loss-form"}),
    "shifts labels": (lambda x, y: entropy(x[:, :-1], y[:, 1:]), {"loss-shift"}),
}

STEPS: dict[str, tuple[Callable[..., Any], set[str]]] = {
    "shifted outside": (lambda model, s, t: entropy(model(s, t[:, :-1]), t[:, 1:]), set()),
    "shifted inside": (lambda model, s, t: entropy(model(s, t)[:, :-1], t[:, 1:]), set()),
    "with masks": (lambda model, s, t: entropy(model(s, t[:, :-1], s != PAD), t[:, 1:]), set()),
    "not shifted": (lambda model, s, t: entropy(model(s, t), t), {"loss-shift"}),
    "shifted twice": (lambda model, s, t: entropy(model(s, t[:, :-1])[:, :-1], t[:, 2:]), {"loss-shift"}),
    "counts padding": (lambda model, s, t: entropy(model(s, t[:, :-1]), t[:, 1:], ignore_index=-100), {"loss-padding"}),
}


def codes(loss: Callable[..., Any], ids: dict[str, int]) -> set[str]:
    return {finding.code for finding in examine_loss(loss, **ids) if finding.severity != "note"}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_right_or_has_one_finding(name: str) -> None:
    loss, expected = LOSSES[name]
    assert codes(loss, IDS) == expected


@pytest.mark.parametrize("name", STEPS)
def test_a_training_step_shows_how_inputs_and_labels_are_shifted(name: str) -> None:
    loss, expected = STEPS[name]
    assert codes(loss, ALL_IDS) == expected


def test_a_loss_of_log_probabilities_is_noted() -> None:
    (note,) = examine_loss(nn.NLLLoss(ignore_index=PAD), **IDS)
    assert note.message == "loss(log_probabilities.flatten(0, 1), labels.flatten())"
    assert "log_softmax" not in note.message
    assert "log-probabilities" in note.cause


def test_the_message_says_which_token_is_rewarded() -> None:
    messages = {name: examine_loss(STEPS[name][0], **ALL_IDS)[0].message for name in ("not shifted", "shifted twice")}
    assert "its own token" in messages["not shifted"]
    assert "2 positions later" in messages["shifted twice"]


@pytest.mark.parametrize(
    ("loss", "ids", "message"),
    [
        (lambda logits, labels: 1.0, IDS, "the loss returns float, not a tensor with one number"),
        (lambda logits, labels: logits, IDS, "not a tensor with one number"),
        (lambda logits, labels: logits / None, IDS, "the loss fails for logits"),
        (lambda model, source, target: None, IDS, "bos_id and eos_id are needed"),
        (lambda model, source, target: torch.zeros(()), ALL_IDS, "does not call the model"),
        (entropy, {**IDS, "vocabulary_size": 5}, "at least 12 ids"),
        ("loss", IDS, "expected a function"),
    ],
)
def test_what_is_no_loss_is_refused(loss: Any, ids: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        examine_loss(loss, **ids)
