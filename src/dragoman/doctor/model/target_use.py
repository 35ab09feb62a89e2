"""Whether a prediction depends on the target token before it."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.differences import TOLERANCES, Tolerance, measure_difference
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Probe
from dragoman.doctor.model.source_use import NO_EFFECT

ROWS = 4


def check_target_ignored(probe: Probe, tolerance: Tolerance) -> Iterator[Finding]:
    """Change the last token of targets; the prediction of the token after it must change."""
    if tolerance != TOLERANCES[torch.float32]:  # lower precision rounds small effects away
        return
    source, target = probe.random_sources(ROWS, SOURCE_LENGTH), probe.random_targets(ROWS, TARGET_LENGTH)
    replaced = probe.replace_words(target, probe.words)
    last = torch.cat([target[:, :-1], replaced[:, -1:]], dim=1)
    before, after = (probe.predict(source, ids)[:, -1] for ids in (target, last))
    if measure_difference(before, after).relative > NO_EFFECT:
        return
    all_changed = measure_difference(before, probe.predict(source, replaced)[:, -1])
    everything = all_changed.relative <= NO_EFFECT
    yield make_finding(
        "target-ignored",
        "changing all target tokens does not change the prediction after them"
        if everything
        else "changing the last target token does not change the prediction after it, but earlier tokens do",
        {"all": everything},
        cause="the decoder does not receive the target, or attends only to the source" if everything else None,
        fix="embed the target, and attend to it in every decoder layer" if everything else None,
    )
