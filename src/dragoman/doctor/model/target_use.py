"""Whether a prediction depends on the target tokens before it."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.differences import TOLERANCES, Tolerance, measure_difference
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Probe
from dragoman.doctor.model.source_use import NO_EFFECT

ROWS = 4


def check_target_ignored(probe: Probe, tolerance: Tolerance) -> Iterator[Finding]:
    """Change the last token of targets, then all tokens before it; the prediction of the next token must change."""
    if tolerance != TOLERANCES[torch.float32]:  # lower precision rounds small effects away
        return
    source, target = probe.random_sources(ROWS, SOURCE_LENGTH), probe.random_targets(ROWS, TARGET_LENGTH)
    replaced = probe.replace_words(target, probe.words)
    before = probe.predict(source, target)[:, -1]

    def ignores(changed: Tensor) -> bool:
        return measure_difference(before, probe.predict(source, changed)[:, -1]).relative <= NO_EFFECT

    ignores_last = ignores(torch.cat([target[:, :-1], replaced[:, -1:]], dim=1))
    ignores_earlier = ignores(torch.cat([replaced[:, :-1], target[:, -1:]], dim=1))
    if ignores_last and ignores_earlier:
        yield make_finding(
            "target-ignored",
            "changing all target tokens does not change the prediction after them",
            {"ignored": "all"},
            cause="the decoder does not receive the target, or attends only to the source",
            fix="embed the target, and attend to it in every decoder layer",
        )
    elif ignores_last:
        yield make_finding(
            "target-ignored",
            "changing the last target token does not change the prediction after it, but earlier tokens do",
            {"ignored": "last"},
        )
    elif ignores_earlier:
        yield make_finding(
            "target-ignored",
            "changing all target tokens except the last does not change the prediction after it",
            {"ignored": "earlier"},
            cause="the decoder sees only the last token: its cache keeps only the last key and value, its mask hides "
            "earlier tokens, or the self-attention is missing",
            fix="append keys and values to the cache in each step, and let position i attend to positions 0 to i",
        )
