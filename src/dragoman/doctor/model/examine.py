"""All checks of a model, in an order in which one fault is found once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.explanations import found
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.model.gradients import cannot_overfit, looks_fresh, no_gradient
from dragoman.doctor.model.inputs import source_ignored, source_position_blind, target_position_blind
from dragoman.doctor.model.leaks import (
    SOURCE,
    TARGET,
    batch_leak,
    future_leak,
    source_padding_leak,
    target_padding_leak,
)
from dragoman.doctor.model.numbers import (
    bad_initial_loss,
    is_finite,
    length_limit,
    not_deterministic,
    not_logits,
    overflow,
)
from dragoman.doctor.model.probe import Forward, Probe, Subject
from dragoman.errors import UserError

TRIED = 128  # ids; sentences are seldom longer


def examine(
    forward: Forward,
    *,
    vocabulary_size: int,
    pad_id: int,
    bos_id: int,
    eos_id: int,
    parameters: Iterable[tuple[str, Tensor]] | None = None,
    source_vocabulary_size: int | None = None,
    max_length: int | None = None,
    fresh: bool | None = None,
    overfit: bool = False,
) -> list[Finding]:
    """What is wrong with a sequence-to-sequence model, found by asking it for predictions.

    Call it with the model as it translates, after ``model.eval()``, trained or not. Float32 finds most: what is
    lost in the rounding of bfloat16 is not held against a model.

    Args:
        forward: Source ids (batch, source), each sentence ended by eos and padded at the end, and target ids
            (batch, target), each begun with bos, int64 -> logits of each next token, (batch, target, vocabulary).
        vocabulary_size: Ids of the target, and of the source unless that is given.
        pad_id: Id of padding, on both sides.
        bos_id: Id that begins a target.
        eos_id: Id that ends a source.
        parameters: ``model.named_parameters()``, to check gradients; inputs go to the device of the first.
        source_vocabulary_size: Ids of the source, if they are others.
        max_length: Longest sentence in ids that the model is meant to take; if not given, 128 are tried, and less is
            a warning.
        fresh: Whether the model is untrained, so that its loss should be that of guessing. If not given, it is when
            most gains and biases among the parameters still have their initial values.
        overfit: Also learn a small batch by heart, which takes some seconds; the parameters are put back.

    Returns:
        The findings, errors first; none if all is well.

    Raises:
        UserError: What was given is no such model: it fails, or returns something of another shape.
    """
    named = tuple(parameters or ())
    subject = Subject(
        forward,
        vocabulary_size,
        source_vocabulary_size or vocabulary_size,
        pad_id,
        bos_id,
        eos_id,
        named,
        max_length or TRIED,
    )
    fresh = looks_fresh(named) if fresh is None else fresh
    findings = list(_checks(Probe(subject), fresh=fresh, promised=max_length is not None, overfit=overfit))
    return sorted(findings, key=lambda finding: ("error", "warning", "note").index(finding.severity))


def _checks(probe: Probe, *, fresh: bool, promised: bool, overfit: bool) -> Iterator[Finding]:
    source, target = probe.source(4, SOURCE), probe.target(4, TARGET)
    raw = _first_answer(probe, source, target)
    if not is_finite(raw):
        yield found("overflow", "ordinary sentences give NaN or infinity", input="ordinary")
        return
    yield from length_limit(probe, promised)
    yield from not_logits(probe, raw)
    noise = list(not_deterministic(probe, source, target))
    yield from noise
    if all(finding.measured["comparable"] for finding in noise):
        yield from _comparisons(probe, raw)
    if fresh and not probe.probabilities:
        yield from bad_initial_loss(probe)
    yield from overflow(probe)
    if probe.subject.parameters:
        unreached = list(no_gradient(probe))
        yield from unreached
        learns = not any(len(finding.measured["parameters"]) == finding.measured["of"] for finding in unreached)
        if overfit and learns and not probe.probabilities:
            yield from cannot_overfit(probe)


def _comparisons(probe: Probe, raw: Tensor) -> Iterator[Finding]:
    tolerance = probe.tolerance(raw)
    yield from batch_leak(probe)
    future = list(future_leak(probe))
    yield from future
    if not probe.seed:  # with fixed random numbers, other shapes draw others
        yield from source_padding_leak(probe, tolerance)
    if not future:  # padding after the end is the future too
        yield from target_padding_leak(probe, tolerance)
    ignored = list(source_ignored(probe, tolerance))
    yield from ignored
    if not ignored:
        yield from source_position_blind(probe)
    if not future:
        yield from target_position_blind(probe, tolerance)


def _first_answer(probe: Probe, source: Tensor, target: Tensor) -> Tensor:
    """What the model says to ordinary sentences, if it is a model.

    Raises:
        UserError: It fails, or returns something else than logits.
    """
    with torch.no_grad():
        raw = probe.raw(source, target)
    expected = (*target.shape, probe.subject.vocabulary_size)
    if not isinstance(raw, Tensor):
        raise UserError(f"the model returns {type(raw).__name__}, not a tensor of logits {expected}")
    if tuple(raw.shape) != expected:
        raise UserError(
            f"for target ids {tuple(target.shape)} the model returns {tuple(raw.shape)}, not logits {expected}"
        )
    if not raw.is_floating_point():
        raise UserError(f"the model returns {raw.dtype}, not logits")
    return raw
