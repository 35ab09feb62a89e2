"""Whether the outputs of a model are logits: finite, reproducible, not normalized, and of a sensible size."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.differences import SAME_SHAPE, PredictionDifference, measure_difference
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Probe

MIN_LOGIT = -1e4  # a lower logit rules a token out
MAX_LOSS_FACTOR = 2.5  # times the loss of guessing; good initializations have at most 2.2


def is_finite(output: Tensor) -> bool:
    """Whether logits have neither NaN nor infinity, except that a token may be ruled out with -inf everywhere."""
    ruled_out = (output == -math.inf).flatten(0, -2).all(dim=0)
    return bool((torch.isfinite(output) | ruled_out & ~ruled_out.all()).all())


def check_not_deterministic(probe: Probe, source: Tensor, target: Tensor) -> Iterator[Finding]:
    """Call the model twice; if the predictions differ, try again without dropout, then with fixed random numbers."""

    def call_twice() -> PredictionDifference:
        return measure_difference(probe.predict(source, target), probe.predict(source, target))

    difference = call_twice()
    if not SAME_SHAPE.exceeded_by(difference):
        return
    consequence, probe.without_dropout = "the other checks ran without dropout", True
    if SAME_SHAPE.exceeded_by(call_twice()):
        consequence, probe.fixed_seed = (
            "the other checks used a fixed seed, and the amount of padding was not varied",
            True,
        )
    yield make_finding(
        "not-deterministic",
        f"the same ids lead to predictions that differ by up to {difference.probability:.2g} in probability; "
        f"{consequence}",
        {"probability": difference.probability, "relative": difference.relative},
    )


def check_not_logits(probe: Probe, output: Tensor) -> Iterator[Finding]:
    """Recognize probabilities: they are not negative and sum to 1."""
    sums = output.detach().cpu().double().sum(dim=-1)
    if bool((output >= 0).all()) and bool(((sums - 1).abs() < 0.02).all()):
        probe.returns_probabilities = True
        yield make_finding(
            "not-logits",
            "the model returns probabilities instead of logits: no output is negative and they sum to 1",
            {"smallest": float(output.min()), "sum": float(sums.mean())},
        )


def check_bad_initial_loss(probe: Probe) -> Iterator[Finding]:
    """Compare the loss of an untrained model with that of guessing.

    Tokens of the source and the target do not count, because shared matrices make them more likely.
    """
    source, target = probe.random_sources(4, SOURCE_LENGTH), probe.random_targets(4, TARGET_LENGTH)
    with torch.no_grad():
        logits = probe.call(source, target).cpu().double().flatten(0, 1)  # (tokens, vocabulary)
    counted = (logits > MIN_LOGIT).all(dim=0)
    counted[torch.cat([source.flatten(), target.flatten()]).clamp(max=len(counted) - 1)] = False
    counted[[probe.model.pad_id, probe.model.bos_id, probe.model.eos_id]] = False
    if int(counted.sum()) < 2:
        return
    loss = float(-logits[:, counted].log_softmax(dim=-1).mean())
    guessing = math.log(int(counted.sum()))
    if loss > MAX_LOSS_FACTOR * guessing:
        yield make_finding(
            "bad-initial-loss",
            f"the untrained model has a loss of {loss:.1f} nats on random words; uniform guessing gives {guessing:.1f}",
            {"loss": loss, "guessing": guessing},
        )
