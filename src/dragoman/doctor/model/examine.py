"""All checks of a model, ordered so that each error produces one finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn

from dragoman.doctor.findings.finding import Finding, Findings, errors_first
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.calling import PLAIN, Way, choose_way
from dragoman.doctor.model.gradients import (
    check_cannot_overfit,
    check_missing_activation,
    check_no_gradient,
    check_pad_embedding,
    check_shared_embedding,
    check_training_fails,
    look_behind_zeros,
)
from dragoman.doctor.model.influence import (
    check_batch_leak,
    check_causal_cross_attention,
    check_changed_ids,
    check_future_leak,
    check_masked_ids,
    check_source_ignored,
    check_source_padding_leak,
    check_source_positions,
    check_target_ignored,
    check_target_padding_leak,
    check_target_positions,
)
from dragoman.doctor.model.outputs import (
    check_bad_initial_loss,
    check_length_limit,
    check_not_deterministic,
    check_not_logits,
    check_overflow,
    is_finite,
)
from dragoman.doctor.model.probe import (
    SOURCE_LENGTH,
    TARGET_LENGTH,
    ExaminedModel,
    Forward,
    Probe,
    as_id,
    as_integer,
    looks_untrained,
    named_parameters,
    parameters_of,
)
from dragoman.doctor.model.structure import (
    check_batch_statistics,
    check_created_in_forward,
    check_kept_state,
    check_padding_index,
    check_unregistered_layers,
    note_structure,
)
from dragoman.errors import UserError

TRIED_LENGTH = 128  # ids; sentences are rarely longer


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
) -> Findings:
    """Find what is wrong with a sequence-to-sequence model by comparing its predictions for random sentences.

    Pass the model as it translates, after ``model.eval()``; it need not be trained. Float32 finds most problems:
    differences that may be due to the rounding of bfloat16 are not reported.

    Args:
        forward: The model, or a function that calls it: source ids (batch, source), each sentence followed by eos and
            then by padding, and target ids (batch, target), each starting with bos, int64 -> logits of each next token,
            (batch, target, vocabulary). Other common forms are recognized, and a note then shows how the model was
            called: masks as arguments, ``encode`` and ``decode``, ids of shape (length, batch), tuples and so on.
        vocabulary_size: Size of the target vocabulary, and of the source vocabulary unless that is given.
        pad_id: Id of padding, on both sides.
        bos_id: Id at the start of a target.
        eos_id: Id at the end of a source.
        parameters: ``model.named_parameters()``, to check gradients. If not given, those of `forward`, or of the models
            that it uses. Inputs are moved to the device of the first one.
        source_vocabulary_size: Size of the source vocabulary, if it is different.
        max_length: The longest sentence, in ids, that the model should support, at least 10. If not given, 128 ids are
            tried, and a lower limit is only a warning.
        fresh: Whether the model is untrained, so that its loss should be that of guessing. If not given, it is
            considered untrained if most gains of norms are exactly 1, or most gains and biases have equal elements.
        overfit: Also train on a small batch, which takes some seconds; the parameters are restored afterwards.

    Returns:
        The findings, errors first; an empty list if nothing is wrong.

    Raises:
        UserError: The model cannot be called in any of these forms (the message shows the line to write), or
            `parameters` are not pairs of names and tensors, or `vocabulary_size` or `max_length` are too small, or an
            id is not in the vocabulary.
    """
    model = examined_model(
        forward,
        vocabulary_size=vocabulary_size,
        pad_id=pad_id,
        bos_id=bos_id,
        eos_id=eos_id,
        parameters=parameters,
        source_vocabulary_size=source_vocabulary_size,
        max_length=max_length,
    )
    untrained = looks_untrained(model.parameters) if fresh is None else fresh
    way = choose_way(model)
    probe = Probe(replace(model, call=way.call))
    findings = [*_note_way(way), *_run_checks(probe, untrained, promised=max_length is not None, overfit=overfit)]
    return Findings(errors_first(findings))


def examined_model(
    forward: Forward,
    *,
    vocabulary_size: int,
    pad_id: int,
    bos_id: int,
    eos_id: int,
    parameters: Iterable[tuple[str, Tensor]] | None,
    source_vocabulary_size: int | None,
    max_length: int | None,
) -> ExaminedModel:
    """The checked arguments of `examine`.

    Raises:
        UserError: One of them is wrong.
    """
    if not callable(forward):
        raise UserError(f"forward: expected a model, or a function of source and target ids, not {forward!r}")
    size = as_integer("vocabulary_size", vocabulary_size)
    source_size = size
    if source_vocabulary_size is not None:
        source_size = as_integer("source_vocabulary_size", source_vocabulary_size)
        for name, value in (("pad_id", pad_id), ("eos_id", eos_id)):
            as_id(name, value, "source_vocabulary_size", source_size)
    return ExaminedModel(
        forward=forward,
        vocabulary_size=size,
        source_vocabulary_size=source_size,
        pad_id=as_id("pad_id", pad_id, "vocabulary_size", size),
        bos_id=as_id("bos_id", bos_id, "vocabulary_size", size),
        eos_id=as_id("eos_id", eos_id, "vocabulary_size", size),
        parameters=parameters_of(forward) if parameters is None else named_parameters(parameters),
        max_length=TRIED_LENGTH if max_length is None else as_integer("max_length", max_length),
        parameters_given=parameters is not None or isinstance(forward, nn.Module),
    )


def _note_way(way: Way) -> Iterator[Finding]:
    """How the model was called, if not in the usual way, and what this avoids."""
    if way.misplaced_mask:
        yield make_finding(
            "length-limit",
            f"forward fails if source and target have different lengths: {way.misplaced_mask}",
            {"line": way.line},
            severity="error",
            cause="an attention gets the mask of another one: in the decoder, the self-attention needs the mask of the "
            "target, and the cross-attention that of the source; or arguments are passed in another order than they "
            "are declared",
            fix="pass masks by name: decoder(target, memory, target_mask=target_mask, source_mask=source_mask)",
        )
    if "target-ignored" in way.explains:
        yield make_finding(
            "target-ignored",
            f"the model shifts the target itself: {way.line} predicts the tokens after bos",
            {"ignored": "last"},
            severity="warning",
            cause="the model prepends bos or removes the last token; that is right only if targets have no bos at the "
            "start, and the labels are these targets",
            fix="shift the target once: either in the model, or in the batch (the input is bos + target, the labels "
            "are target + eos)",
        )
    elif way.line != PLAIN or way.needs:
        yield make_finding(
            "called-as", f"{way.line}{f' ({way.needs})' if way.needs else ''}", {"line": way.line, "needs": way.needs}
        )


def _run_checks(probe: Probe, untrained: bool, *, promised: bool, overfit: bool) -> Iterator[Finding]:
    source, target = probe.random_sources(4, SOURCE_LENGTH), probe.random_targets(4, TARGET_LENGTH)
    with torch.no_grad():
        output = probe.call(source, target)
    if not is_finite(output):
        yield make_finding("overflow", "ordinary sentences lead to NaN or infinity", {"input": "ordinary"})
        return
    kept_state = list(check_kept_state(probe, source, target, probe.tolerance(output)))
    if kept_state:  # every comparison would find it again
        yield from kept_state
        return
    yield from check_length_limit(probe, promised)
    yield from check_not_logits(probe, output)
    created = list(check_created_in_forward(probe, source, target))
    yield from created
    unregistered = list(check_unregistered_layers(probe, source, target))
    yield from unregistered
    yield from check_padding_index(probe)
    randomness = list(check_not_deterministic(probe, source, target))
    dropout_in_layers = not probe.fixed_seed and any(finding.measured["training"] for finding in unregistered)
    if not dropout_in_layers and not any(finding.measured["random"] for finding in created):  # these explain it
        yield from randomness
    yield from check_training_fails(probe)
    dependence = list(
        look_behind_zeros(probe, lambda replaced: _check_dependence(probe, output, untrained and not replaced))
    )
    yield from dependence
    if untrained and not probe.returns_probabilities:
        yield from check_bad_initial_loss(probe)
    yield from check_overflow(probe)
    if probe.model.parameters and not probe.without_gradients:
        yield from _check_learning(probe, [each for each in dependence if each.code == "no-gradient"], overfit)
    if not dependence:
        yield from check_masked_ids(probe)
    yield from note_structure(probe, source, target, untrained)
    yield from check_changed_ids(probe)


def _check_dependence(probe: Probe, output: Tensor, untrained: bool) -> Iterator[Finding]:
    """What predictions and the loss depend on; `untrained`: the parameters are those of an untrained model."""
    yield from _compare_predictions(probe, output, untrained)
    if probe.model.parameters and not probe.without_gradients:
        yield from check_no_gradient(probe)


def _compare_predictions(probe: Probe, output: Tensor, untrained: bool) -> Iterator[Finding]:
    tolerance = probe.tolerance(output)
    batch_leak = list(check_batch_leak(probe))
    yield from batch_leak or check_batch_statistics(probe)
    future_leak = list(check_future_leak(probe))
    # a fixed seed does not help if shapes differ
    source_padding_leak = [] if probe.fixed_seed else list(check_source_padding_leak(probe, tolerance))
    yield from source_padding_leak or check_pad_embedding(probe)
    if not future_leak:  # padding after the end of a target is in the future, too
        yield from check_target_padding_leak(probe, tolerance)
    source_ignored = list(check_source_ignored(probe, tolerance))
    yield from source_ignored
    causal_cross_attention: list[Finding] = []
    if not source_ignored:
        yield from check_source_positions(probe)
        causal_cross_attention = list(check_causal_cross_attention(probe, tolerance, untrained))
    both = (*future_leak, *causal_cross_attention)
    yield from map(_exchanged_masks, both) if future_leak and causal_cross_attention else both
    if not future_leak:
        yield from check_target_positions(probe, tolerance)
        yield from check_target_ignored(probe, tolerance)


def _exchanged_masks(finding: Finding) -> Finding:
    """A finding with another cause: the causal mask is missing in one attention, and present in the other."""
    return replace(
        finding,
        cause="the masks of the decoder's two attentions are exchanged: the causal mask of the target masks the "
        "cross-attention, and the self-attention has none",
        fix="give the self-attention the causal mask and the padding of the target, and the cross-attention only the "
        "padding of the source",
    )


def _check_learning(probe: Probe, no_gradient: list[Finding], overfit: bool) -> Iterator[Finding]:
    missing = sum(len(finding.measured["parameters"]) for finding in no_gradient)
    learns = all(missing < finding.measured["of"] for finding in no_gradient)
    if learns:
        yield from check_shared_embedding(probe)
        yield from check_missing_activation(probe)
    if overfit and learns and not probe.returns_probabilities:
        yield from check_cannot_overfit(probe)
