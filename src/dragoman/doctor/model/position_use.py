"""Whether predictions depend on the positions of words."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.differences import TOLERANCES, Tolerance, measure_difference
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Probe
from dragoman.doctor.model.source_use import NO_EFFECT

# Effect of moving words divided by the effect of replacing them.
MIN_SOURCE_RATIO = 0.003  # correct models have at least 0.04
MIN_TARGET_RATIO = 0.015  # with 128 ids: at most 0.007 without positions, at least 0.024 with relative positions
MIN_ABSOLUTE_EFFECT = 1e-4  # relative difference; at least 0.02 if positions are added to the embeddings
MAX_TESTED_LENGTH, MIN_TESTED_LENGTH = 128, 96  # ids of a target
ROWS = 8

FAST_PATH_CAUSE = (
    "without gradients, torch.nn.TransformerEncoder uses a fast path that treats a float mask as a Boolean one, so "
    "that a position bias has no effect, although the model was trained with it"
)
FAST_PATH_FIX = "call torch.backends.mha.set_fastpath_enabled(False) before translation"


def check_source_positions(probe: Probe) -> Iterator[Finding]:
    """Reverse the word order of the source; the effect must not be tiny compared with the effect of other words."""
    source, target = probe.random_sources(4, SOURCE_LENGTH), probe.random_targets(4, TARGET_LENGTH)
    before = probe.predict(source, target)
    replaced = measure_difference(before, probe.predict(probe.replace_words(source, probe.source_words), target))
    reversed_source = torch.cat([source[:, :-1].flip(1), source[:, -1:]], dim=1)
    moved = measure_difference(before, probe.predict(reversed_source, target))
    ratio = moved.relative / max(replaced.relative, 1e-12)
    if replaced.relative > NO_EFFECT and ratio < MIN_SOURCE_RATIO:
        with_gradients = measure_difference(before, probe.predict(source, target, gradients=True))
        fast_path = with_gradients.relative > MIN_ABSOLUTE_EFFECT
        yield make_finding(
            "position-blind",
            f"reversing the words of the source has only {ratio:.2g} times the effect of replacing them: the encoder "
            "does not use positions",
            {"side": "source", "share": ratio},
            cause=FAST_PATH_CAUSE if fast_path else None,
            fix=FAST_PATH_FIX if fast_path else None,
        )


def check_target_positions(probe: Probe, tolerance: Tolerance) -> Iterator[Finding]:
    """Look for absolute positions with a target of equal words, then for relative positions with one other word."""
    length = min(MAX_TESTED_LENGTH, probe.max_lengths["target"])
    if length < MIN_TESTED_LENGTH or tolerance != TOLERANCES[torch.float32]:
        return
    source = probe.random_sources(ROWS, SOURCE_LENGTH)
    words = torch.stack([probe.words[torch.randperm(len(probe.words), generator=probe.generator)[:3]] for _ in source])
    equal_words = probe.predict(source, words[:, :1].expand(ROWS, TARGET_LENGTH))
    if measure_difference(equal_words[:, 1:], equal_words[:, :-1]).relative > MIN_ABSOLUTE_EFFECT:
        return  # only absolute positions make the predictions differ
    ratio = _relative_position_effect(probe, source, words, length)
    if ratio < MIN_TARGET_RATIO:
        yield make_finding(
            "position-blind",
            f"moving a word of the target by one position has only {ratio:.2g} times the effect of replacing it: the "
            "decoder does not use positions (the causal mask alone reveals little about them)",
            {"side": "target", "share": ratio},
            severity="note",  # some decoders are meant to learn positions from the causal mask
            cause="positions are not added to the target or have no effect, so that the decoder can learn them only "
            "from the causal mask, as is intended in models without position encoding (NoPE)",
        )


def _relative_position_effect(probe: Probe, source: Tensor, words: Tensor, length: int) -> float:
    """The effect of moving one word among many equal words on the last prediction, relative to replacing that word.

    Relative positions have an effect if the word moves by one position near the end. Without any positions, the causal
    mask alone has a small effect, which decreases with the length of the target.

    Args:
        probe: Calls the model.
        source: Source ids, (rows, source).
        words: The equal words, the one among them, and the one that replaces it, (rows, 3).
        length: Ids of the target.
    """

    def last_prediction(word: int, before_end: int) -> Tensor:
        target = words[:, :1].repeat(1, length)
        target[:, 0] = probe.model.bos_id
        target[:, length - 1 - before_end] = words[:, word]
        return probe.predict(source, target)[:, -1]

    base = last_prediction(1, 2)
    replaced = measure_difference(base, last_prediction(2, 2)).relative
    moved = max(measure_difference(base, last_prediction(1, before_end)).relative for before_end in (1, 3))
    return moved / max(replaced, 1e-12)
