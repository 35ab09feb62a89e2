"""What a prediction must not depend on: the future, padding, the other sentences of the batch."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.explanations import found
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.model.probe import SAME_SHAPE, Difference, Probe, Tolerance, compare

SOURCE, TARGET = 7, 10  # ids of a sentence, eos or bos included
PADDING = 24


def batch_leak(probe: Probe) -> Iterator[Finding]:
    """Change all sentences of a batch but one, and their padding too."""
    source, target = probe.source(4, SOURCE), probe.target(4, TARGET)
    source[1, -2:] = source.new_tensor([probe.subject.eos_id, probe.subject.pad_id])
    others = torch.tensor([0, 2, 3])
    changed = source.clone()
    changed[others] = probe.changed(source, probe.source_words)[others]
    shorter = changed.clone()
    shorter[others, 3:] = probe.subject.pad_id
    shorter[others, 2] = probe.subject.eos_id
    other_target = target.clone()
    other_target[others] = probe.changed(target, probe.words)[others]
    base = probe.predict(source, target)[1]
    leaks = [compare(base, probe.predict(variant, other_target)[1]) for variant in (changed, shorter)]
    worst = max(leaks, key=lambda leak: leak.relative)
    if SAME_SHAPE.exceeded_by(worst):
        probe.alone = True  # or the other checks would measure this leak again
        yield found(
            "batch-leak",
            f"predictions for one sentence change by up to {worst.probability:.2g} in probability when only the other "
            "sentences of its batch change",
            probability=worst.probability,
            relative=worst.relative,
        )


def future_leak(probe: Probe) -> Iterator[Finding]:
    """Change target tokens from some place on; nothing before it may change."""
    cuts = [1, 4, TARGET - 2, TARGET - 1]
    source, target = probe.source(len(cuts), SOURCE), probe.target(len(cuts), TARGET)
    changed = probe.changed(target, probe.words)
    for row, cut in enumerate(cuts):
        changed[row, :cut] = target[row, :cut]
    before, after = probe.predict(source, target), probe.predict(source, changed)
    leaks = [compare(before[row, :cut], after[row, :cut]) for row, cut in enumerate(cuts)]
    worst = max(leaks, key=lambda leak: leak.relative)
    if SAME_SHAPE.exceeded_by(worst):
        reach = _reach(before[-1], after[-1])
        yield found(
            "future-leak",
            f"predictions change by up to {worst.probability:.2g} in probability when only later target tokens do; "
            f"a token is seen from up to {reach} place{'s' if reach > 1 else ''} before it",
            probability=worst.probability,
            relative=worst.relative,
            reach=reach,
        )


def _reach(before: Tensor, after: Tensor) -> int:
    """From how many places before it the last token is seen."""
    first = next(
        (i for i in range(TARGET - 1) if SAME_SHAPE.exceeded_by(compare(before[i], after[i]))),
        TARGET - 2,
    )
    return TARGET - 1 - first


def source_padding_leak(probe: Probe, tolerance: Tolerance) -> Iterator[Finding]:
    """Add padding to sources, beside a neighbour that is longer."""
    source, target = probe.source(3, SOURCE), probe.target(3, TARGET)
    base = probe.predict(source, target)
    leaks: dict[int, Difference] = {0: Difference(0.0, 0.0)}
    for padding in (1, PADDING):
        padding = min(padding, probe.longest["source"] - SOURCE)
        if padding <= 0:
            break
        width = SOURCE + padding
        batch = torch.cat([probe.padded(source[:2], width), probe.source(1, width)])
        leaks[padding] = compare(base[:2], probe.predict(batch, target)[:2])
    worst = max(leaks, key=lambda padding: leaks[padding].relative)
    if tolerance.exceeded_by(leaks[worst]):
        yield found(
            "source-padding-leak",
            f"{worst} padding ids after a source of {SOURCE} change predictions by up to "
            f"{leaks[worst].probability:.2g} in probability",
            probability=leaks[worst].probability,
            relative=leaks[worst].relative,
            padding=worst,
        )


def target_padding_leak(probe: Probe, tolerance: Tolerance) -> Iterator[Finding]:
    """Put padding in place of the end of targets, and after them."""
    source, target = probe.source(3, SOURCE), probe.target(3, TARGET)
    base, half = probe.predict(source, target), TARGET // 2
    replaced = probe.predict(source, probe.padded(target[:, :half], TARGET))
    leak = compare(base[:, :half], replaced[:, :half])
    leaks = SAME_SHAPE.exceeded_by(leak)
    if not leaks and not probe.seed:  # with fixed random numbers, other shapes draw others
        width = min(TARGET + PADDING, probe.longest["target"])
        leak = compare(base, probe.predict(source, probe.padded(target, width))[:, :TARGET])
        leaks = tolerance.exceeded_by(leak)
    if leaks:
        yield found(
            "target-padding-leak",
            f"padding after a target changes predictions before it by up to {leak.probability:.2g} in probability",
            probability=leak.probability,
            relative=leak.relative,
        )
