"""Inputs that a model may be unable to process: sources of padding only, half precision, long sentences."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.logits import is_finite
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Probe, Side
from dragoman.errors import UserError

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
    """The longest source or target for which the model does not fail, by bisection."""
    low, high = 1, failing
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
