"""What predictions must not depend on: later target tokens, padding, and the other sentences of the batch."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.differences import SAME_SHAPE, PredictionDifference, Tolerance, largest, measure_difference
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Probe
from dragoman.errors import counted

MAX_PADDING = 24  # ids of padding that are added to a sentence
SHIFTED_MASK = (
    "the causal mask is shifted: in each layer a position attends to one or more later positions (triu(diagonal=2) "
    "instead of 1, tril(diagonal=1) instead of 0, or targets that are shifted twice); or a mixture of experts chooses "
    "among the tokens of several positions; or the heads are reshaped without a transpose, which mixes positions: "
    "x.view(batch, heads, length, -1)"
)


def measure_batch_leak(probe: Probe) -> PredictionDifference:
    """Change all sentences of a batch except one, and also their padding; that one's predictions must not change."""
    source, target = probe.random_sources(4, SOURCE_LENGTH), probe.random_targets(4, TARGET_LENGTH)
    source[1, -2:] = source.new_tensor([probe.model.eos_id, probe.model.pad_id])
    others = torch.tensor([0, 2, 3])
    replaced = source.clone()
    replaced[others] = probe.replace_words(source, probe.source_words)[others]
    shortened = replaced.clone()
    shortened[others, 3:] = probe.model.pad_id
    shortened[others, 2] = probe.model.eos_id
    other_target = target.clone()
    other_target[others] = probe.replace_words(target, probe.words)[others]
    before = probe.predict(source, target)[1]
    return largest(
        [measure_difference(before, probe.predict(changed, other_target)[1]) for changed in (replaced, shortened)]
    )


def check_batch_leak(probe: Probe) -> Iterator[Finding]:
    """Report that sentences of a batch influence each other; then the other checks feed one sentence at a time."""
    leak = measure_batch_leak(probe)
    if SAME_SHAPE.exceeded_by(leak):
        probe.one_at_a_time = True  # otherwise the other checks would find this leak again
        yield make_finding(
            "batch-leak",
            "changing only the other sentences of a batch changes the predictions for a sentence by up to "
            f"{leak.probability:.2g} in probability",
            {"probability": leak.probability, "relative": leak.relative},
        )


def check_future_leak(probe: Probe) -> Iterator[Finding]:
    """Change the target tokens from some position on; no prediction before that position may change."""
    cuts = [1, 4, TARGET_LENGTH - 2, TARGET_LENGTH - 1]
    source, target = probe.random_sources(len(cuts), SOURCE_LENGTH), probe.random_targets(len(cuts), TARGET_LENGTH)
    changed = probe.replace_words(target, probe.words)
    for row, cut in enumerate(cuts):
        changed[row, :cut] = target[row, :cut]
    before, after = probe.predict(source, target), probe.predict(source, changed)
    leak = largest([measure_difference(before[row, :cut], after[row, :cut]) for row, cut in enumerate(cuts)])
    if SAME_SHAPE.exceeded_by(leak):
        reach = max(_reach(before[row], after[row], cut) for row, cut in enumerate(cuts))
        everything = reach == TARGET_LENGTH - 1
        yield make_finding(
            "future-leak",
            f"changing only later target tokens changes predictions by up to {leak.probability:.2g} in probability; a "
            f"prediction depends on {'all later tokens' if everything else counted(reach, 'later token')}",
            {"probability": leak.probability, "relative": leak.relative, "reach": reach},
            cause=None if everything else SHIFTED_MASK,
        )


def _reach(before: Tensor, after: Tensor, cut: int) -> int:
    """How many positions before the first changed token predictions change, 0 if none does.

    Args:
        before: Predictions for a target, (target, vocabulary).
        after: Predictions if all tokens from `cut` on are different.
        cut: The position of the first changed token.
    """
    changed = (SAME_SHAPE.exceeded_by(measure_difference(before[place], after[place])) for place in range(cut))
    return cut - next((place for place, exceeded in enumerate(changed) if exceeded), cut)


def check_source_padding_leak(probe: Probe, tolerance: Tolerance) -> Iterator[Finding]:
    """Add padding to sources, as in a batch with a longer sentence."""
    source, target = probe.random_sources(3, SOURCE_LENGTH), probe.random_targets(3, TARGET_LENGTH)
    before = probe.predict(source, target)
    leaks: dict[int, PredictionDifference] = {0: PredictionDifference(0.0, 0.0)}
    for padding in (1, MAX_PADDING):
        padding = min(padding, probe.max_lengths["source"] - SOURCE_LENGTH)
        if padding <= 0:
            break
        width = SOURCE_LENGTH + padding
        batch = torch.cat([probe.pad(source[:2], width), probe.random_sources(1, width)])
        leaks[padding] = measure_difference(before[:2], probe.predict(batch, target)[:2])
    worst = max(leaks, key=lambda padding: leaks[padding].relative)
    leak = leaks[worst]
    if tolerance.exceeded_by(leak):
        yield make_finding(
            "source-padding-leak",
            f"padding a source of {SOURCE_LENGTH} ids to {SOURCE_LENGTH + worst} ids changes predictions by up to "
            f"{leak.probability:.2g} in probability",
            {"probability": leak.probability, "relative": leak.relative, "padding": worst},
        )


def check_target_padding_leak(probe: Probe, tolerance: Tolerance) -> Iterator[Finding]:
    """Replace the ends of targets by padding, then add padding after targets; the predictions must not change."""
    source, target = probe.random_sources(3, SOURCE_LENGTH), probe.random_targets(3, TARGET_LENGTH)
    before, half = probe.predict(source, target), TARGET_LENGTH // 2
    shortened = probe.predict(source, probe.pad(target[:, :half], TARGET_LENGTH))
    leak = measure_difference(before[:, :half], shortened[:, :half])
    leaks = SAME_SHAPE.exceeded_by(leak)
    if not leaks and not probe.fixed_seed:  # a fixed seed does not help if shapes differ
        width = min(TARGET_LENGTH + MAX_PADDING, probe.max_lengths["target"])
        padded = probe.predict(source, probe.pad(target, width))[:, :TARGET_LENGTH]
        leak = measure_difference(before, padded)
        leaks = tolerance.exceeded_by(leak)
    if leaks:
        yield make_finding(
            "target-padding-leak",
            "padding after the end of a target changes the predictions before it by up to "
            f"{leak.probability:.2g} in probability",
            {"probability": leak.probability, "relative": leak.relative},
        )
