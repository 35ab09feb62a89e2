"""Whether a call of the model depends on earlier calls."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.attributes import plain_tensors
from dragoman.doctor.model.differences import SAME_SHAPE, Tolerance, measure_difference
from dragoman.doctor.model.probe import Probe
from dragoman.doctor.model.source_use import NO_EFFECT
from dragoman.errors import UserError


def check_kept_state(probe: Probe, source: Tensor, target: Tensor, tolerance: Tolerance) -> Iterator[Finding]:
    """Call the model twice with another call in between, without dropout and with fixed random numbers."""
    probe.without_dropout = probe.fixed_seed = True
    try:
        message = _describe_state(probe, source, target, tolerance)
    finally:
        probe.without_dropout = probe.fixed_seed = False
    if message:
        attributes = plain_tensors(probe.model.forward)
        kept = f"; tensors are kept in {', '.join(attributes)}" if attributes else ""
        yield make_finding("kept-state", f"{message}{kept}; nothing else was checked", {"attributes": attributes})


def _describe_state(probe: Probe, source: Tensor, target: Tensor, tolerance: Tolerance) -> str | None:
    """How the predictions depend on earlier calls; None if they do not."""
    other_source = probe.replace_words(source, probe.source_words)
    before, other = probe.predict(source, target), probe.predict(other_source, target)
    difference = measure_difference(before, probe.predict(source, target))
    if SAME_SHAPE.exceeded_by(difference):
        return (
            "after a call with another source, the same ids lead to predictions that differ by up to "
            f"{difference.probability:.2g} in probability"
        )
    if measure_difference(before, other).relative > NO_EFFECT:
        return None
    # the source has no effect: it is ignored, or replaced by that of an earlier call with as many sentences
    try:
        repeated = probe.predict(*(torch.cat([ids, ids[:1]]) for ids in (other_source, target)))[: len(source)]
    except UserError:
        return "the model uses the source of an earlier call, and fails for another number of sentences"
    used = tolerance.exceeded_by(measure_difference(other, repeated))
    return "the model uses the source of an earlier call with as many sentences" if used else None
