"""Whether predictions depend on every word of the source."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.differences import TOLERANCES, Tolerance, measure_difference
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Probe

NO_EFFECT = 1e-7  # relative difference; an input that is ignored has no effect at all if shapes are equal


def check_source_ignored(probe: Probe, tolerance: Tolerance) -> Iterator[Finding]:
    """Change all words of the source, then one word at a time; the predictions must change."""
    source = probe.random_sources(SOURCE_LENGTH, SOURCE_LENGTH)
    target = probe.random_targets(1, TARGET_LENGTH).expand(SOURCE_LENGTH, TARGET_LENGTH)
    source[:] = source[:1]
    changed = probe.replace_words(source, probe.source_words)
    before = probe.predict(source, target)
    effect = measure_difference(before, probe.predict(changed, target))
    if effect.relative <= NO_EFFECT:
        yield make_finding(
            "source-ignored",
            "changing all words of the source changes no prediction",
            {"relative": effect.relative, "probability": effect.probability},
        )
        return
    after = probe.predict(_change_one_position(probe, source, changed), target)
    ignored = [
        position
        for position in range(SOURCE_LENGTH)
        if measure_difference(before[position], after[position]).relative <= NO_EFFECT
    ]
    if ignored and tolerance == TOLERANCES[torch.float32]:  # lower precision rounds small effects away
        yield make_finding(
            "source-ignored",
            f"of {SOURCE_LENGTH} source ids, those at positions {', '.join(map(str, ignored))} (counted from 0) do not "
            "affect any prediction",
            {"places": ignored},
            cause="the source mask is shifted or too short, or the source is truncated",
        )


def _change_one_position(probe: Probe, source: Tensor, changed: Tensor) -> Tensor:
    """Sources that are changed at one position each: row i at position i, (source, source)."""
    result = source.clone()
    positions = torch.arange(SOURCE_LENGTH)
    result[positions, positions] = changed[positions, positions]
    result[-1, -1] = probe.source_words[0]  # instead of eos, which `changed` keeps
    return result
