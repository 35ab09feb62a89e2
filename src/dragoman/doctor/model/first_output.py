"""The first call of a model, with hints for the usual mistakes in how it is passed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.doctor.model.probe import Probe
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
