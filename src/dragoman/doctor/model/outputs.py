"""The output of a model: logits or probabilities, the initial loss, and the lengths that it accepts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.probe import (
    SAME_SHAPE,
    SOURCE_LENGTH,
    TARGET_LENGTH,
    PredictionDifference,
    Probe,
    Side,
    measure_difference,
)
from dragoman.errors import UserError

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
    if bool((output < 0).any()):
        return
    sums = output.detach().cpu().double().sum(dim=-1)
    over_positions = output.detach().cpu().double().sum(dim=1)
    if bool(((over_positions - 1).abs() < 0.02).all()):
        yield make_finding(
            "not-logits",
            "the model returns probabilities that sum to 1 over the positions of the target, not over words",
            {"smallest": float(output.min()), "sum": float(over_positions.mean())},
            cause="the last softmax is over another dimension, such as softmax(dim=1)",
        )
    elif bool(((sums - 1).abs() < 0.02).all()):
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


HALF_PRECISION = (torch.float16, torch.bfloat16)


def check_overflow(probe: Probe) -> Iterator[Finding]:
    """Call the model with a source that consists of padding, then in half precision."""
    yield from _check_all_padding(probe)
    in_half_precision = any(tensor.dtype in HALF_PRECISION for _, tensor in probe.model.parameters)
    if probe.device.type in ("cpu", "cuda") and not in_half_precision:
        yield from _check_half_precision(probe)


def _check_all_padding(probe: Probe) -> Iterator[Finding]:
    source, target = probe.random_sources(2, SOURCE_LENGTH), probe.random_targets(2, TARGET_LENGTH)
    source[1] = probe.model.pad_id
    output = _try_call(probe, source, target)
    if isinstance(output, Tensor) and not is_finite(output):
        spreads = not is_finite(output[:1])
        affected = "also for the other sentence of its batch" if spreads else "but only for itself"
        yield make_finding(
            "overflow",
            f"a source that consists of padding leads to NaN or infinity, {affected}",
            {"input": "all-padding"},
            severity="error" if spreads else "note",
        )


def _check_half_precision(probe: Probe) -> Iterator[Finding]:
    source, target = probe.random_sources(2, SOURCE_LENGTH), probe.random_targets(2, TARGET_LENGTH)
    with torch.autocast(probe.device.type, torch.float16):
        # with gradients, because the fast path of nn.Transformer does not support autocast
        output = _try_call(probe, source, target, gradients=True)
    if isinstance(output, Exception):
        overflows, detail = "overflow" in str(output), f": {output}"
    else:
        overflows, detail = not is_finite(output), ""
    if overflows:
        yield make_finding(
            "overflow",
            f"in half precision (float16 with autocast) the model returns NaN or infinity{detail}",
            {"input": "half-precision"},
            severity="note",  # it matters only if the model is used in this precision
        )


def check_length_limit(probe: Probe, promised: bool) -> Iterator[Finding]:
    """Call the model with a long source, then with a long target.

    Args:
        probe: Calls the model.
        promised: Whether the model is said to support its `max_length`, which otherwise is only a length to try.
    """
    sides: tuple[Side, ...] = ("source", "target")
    for side in sides:
        tried = probe.model.max_length
        output = _try_length(probe, side, tried)
        if isinstance(output, Exception):
            limit = probe.max_lengths[side] = _find_limit(probe, side, tried)
            yield make_finding(
                "length-limit",
                f"the model fails for a {side} of more than {limit} ids: {type(output).__name__}: {str(output)[:120]}",
                {"side": side, "limit": limit, "tried": tried},
                severity="error" if promised else "warning",
            )
        elif not is_finite(output):
            message = f"a {side} of {tried} ids leads to NaN or infinity"
            yield make_finding("overflow", message, {"input": f"long {side}"})


def _find_limit(probe: Probe, side: Side, failing: int) -> int:
    """The longest source or target for which the model does not fail, by bisection from a length that works."""
    low, high = SOURCE_LENGTH if side == "source" else TARGET_LENGTH, failing
    while high - low > 1:
        middle = (low + high) // 2
        works = isinstance(_try_length(probe, side, middle), Tensor)
        low, high = (middle, high) if works else (low, middle)
    return low


def _try_length(probe: Probe, side: Side, length: int) -> Tensor | Exception:
    source_length, target_length = (length, TARGET_LENGTH) if side == "source" else (SOURCE_LENGTH, length)
    return _try_call(probe, probe.random_sources(1, source_length), probe.random_targets(1, target_length))


def _try_call(probe: Probe, source: Tensor, target: Tensor, gradients: bool = False) -> Tensor | Exception:
    """The output of the model, or its exception if it fails."""
    try:
        with torch.set_grad_enabled(gradients):
            return probe.call(source, target).detach()
    except UserError as error:
        return error.__cause__ if isinstance(error.__cause__, Exception) else error
