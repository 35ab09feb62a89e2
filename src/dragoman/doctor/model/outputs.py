"""The output of a model: its shape, logits or probabilities, the initial loss, and the lengths that it accepts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.probe import (
    SAME_SHAPE,
    SOURCE_LENGTH,
    TARGET_LENGTH,
    PredictionDifference,
    Probe,
    Side,
    measure_difference,
)
from dragoman.errors import UserError


def first_output(probe: Probe, source: Tensor, target: Tensor) -> Tensor:
    """The logits of the model for ordinary sentences.

    Raises:
        UserError: The model fails, or returns something other than logits; the message has a hint, if possible.
    """
    expected = (*target.shape, probe.model.vocabulary_size)
    try:
        with torch.no_grad():
            output: Any = probe.call(source, target)
    except UserError as error:
        hint = _time_first_hint(probe, source, target) or _failure_hint(probe, error.__cause__)
        raise UserError(f"{error}{hint}") from error.__cause__
    if isinstance(output, Tensor) and tuple(output.shape) == expected:
        if not output.is_floating_point():
            raise UserError(f"the model returns numbers of type {output.dtype}, not logits")
        if output.is_meta:
            raise UserError("the model is on the device 'meta', where tensors have no values; load its weights first")
        return output
    if not isinstance(output, Tensor):
        raise UserError(
            f"the model returns {type(output).__name__}, not a tensor of logits with shape {expected}"
            f"{_logits_hint(output)}"
        )
    shape = tuple(output.shape)
    hint = _time_first_hint(probe, source, target) or _order_hint(shape, source) or _shape_hint(shape, expected)
    raise UserError(
        f"for target ids with shape {tuple(target.shape)} the model returns a tensor with shape "
        f"{tuple(output.shape)}, not logits with shape {expected}{hint}"
    )


def _time_first_hint(probe: Probe, source: Tensor, target: Tensor) -> str:
    """A hint if the model returns logits for transposed ids; the numbers of ids and sentences differ."""
    try:
        with torch.no_grad():
            output = probe.call(source.T.contiguous(), target.T.contiguous())
    except UserError:
        return ""
    if not isinstance(output, Tensor) or tuple(output.shape) != (*target.T.shape, probe.model.vocabulary_size):
        return ""
    return (
        "; the model expects ids with shape (length, batch): pass "
        "forward=lambda source, target: model(source.T, target.T).transpose(0, 1)"
    )


def _order_hint(shape: tuple[int, ...], source: Tensor) -> str:
    """A hint if the shape is that of the source ids, as if they were the target; the numbers of ids differ."""
    if shape[:-1] != tuple(source.shape):
        return ""
    return (
        "; if the model expects the target first, pass forward=lambda source, target: model(target, source); it must "
        "return logits for each target id, not for each source id"
    )


def _failure_hint(probe: Probe, error: BaseException | None) -> str:
    if isinstance(error, IndexError) and "out of range" in str(error):
        sizes = f"{probe.model.source_vocabulary_size} source ids and {probe.model.vocabulary_size} target ids"
        return (
            f"; check vocabulary_size and source_vocabulary_size: the ids were below {sizes}; if only the output layer "
            "has that many rows, give the size of the embeddings, and slice the logits in forward"
        )
    if "to_padded_tensor" in str(error):  # of the fast path of torch.nn.TransformerEncoder
        return (
            "; every source id is masked: src_key_padding_mask is inverted; it must be True where source == pad_id "
            "and False for words"
        )
    if isinstance(error, TypeError) and re.search(r"positional arguments? but \d+ were given", str(error)):
        return (
            "; if the model takes fewer arguments than source and target ids, pass a function of both as forward; for "
            "a decoder-only model: forward=lambda source, target: model(torch.cat([source, target], dim=1))[:, "
            "source.shape[1]:]"
        )
    if isinstance(error, TypeError) and "argument" in str(error):
        return (
            "; if the model takes more than source and target ids, such as masks, pass a function of both as forward "
            "that computes the others"
        )
    return ""


def _logits_hint(output: Any) -> str:
    """A hint if the logits are an attribute or an element of the output."""
    if isinstance(output, Mapping) and isinstance(output.get("logits"), Tensor):
        return '; pass forward=lambda source, target: model(…)["logits"]'
    if isinstance(output, np.ndarray):
        return "; pass forward=lambda source, target: torch.from_numpy(model(…)); gradients cannot be checked then"
    if isinstance(getattr(output, "logits", None), Tensor):
        return "; pass forward=lambda source, target: model(…).logits"
    if isinstance(output, tuple | list) and any(isinstance(element, Tensor) for element in output):
        index = next(index for index, element in enumerate(output) if isinstance(element, Tensor))
        return f"; if the logits are its element {index}, pass forward=lambda source, target: model(…)[{index}]"
    return ""


def _shape_hint(shape: tuple[int, ...], expected: tuple[int, ...]) -> str:
    rows, length, vocabulary_size = expected
    if shape == (rows * length, vocabulary_size):
        return "; pass forward=lambda source, target: model(source, target).view(*target.shape, -1)"
    if shape == (rows, vocabulary_size, length):
        return "; pass forward=lambda source, target: model(source, target).transpose(1, 2)"
    if shape == (length, rows, vocabulary_size):
        return "; pass forward=lambda source, target: model(source, target).transpose(0, 1)"
    if shape == (rows, length - 1, vocabulary_size):
        return "; the model removes the last target id itself: pass the part that predicts a token for each target id"
    if shape[:-1] == expected[:-1]:
        slicing = f"forward=lambda source, target: model(source, target)[..., :{vocabulary_size}]"
        padded = f" If only the output layer is that large, pass {slicing}" if shape[-1] > vocabulary_size else ""
        return f"; is vocabulary_size, the size of the target vocabulary, {shape[-1]}?{padded}"
    return ""


MIN_LOGIT = -1e4  # a lower logit rules a token out
MAX_LOSS_FACTOR = 2.5  # times the loss of guessing; good initializations have at most 2.2


def is_finite(output: Tensor) -> bool:
    """Whether logits have neither NaN nor infinity, except that a token may be ruled out with -inf everywhere."""
    ruled_out = (output == -math.inf).flatten(0, -2).all(dim=0)
    return bool((torch.isfinite(output) | ruled_out & ~ruled_out.all()).all())


def check_not_deterministic(probe: Probe, source: Tensor, target: Tensor) -> Iterator[Finding]:
    """Call the model twice; if the predictions differ, try again without dropout, then with fixed random numbers."""

    def call_twice() -> PredictionDifference:
        return measure_difference(probe.predict(source, target), probe.predict(source, target))

    difference = call_twice()
    if not SAME_SHAPE.exceeded_by(difference):
        return
    consequence, probe.without_dropout = "the other checks ran without dropout", True
    if SAME_SHAPE.exceeded_by(call_twice()):
        consequence, probe.fixed_seed = (
            "the other checks used a fixed seed, and the amount of padding was not varied",
            True,
        )
    yield make_finding(
        "not-deterministic",
        f"the same ids lead to predictions that differ by up to {difference.probability:.2g} in probability; "
        f"{consequence}",
        {"probability": difference.probability, "relative": difference.relative},
    )


def check_not_logits(probe: Probe, output: Tensor) -> Iterator[Finding]:
    """Recognize probabilities: they are not negative and sum to 1."""
    sums = output.detach().cpu().double().sum(dim=-1)
    if bool((output >= 0).all()) and bool(((sums - 1).abs() < 0.02).all()):
        probe.returns_probabilities = True
        yield make_finding(
            "not-logits",
            "the model returns probabilities instead of logits: no output is negative and they sum to 1",
            {"smallest": float(output.min()), "sum": float(sums.mean())},
        )


def check_bad_initial_loss(probe: Probe) -> Iterator[Finding]:
    """Compare the loss of an untrained model with that of guessing.

    Tokens of the source and the target do not count, because shared matrices make them more likely.
    """
    source, target = probe.random_sources(4, SOURCE_LENGTH), probe.random_targets(4, TARGET_LENGTH)
    with torch.no_grad():
        logits = probe.call(source, target).cpu().double().flatten(0, 1)  # (tokens, vocabulary)
    counted = (logits > MIN_LOGIT).all(dim=0)
    counted[torch.cat([source.flatten(), target.flatten()]).clamp(max=len(counted) - 1)] = False
    counted[[probe.model.pad_id, probe.model.bos_id, probe.model.eos_id]] = False
    if int(counted.sum()) < 2:
        return
    loss = float(-logits[:, counted].log_softmax(dim=-1).mean())
    guessing = math.log(int(counted.sum()))
    if loss > MAX_LOSS_FACTOR * guessing:
        yield make_finding(
            "bad-initial-loss",
            f"the untrained model has a loss of {loss:.1f} nats on random words; uniform guessing gives {guessing:.1f}",
            {"loss": loss, "guessing": guessing},
        )


HALF_PRECISION = (torch.float16, torch.bfloat16)


def check_overflow(probe: Probe) -> Iterator[Finding]:
    """Call the model with a source that consists of padding, then in half precision."""
    yield from _check_all_padding(probe)
    in_half_precision = any(tensor.dtype in HALF_PRECISION for _, tensor in probe.model.parameters)
    if probe.device.type in ("cpu", "cuda") and not in_half_precision:
        yield from _check_half_precision(probe)


def _check_all_padding(probe: Probe) -> Iterator[Finding]:
    source, target = probe.random_sources(2, SOURCE_LENGTH), probe.random_targets(2, TARGET_LENGTH)
    source[1] = probe.model.pad_id
    output = _try_call(probe, source, target)
    if isinstance(output, Tensor) and not is_finite(output):
        spreads = not is_finite(output[:1])
        affected = "also for the other sentence of its batch" if spreads else "but only for itself"
        yield make_finding(
            "overflow",
            f"a source that consists of padding leads to NaN or infinity, {affected}",
            {"input": "all-padding"},
            severity="error" if spreads else "note",
        )


def _check_half_precision(probe: Probe) -> Iterator[Finding]:
    source, target = probe.random_sources(2, SOURCE_LENGTH), probe.random_targets(2, TARGET_LENGTH)
    with torch.autocast(probe.device.type, torch.float16):
        # with gradients, because the fast path of nn.Transformer does not support autocast
        output = _try_call(probe, source, target, gradients=True)
    if isinstance(output, Exception):
        overflows, detail = "overflow" in str(output), f": {output}"
    else:
        overflows, detail = not is_finite(output), ""
    if overflows:
        yield make_finding(
            "overflow",
            f"in half precision (float16 with autocast) the model returns NaN or infinity{detail}",
            {"input": "half-precision"},
            severity="note",  # it matters only if the model is used in this precision
        )


def check_length_limit(probe: Probe, promised: bool) -> Iterator[Finding]:
    """Call the model with a long source, then with a long target.

    Args:
        probe: Calls the model.
        promised: Whether the model is said to support its `max_length`, which otherwise is only a length to try.
    """
    sides: tuple[Side, ...] = ("source", "target")
    for side in sides:
        tried = probe.model.max_length
        output = _try_length(probe, side, tried)
        if isinstance(output, Exception):
            limit = probe.max_lengths[side] = _find_limit(probe, side, tried)
            yield make_finding(
                "length-limit",
                f"the model fails for a {side} of more than {limit} ids: {type(output).__name__}: {str(output)[:120]}",
                {"side": side, "limit": limit, "tried": tried},
                severity="error" if promised else "warning",
            )
        elif not is_finite(output):
            message = f"a {side} of {tried} ids leads to NaN or infinity"
            yield make_finding("overflow", message, {"input": f"long {side}"})


def _find_limit(probe: Probe, side: Side, failing: int) -> int:
    """The longest source or target for which the model does not fail, by bisection."""
    low, high = 1, failing
    while high - low > 1:
        middle = (low + high) // 2
        works = isinstance(_try_length(probe, side, middle), Tensor)
        low, high = (middle, high) if works else (low, middle)
    return low


def _try_length(probe: Probe, side: Side, length: int) -> Tensor | Exception:
    source_length, target_length = (length, TARGET_LENGTH) if side == "source" else (SOURCE_LENGTH, length)
    return _try_call(probe, probe.random_sources(1, source_length), probe.random_targets(1, target_length))


def _try_call(probe: Probe, source: Tensor, target: Tensor, gradients: bool = False) -> Tensor | Exception:
    """The output of the model, or its exception if it fails."""
    try:
        with torch.set_grad_enabled(gradients):
            return probe.call(source, target).detach()
    except UserError as error:
        return error.__cause__ if isinstance(error.__cause__, Exception) else error
