"""What predictions depend on, and what they must not depend on: later tokens, padding, other sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.location import ALL, Ids, Kept, first_difference
from dragoman.doctor.model.probe import (
    SAME_SHAPE,
    SOURCE_LENGTH,
    TARGET_LENGTH,
    TOLERANCES,
    PredictionDifference,
    Probe,
    Side,
    Tolerance,
    largest,
    list_names,
    measure_difference,
)
from dragoman.errors import counted

HARDLY_AN_EFFECT = 1e-5  # relative difference of rows of the same batch, which may be rounded differently
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


MAX_PADDING = 24  # ids of padding that are added to a sentence
SHIFTED_MASK = (
    "the causal mask is shifted: in each layer a position attends to one or more later positions (triu(diagonal=2) "
    "instead of 1, tril(diagonal=1) instead of 0, or targets that are shifted twice); or a mixture of experts chooses "
    "among the tokens of several positions; or the heads are reshaped without a transpose, which mixes positions: "
    "x.view(batch, heads, length, -1)"
)


def _located(probe: Probe, one: Ids, other: Ids, kept: Kept = ALL) -> tuple[str, dict[str, str]]:
    """For a leak, the first module at which it shows: the end of the message, and a measurement."""
    module = first_difference(probe, one, other, kept)
    return (f"; first leak: {module}", {"module": module}) if module else ("", {})


def measure_batch_leak(probe: Probe) -> PredictionDifference:
    """Change all sentences of a batch except one, and also their padding; that one's predictions must not change."""
    (source, target), others = _batches(probe)
    before = probe.predict(source, target)[1]
    return largest([measure_difference(before, probe.predict(*ids)[1]) for ids in others])


def _batches(probe: Probe) -> tuple[Ids, list[Ids]]:
    """A batch, and others in which only sentence 1 is the same."""
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
    return (source, target), [(changed, other_target) for changed in (replaced, shortened)]


def check_batch_leak(probe: Probe) -> Iterator[Finding]:
    """Report that sentences of a batch influence each other; then the other checks feed one sentence at a time."""
    leak = measure_batch_leak(probe)
    if SAME_SHAPE.exceeded_by(leak):
        batch, others = _batches(probe)
        first, measured = _located(probe, batch, others[0], Kept(len(batch[0]), 1, 2))
        probe.one_at_a_time = True  # otherwise the other checks would find this leak again
        yield make_finding(
            "batch-leak",
            "changing only the other sentences of a batch changes the predictions for a sentence by up to "
            f"{leak.probability:.2g} in probability{first}",
            {"probability": leak.probability, "relative": leak.relative, **measured},
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
        cut = cuts[1]
        other = torch.cat([target[:, :cut], changed[:1, cut:].expand(len(cuts), -1)], dim=1)
        first, measured = _located(probe, (source, target), (source, other), Kept(TARGET_LENGTH, 0, cut))
        yield make_finding(
            "future-leak",
            f"changing only later target tokens changes predictions by up to {leak.probability:.2g} in probability; a "
            f"prediction depends on {'all later tokens' if everything else counted(reach, 'later token')}{first}",
            {"probability": leak.probability, "relative": leak.relative, "reach": reach, **measured},
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
        padded = probe.pad(source[:2], SOURCE_LENGTH + worst)
        first, measured = _located(probe, (source[:2], target[:2]), (padded, target[:2]))
        yield make_finding(
            "source-padding-leak",
            f"padding a source of {SOURCE_LENGTH} ids to {SOURCE_LENGTH + worst} ids changes predictions by up to "
            f"{leak.probability:.2g} in probability{first}",
            {"probability": leak.probability, "relative": leak.relative, "padding": worst, **measured},
        )


def check_target_padding_leak(probe: Probe, tolerance: Tolerance) -> Iterator[Finding]:
    """Replace the ends of targets by padding, then add padding after targets; the predictions must not change."""
    source, target = probe.random_sources(3, SOURCE_LENGTH), probe.random_targets(3, TARGET_LENGTH)
    before, half = probe.predict(source, target), TARGET_LENGTH // 2
    other, kept = probe.pad(target[:, :half], TARGET_LENGTH), Kept(TARGET_LENGTH, 0, half)
    leak = measure_difference(before[:, :half], probe.predict(source, other)[:, :half])
    leaks = SAME_SHAPE.exceeded_by(leak)
    if not leaks and not probe.fixed_seed:  # a fixed seed does not help if shapes differ
        width = min(TARGET_LENGTH + MAX_PADDING, probe.max_lengths["target"])
        other, kept = probe.pad(target, width), ALL
        leak = measure_difference(before, probe.predict(source, other)[:, :TARGET_LENGTH])
        leaks = tolerance.exceeded_by(leak)
    if leaks:
        first, measured = _located(probe, (source, target), (source, other), kept)
        yield make_finding(
            "target-padding-leak",
            "padding after the end of a target changes the predictions before it by up to "
            f"{leak.probability:.2g} in probability{first}",
            {"probability": leak.probability, "relative": leak.relative, **measured},
        )


TARGET_ROWS = 4


def check_target_ignored(probe: Probe, tolerance: Tolerance) -> Iterator[Finding]:
    """Change the last token of targets, then all tokens before it; the prediction of the next token must change."""
    if tolerance != TOLERANCES[torch.float32]:  # lower precision rounds small effects away
        return
    source, target = probe.random_sources(TARGET_ROWS, SOURCE_LENGTH), probe.random_targets(TARGET_ROWS, TARGET_LENGTH)
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


# Effect of moving words divided by the effect of replacing them.
MIN_SOURCE_RATIO = 0.003  # correct models have at least 0.04
MIN_TARGET_RATIO = 0.015  # with 128 ids: at most 0.007 without positions, at least 0.024 with relative positions
MIN_ABSOLUTE_EFFECT = 1e-4  # relative difference; at least 0.02 if positions are added to the embeddings
MAX_TESTED_LENGTH, MIN_TESTED_LENGTH = 128, 96  # ids of a target
POSITION_ROWS = 8

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
    source = probe.random_sources(POSITION_ROWS, SOURCE_LENGTH)
    words = torch.stack([probe.words[torch.randperm(len(probe.words), generator=probe.generator)[:3]] for _ in source])
    equal_words = probe.predict(source, words[:, :1].expand(POSITION_ROWS, TARGET_LENGTH))
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


CROSS_ROWS = 16
MAX_FACTOR = math.exp(-0.12)
"""Of the effect on earlier target positions; correct untrained models have at least 0.94, and a causal mask leads to
0.82 in a post-norm model of 6 layers, whose encoder mixes the words most, and to 0.03 in pre-norm models."""
MIN_SIGNIFICANCE = 5.0  # standard errors


def check_causal_cross_attention(probe: Probe, tolerance: Tolerance, untrained: bool) -> Iterator[Finding]:
    """Change one source word at a time; it must affect the target positions before its own like the others.

    A bidirectional encoder carries some of its effect to earlier positions, so that it is only weaker. Only untrained
    models are checked for that, because trained ones translate many words at about their own position.
    """
    if tolerance != TOLERANCES[torch.float32]:
        return
    effects = _effects(probe)  # (source words, target)
    words, positions = torch.meshgrid(*map(torch.arange, effects.shape), indexing="ij")
    earlier = positions < words
    if bool((effects[earlier] <= NO_EFFECT).all()) and bool((effects[~earlier] > NO_EFFECT).all()):
        yield _finding("source words have no effect on the predictions at target positions before their own", 0.0)
    elif untrained and bool((effects > 0).all()):
        contrast, error = _fit_contrast(effects.log(), earlier)
        factor = math.exp(contrast)
        if factor < MAX_FACTOR and contrast < -MIN_SIGNIFICANCE * error:
            yield _finding(
                f"source words have {factor:.2g} times the expected effect on the predictions at target positions "
                "before their own",
                factor,
            )


def _finding(message: str, factor: float) -> Finding:
    return make_finding(
        "source-ignored",
        message,
        {"factor": factor},
        cause="the cross-attention has a causal mask, so that a target position attends only to source words up to its "
        "own position",
        fix="give the cross-attention only the padding mask of the source; the causal mask belongs to the decoder's "
        "self-attention",
    )


def _effects(probe: Probe) -> Tensor:
    """Root mean square effect of each source word on the log-probabilities at each target position, (words, target)."""
    source, target = probe.random_sources(CROSS_ROWS, SOURCE_LENGTH), probe.random_targets(CROSS_ROWS, TARGET_LENGTH)
    replaced = probe.replace_words(source, probe.source_words)
    before, effects = probe.predict(source, target), []
    for word in range(SOURCE_LENGTH - 1):
        changed = source.clone()
        changed[:, word] = replaced[:, word]
        effects.append((probe.predict(changed, target) - before).square().mean(dim=(0, 2)).sqrt())
    return torch.stack(effects)


def _fit_contrast(log_effects: Tensor, earlier: Tensor) -> tuple[float, float]:
    """Least squares: log effect = a term per word + a term per position + contrast where the position is earlier.

    Args:
        log_effects: Logarithms of effects, (words, target).
        earlier: Whether the target position is before that of the word, (words, target).

    Returns:
        The contrast and its standard error.
    """
    words, positions = torch.meshgrid(*map(torch.arange, log_effects.shape), indexing="ij")
    terms = [words == word for word in range(len(words))]
    terms += [positions == position for position in range(1, positions.shape[1])]  # relative to the first
    design = torch.stack([term.flatten() for term in [*terms, earlier]], dim=1).to(log_effects)  # (cells, terms)
    observed = log_effects.flatten()
    inverse = torch.linalg.pinv(design.T @ design)
    coefficients = inverse @ (design.T @ observed)
    residuals = observed - design @ coefficients
    variance = float(residuals.square().sum()) / (len(observed) - design.shape[1]) * float(inverse[-1, -1])
    return float(coefficients[-1]), math.sqrt(variance)


def check_changed_ids(probe: Probe) -> Iterator[Finding]:
    """Report what the calls of all other checks have recorded: the model got copies, which must still be equal."""
    sides = sorted(probe.changed_ids)
    if sides:
        yield make_finding(
            "changed-ids", f"forward changes the {' and '.join(sides)} ids that it is given", {"sides": sides}
        )


MAX_TRIED = 512
"""Ids of words that are compared with padding: all of a small vocabulary, otherwise the first ones and a sample."""
MAX_TRIED_ALONE = 64  # if the model computes one sentence at a time
COMPARED_AT_ONCE = 64
PLACE = 2  # of the word in the sentence


def check_masked_ids(probe: Probe) -> Iterator[Finding]:
    """Replace a word by padding; that must change predictions, unless attention ignores the word, too."""
    masked = {"source": _masked_ids(probe, "source"), "target": _masked_ids(probe, "target")}
    sides = {side: ids for side, ids in masked.items() if ids}
    if sides:
        listed = " and ".join(f"{list_names(map(str, ids))} in the {side}" for side, ids in sides.items())
        yield make_finding("masked-ids", f"ids are treated as padding, although they are words: {listed}", {**sides})


def _masked_ids(probe: Probe, side: Side) -> list[int]:
    """The words in whose place padding predicts the same; none if that is so for most, because nothing matters then."""
    words = probe.source_words if side == "source" else probe.words
    limit = MAX_TRIED_ALONE if probe.one_at_a_time else MAX_TRIED
    if len(words) > limit:
        rest = torch.linspace(limit // 2, len(words) - 1, limit // 2).long()
        words = torch.cat((words[: limit // 2], words[rest]))
    source, target = probe.random_sources(1, SOURCE_LENGTH), probe.random_targets(1, TARGET_LENGTH)
    ids = source if side == "source" else target
    ids[0, PLACE] = probe.model.pad_id
    first = 0 if side == "source" else PLACE + 1  # the prediction at the place itself depends on its word
    masked: list[int] = []
    for chunk in torch.split(words, COMPARED_AT_ONCE):
        changed = ids.repeat(1 + len(chunk), 1)
        changed[1:, PLACE] = chunk  # the first row has the padding
        other = (target if side == "source" else source).repeat(len(changed), 1)
        sentences = (changed, other) if side == "source" else (other, changed)
        padded, *predictions = probe.predict(*sentences)[:, first:]
        for word, prediction in zip(chunk.tolist(), predictions, strict=True):
            if measure_difference(prediction, padded).relative <= HARDLY_AN_EFFECT:
                masked.append(word)
    return masked if 2 * len(masked) < len(words) else []
