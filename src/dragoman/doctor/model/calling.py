"""How a model is called: the common forms of beginners' models, each tried on a few random ids.

A model takes source and target ids and returns logits, (batch, target, vocabulary). Many models take masks as well,
have `encode` and `decode` in place of `forward`, expect the length before the batch, or return a tuple. `choose_way`
tries the forms of `_forms` one after another and reads what they return with `_readers`. The first form that works is
used, unless predictions with another form have fewer faults: a mask must be given as the model understands it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from dragoman.doctor.model.gradients import check_no_gradient, check_pad_embedding, check_training_fails
from dragoman.doctor.model.influence import (
    check_batch_leak,
    check_future_leak,
    check_source_ignored,
    check_source_padding_leak,
    check_source_positions,
    check_target_ignored,
)
from dragoman.doctor.model.outputs import is_finite
from dragoman.doctor.model.probe import (
    SOURCE_LENGTH,
    TARGET_LENGTH,
    ExaminedModel,
    Forward,
    Probe,
    list_names,
    submodules_of,
)
from dragoman.errors import UserError
from dragoman.system.user_code import blamed

ROWS = 4

Faults = frozenset[str]
"""Codes of findings."""

EVERYTHING: Faults = frozenset(
    {"overflow", "batch-leak", "future-leak", "source-padding-leak", "source-ignored", "position-blind"}
)


@dataclass(frozen=True)
class Form:
    """A form of call, before it is known whether the model has it.

    Attributes:
        line: The call in Python.
        call: Calls the model; returns what the model returns.
        time_first: The model expects and returns the length before the batch.
        width: The number of positions that the model returns, given source and target ids.
        remedies: The form is also tried if an earlier one works, but leads to one of these faults.
        without_masks: The model takes masks that this form does not give.
        clear_masks: If the model fails because of a mask, the mask is its own, or given where its name says.
        last_resort: The form is tried only if no other one works.
        needs: Explanations of names in the line.
    """

    line: str
    call: Callable[[Tensor, Tensor], Any]
    time_first: bool = False
    width: Callable[[Tensor, Tensor], int] = lambda source, target: target.shape[1]
    remedies: Faults = frozenset()
    without_masks: bool = False
    clear_masks: bool = False
    last_resort: bool = False
    needs: str = ""


@dataclass(frozen=True)
class Way:
    """How a model is called.

    Attributes:
        line: The call in Python, with `model` for the model.
        call: Source and target ids to logits, (batch, target, vocabulary).
        needs: Explanations of names in the line.
        explains: Faults that the model has if it is called like others.
        misplaced_mask: Why `forward` fails if source and target have different lengths, which this way avoids.
    """

    line: str
    call: Forward
    needs: str = ""
    explains: Faults = frozenset()
    misplaced_mask: str = ""


PLAIN = "model(source, target)"


def choose_way(model: ExaminedModel) -> Way:
    """The first form with which the model works, or a later one with which it has fewer faults.

    Raises:
        UserError: No form works; the message shows the line that calls a model with this signature.
    """
    source, target = _ids(model)
    failure: Exception | None = None
    misplaced_mask = ""
    last_resort = True
    best: tuple[Way, _Score] | None = None
    seen: list[Tensor] = []
    for form in _forms(model):
        if best is not None and (not best[1].faults & form.remedies or (form.last_resort and not last_resort)):
            continue
        try:
            way, logits = _fit(model, form, source, target)
        except UserError as error:
            failure = failure or error
            if form.clear_masks and best is None:
                misplaced_mask = misplaced_mask or _misplaced_mask(model, form)
            continue
        if form.clear_masks:
            misplaced_mask = ""
        last_resort = last_resort and form.last_resort
        if any(torch.equal(logits, other) for other in seen):
            continue
        seen.append(logits)
        score = _score(replace(model, call=way.call), form.without_masks)
        if form.time_first and score.faults and _is_better_with_batch_first(model, score):
            continue  # the batch comes first, but not for these modules: a batch leak, whose fix says so
        if best is None:
            best = way, score
        elif score.order < best[1].order:
            best = replace(way, explains=(best[1].faults - score.faults) & form.remedies), score
        if not score.faults:
            break
    if best is not None:
        return replace(best[0], misplaced_mask=misplaced_mask)
    assert failure is not None
    if misplaced_mask:
        raise UserError(f"the model fails if source and target have different lengths: {misplaced_mask}")
    raise UserError(f"{failure}{_advice(model, failure)}") from failure.__cause__


def _ids(model: ExaminedModel) -> tuple[Tensor, Tensor]:
    """Random ids; the last source has padding, so that inverted masks differ."""
    probe = Probe(model)
    source, target = probe.random_sources(ROWS, SOURCE_LENGTH), probe.random_targets(ROWS, TARGET_LENGTH)
    source[-1, -2:] = model.pad_id
    return source, target


def _fit(model: ExaminedModel, form: Form, source: Tensor, target: Tensor) -> tuple[Way, Tensor]:
    """The way of calling the model with this form, and its logits.

    Raises:
        UserError: The model fails, or returns no logits, or logits without values.
    """
    raw: list[Any] = []

    def record(source: Tensor, target: Tensor) -> Tensor:
        raw.append(form.call(source, target))
        return torch.zeros(())

    probe = Probe(replace(model, call=record))
    with torch.no_grad():
        probe.call(probe.random_sources(ROWS, SOURCE_LENGTH), target)  # without padding
        raw.clear()
        probe.call(source, target)
        expected = ROWS, form.width(source, target), model.vocabulary_size
        for suffix, read in _readers(raw[0], form, expected, model):
            logits = read(raw[0], source, target)
            if logits.is_meta:
                raise UserError(
                    "the model is on the device 'meta', where tensors have no values; load its weights first"
                )
            way = Way(f"{form.line}{suffix}", _Call(form, read), form.needs)
            return way, logits.detach().cpu()
    raise UserError(_wrong_output(raw[0], expected, model))


def _misplaced_mask(model: ExaminedModel, form: Form) -> str:
    """Where a model fails because it applies a mask of one side to attention over the other side; "" if it does not."""
    source, target = _ids(model)
    watch, places = _Masking(), [""]

    def leave(*_: Any) -> None:
        places.pop()

    with ExitStack() as hooks, suppress(UserError), torch.no_grad(), watch:
        for name, module in submodules_of(model.forward):
            if not isinstance(module, torch.jit.ScriptModule):
                hooks.callback(module.register_forward_pre_hook(lambda *_, name=name: places.append(name)).remove)
                hooks.callback(module.register_forward_hook(leave).remove)
        Probe(replace(model, call=form.call)).call(source, target)
    if watch.failed is None:
        return ""
    # a model may remove a target id, or add one
    sides = {source.shape[1]: "source"} | {target.shape[1] + change: "target" for change in (-1, 0, 1)}
    scores, mask = watch.failed
    masked, over = (sides.get(shape[-1]) for shape in (mask, scores))
    if masked is None or over is None or masked == over:
        return ""
    return f"{places[-1] or 'it'} applies a mask of the {masked}, {mask}, where the {over} is attended to, {scores}"


class _Masking(TorchFunctionMode):
    """Remembers the shapes of scores and of a mask that a function of torch refuses."""

    failed: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a function of torch."""
        try:
            return func(*args, **(kwargs or {}))
        except RuntimeError:
            given = [each for each in (*args, *(kwargs or {}).values()) if isinstance(each, Tensor)]
            shapes = [tuple(each.shape) for each in sorted(given, key=lambda each: not each.is_floating_point())]
            if func is F.scaled_dot_product_attention and len(shapes) == 4:
                shapes = [(*shapes[0][:-1], shapes[1][-2]), shapes[3]]
            elif getattr(func, "__name__", "").strip("_i") not in MASKING:
                shapes = []
            if len(shapes) == 2 and all(shapes):
                self.failed = self.failed or (shapes[0], shapes[1])
            raise


MASKING = frozenset({"masked_fill", "where", "add", "radd", "sub", "mul", "rmul", "and", "or"})
"""Functions that apply or combine masks, also with underscores and in place."""


@dataclass(frozen=True)
class _Call:
    """Calls a model with a form and reads its logits."""

    form: Form
    read: Callable[[Any, Tensor, Tensor], Tensor]

    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        return self.read(self.form.call(source, target), source, target)


@dataclass(frozen=True)
class _Score:
    """How well predictions behave with a form of call.

    Attributes:
        faults: Codes of errors.
        without_masks: The model takes masks, but got none.
        unused: Number of parameters without effect.
        size: How much predictions change that must not change, in total.
    """

    faults: Faults
    without_masks: bool = False
    unused: int = 0
    size: float = 0.0

    @property
    def order(self) -> tuple[int, bool, int, float]:
        """What is compared; less is better."""
        return len(self.faults), self.without_masks, self.unused, self.size


def _score(model: ExaminedModel, without_masks: bool) -> _Score:
    """The score of a form; only few checks are made, because they are repeated for several forms."""
    probe = Probe(model)
    probe.without_dropout = True
    source, target = _ids(model)
    try:
        with torch.no_grad():
            output = probe.call(source, target)
        if not is_finite(output):
            return _Score(EVERYTHING, without_masks)
        tolerance = probe.tolerance(output)
        findings = [
            *check_batch_leak(probe),
            *check_future_leak(probe),
            *(list(check_source_padding_leak(probe, tolerance)) or check_pad_embedding(probe)),
            *check_source_ignored(probe, tolerance),
        ]
        if not any(finding.code == "source-ignored" for finding in findings):
            findings += check_source_positions(probe)
        if not any(finding.code == "future-leak" for finding in findings):
            findings += check_target_ignored(probe, tolerance)
        errors = [finding for finding in findings if finding.severity == "error"]
        trainable = errors and model.parameters and not list(check_training_fails(probe))
        unused = list(check_no_gradient(probe)) if trainable else []
    except UserError:
        return _Score(EVERYTHING, without_masks)
    return _Score(
        frozenset(finding.code for finding in errors),
        without_masks,
        sum(len(finding.measured["parameters"]) for finding in unused),
        sum(finding.measured.get("relative", 0.0) for finding in errors),
    )


@contextmanager
def _with_batch_first(model: ExaminedModel) -> Iterator[list[str]]:
    """Modules of torch that expect the length first expect the batch first in the block; yields their names."""
    changed: list[tuple[str, Any]] = [
        (name, module)
        for name, module in submodules_of(model.forward)
        if getattr(module, "batch_first", None) is False and not isinstance(module, torch.jit.ScriptModule)
    ]
    for _, module in changed:
        module.batch_first = True
    try:
        yield [f"{type(module).__name__} {name}".rstrip() for name, module in changed]
    finally:
        for _, module in changed:
            module.batch_first = False


def _is_better_with_batch_first(model: ExaminedModel, score: _Score) -> bool:
    """Whether the usual call has fewer faults with ``batch_first=True`` than another call has without."""
    with _with_batch_first(model) as names:
        return bool(names) and _score(replace(model, call=model.forward), False).order < score.order


# ---- arguments, by what their names say; how masks are understood is found by trying ----


@dataclass(frozen=True)
class Argument:
    """An argument of a function."""

    name: str
    required: bool
    words: frozenset[str]
    is_mask: bool

    def mentions(self, words: str) -> bool:
        """Whether the name contains one of the words."""
        return not self.words.isdisjoint(words.split())


SOURCE_WORDS = "src source enc encoder input inputs e memory cross mem en x from"
TARGET_WORDS = "tgt trg target targets dec decoder output outputs out d de y masked to"
MEMORY_WORDS = "memory enc encoder context src source encoded hidden representations e z"
CAUSAL_WORDS = "causal future look ahead subsequent peak nopeak sub square"


def _arguments(function: Callable[..., Any]) -> list[Argument]:
    """The named arguments of a function or a module."""
    try:
        parameters = inspect.signature(function.forward if isinstance(function, nn.Module) else function).parameters
    except (TypeError, ValueError):  # some built-in functions have no signature
        return [_argument("source", True), _argument("target", True)]
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [parameter for parameter in parameters.values() if parameter.kind not in kinds]
    if not named:
        return [_argument("source", True), _argument("target", True)]
    return [_argument(each.name, each.default is inspect.Parameter.empty) for each in named]


def _argument(name: str, required: bool) -> Argument:
    words = frozenset(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))
    is_mask = any("mask" in word or "pad" in word for word in words) or (
        not words.isdisjoint(CAUSAL_WORDS.split()) and not words & {"ids", "tokens"}
    )
    return Argument(name, required, words, is_mask)


def _id_arguments(function: Callable[..., Any]) -> list[Argument]:
    """The arguments that take ids; empty if the function needs something else, too."""
    arguments = [argument for argument in _arguments(function) if not argument.is_mask]
    required = [argument for argument in arguments if argument.required]
    if len(required) <= 1:
        required += [each for each in arguments if each.words & {"ids"} and each not in required]
        return required[:2] if len(required) >= 2 else required
    return required if len(required) == 2 else []


def _mask_arguments(function: Callable[..., Any], optional: bool) -> list[Argument]:
    arguments = [argument for argument in _arguments(function) if argument.is_mask]
    return [argument for argument in arguments if argument.required or optional]


# ---- masks ----

SHAPES: dict[str, dict[str, Callable[[Tensor, Tensor], Tensor]]] = {
    # The shapes of masks, made from whether each source and target id is a word, (batch, source) and (batch, target).
    "(batch, 1, 1, source) and (batch, 1, target, target)": {
        "source": lambda source, target: source[:, None, None],
        "target": lambda source, target: target[:, None, None] & _causal(target),
        "target padding": lambda source, target: target[:, None, None],
        "memory": lambda source, target: source[:, None, None],
    },
    "(batch, 1, source) and (batch, target, target)": {
        "source": lambda source, target: source[:, None],
        "target": lambda source, target: target[:, None] & _causal(target),
        "target padding": lambda source, target: target[:, None],
        "memory": lambda source, target: source[:, None],
        "causal": lambda source, target: _causal(target).expand(len(target), -1, -1),
    },
    "(batch, source) and (target, target)": {
        "source": lambda source, target: source,
        "target": lambda source, target: _causal(target),
        "target padding": lambda source, target: target,
        "memory": lambda source, target: source,
    },
    "(batch, source) and (batch, target)": {
        "source": lambda source, target: source,
        "target": lambda source, target: target,
        "target padding": lambda source, target: target,
        "memory": lambda source, target: source,
    },
    "(batch, source, source), (batch, target, target) and (batch, target, source)": {
        "source": lambda source, target: source[:, None].expand(-1, source.shape[1], -1),
        "target": lambda source, target: target[:, None] & _causal(target),
        "target padding": lambda source, target: target[:, None].expand(-1, target.shape[1], -1),
        "memory": lambda source, target: source[:, None].expand(-1, target.shape[1], -1),
    },
}

MEANINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "True = may attend": lambda mask: mask,
    "True = hidden": lambda mask: ~mask,
    "1 = may attend": lambda mask: mask.float(),
    "1 = hidden": lambda mask: (~mask).float(),
    "added to the scores, 0 or -inf": lambda mask: torch.zeros(mask.shape, device=mask.device).masked_fill(
        ~mask, -torch.inf
    ),
}


def _causal(target: Tensor) -> Tensor:
    return torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=target.device).tril()


def _roles(masks: list[Argument]) -> dict[str, str]:
    """What each mask hides, by the name of the argument; unclear names are taken in the usual order."""
    roles: dict[str, str] = {}
    has_padding = {
        side: any("pad" in word for mask in masks if mask.mentions(words) for word in mask.words)
        for side, words in (("source", SOURCE_WORDS), ("target", TARGET_WORDS))
    }
    usual = [side for side in ("source", "target", "memory") if side not in roles.values()]
    for mask in masks:
        is_padding = any("pad" in word for word in mask.words)
        if mask.mentions(CAUSAL_WORDS):
            role = "causal"
        elif mask.mentions("memory cross mem"):
            role = "memory"
        elif mask.mentions(TARGET_WORDS):
            role = "target padding" if is_padding else "causal" if has_padding["target"] else "target"
        elif mask.mentions(SOURCE_WORDS):
            role = "source" if is_padding or not has_padding["source"] else "everything"
        else:
            role = next((side for side in usual if side not in roles.values()), "source")
        roles[mask.name] = role
    return roles


def _role_choices(masks: list[Argument]) -> list[dict[str, str]]:
    """What the masks may hide, the most likely first.

    In some tutorials, the padding mask of the decoder is that of the source, for the cross-attention.
    """
    roles = _roles(masks)
    if not roles or "memory" in roles.values() or not {"causal", "target padding"} <= set(roles.values()):
        return [roles] if roles else []
    return [roles, {name: "memory" if role == "target padding" else role for name, role in roles.items()}]


def _masks(
    model: ExaminedModel, roles: Mapping[str, str], shape: str, meaning: str, source: Tensor, target: Tensor
) -> dict[str, Tensor]:
    """The masks of a call by the names of arguments."""
    words = source != model.pad_id, target != model.pad_id
    made = {
        "causal": _causal(target),
        "everything": torch.ones(source.shape[1], source.shape[1], dtype=torch.bool, device=source.device),
        **{role: make(*words) for role, make in SHAPES[shape].items()},
    }
    return {name: MEANINGS[meaning](made[role]) for name, role in roles.items()}


# ---- forms ----


def _forms(model: ExaminedModel) -> Iterator[Form]:
    """All forms, the most common ones first."""
    given: Any = model.forward
    defines_forward = not isinstance(given, nn.Module) or type(given).forward is not nn.Module.forward
    if defines_forward:
        ids = _id_arguments(given)
        if len(ids) == 2:
            yield from _forward_forms(model, given, ids)
        else:
            yield Form(PLAIN, given)  # which fails, with the reason of Python
    encode, decode = _halves(given)
    if encode is not None and decode is not None:
        yield from _method_forms(model, given, encode, decode)
    elif not defines_forward:
        yield Form(PLAIN, given)


def _halves(given: Any) -> tuple[Callable[..., Any] | None, Callable[..., Any] | None]:
    if not isinstance(given, nn.Module):
        return None, None
    pairs = (("encode", "decode"), ("encoder", "decoder"))
    for names in pairs:
        encode, decode = (getattr(given, name, None) for name in names)
        if callable(encode) and callable(decode):
            return encode, decode
    return None, None


def _forward_forms(model: ExaminedModel, given: Any, ids: list[Argument]) -> Iterator[Form]:
    sides = "src source enc encoder", "tgt trg target dec decoder"
    in_order, swapped = (
        all(argument.mentions(words) for argument, words in zip(ids, order, strict=True))
        for order in (sides, sides[::-1])
    )
    positional = [argument.name for argument in _arguments(given)][:2] == [argument.name for argument in ids]
    names = [argument.name for argument in ids]

    def call(source: Tensor, target: Tensor, **masks: Tensor) -> Any:
        first, second = (target, source) if swapped else (source, target)
        if positional:
            return given(first, second, **masks)
        return given(**{names[0]: first, names[1]: second}, **masks)

    def line(source: str, target: str, *others: str) -> str:
        first, second = (target, source) if swapped else (source, target)
        ids = (first, second) if positional else (f"{names[0]}={first}", f"{names[1]}={second}")
        return f"model({', '.join((*ids, *others))})"

    masks = _mask_arguments(given, optional=True)
    yield from _variations(model, call, line, bool(masks))
    if not in_order and not swapped:
        yield Form("model(target, source)", lambda source, target: call(target, source))
    yield Form(
        line("source", "target without bos"),
        lambda source, target: call(source, F.pad(target[:, 1:], (0, 1), value=model.eos_id)),
        remedies=frozenset({"target-ignored"}),
    )
    choices = _role_choices(masks)
    named = all(mask.mentions(f"{SOURCE_WORDS} {TARGET_WORDS} {CAUSAL_WORDS}") for mask in masks)
    kinds = [(roles, shape, meaning) for roles in choices for shape in SHAPES for meaning in MEANINGS]
    for roles, shape, meaning in kinds:
        yield from _masked(model, call, line, roles, shape, meaning, named and len(choices) == 1)
    if _fails(model, call):
        yield from _same_width(model, call, line, kinds)


def _variations(
    model: ExaminedModel, call: Callable[..., Any], line: Callable[..., str], takes_masks: bool
) -> Iterator[Form]:
    """A call with two kinds of ids in the layouts that models expect."""
    yield Form(line("source", "target"), call, without_masks=takes_masks, clear_masks=True)
    yield Form(
        line("source.T", "target.T"),
        lambda source, target: call(source.T.contiguous(), target.T.contiguous()),
        time_first=True,
        remedies=frozenset({"batch-leak"}),
        without_masks=takes_masks,
    )
    yield Form(
        line("source", "F.pad(target, (0, 1))"),
        lambda source, target: call(source, F.pad(target, (0, 1), value=model.eos_id)),
        without_masks=takes_masks,
        clear_masks=True,
        needs="the model removes the last target id itself",
    )


def _same_width(
    model: ExaminedModel,
    call: Callable[..., Any],
    line: Callable[..., str],
    kinds: Sequence[tuple[Mapping[str, str], str, str]],
) -> Iterator[Form]:
    """A call of a model that fails if source and target have different lengths, without masks and with each kind."""
    widths: list[tuple[str, Callable[[Tensor, Tensor], int]]] = [
        ("the longer one", lambda source, target: max(source.shape[1], target.shape[1])),
        (f"{model.max_length} ids", lambda source, target: model.max_length),
    ]
    calls = [("", call)]
    for roles, shape, meaning in kinds:
        make = partial(_masks, model, roles, shape, meaning)
        calls.append((f"{shape}, {meaning}", partial(_call_with_masks, call, make, False)))
    for name, width in widths:
        works = [(kind, each) for kind, each in calls if not _fails(model, each, width(*_ids(model)))]
        for kind, each in works:
            masks = f"; the doctor made the masks, of shapes {kind}; your own masks were not examined" if kind else ""
            yield Form(
                line("source", "target", *(kinds[0][0] if kind else ())),
                partial(_call_with_width, each, width, model.pad_id),
                width=width,
                remedies=EVERYTHING if kind else frozenset(),
                without_masks=not kind and bool(kinds),
                last_resort=True,
                needs=f"source and target are padded to the same length, that of {name}{masks}",
            )
        if works:
            return


def _fails(model: ExaminedModel, call: Callable[..., Any], length: int | None = None) -> bool:
    """Whether a model raises an exception for ids of different lengths, or for source and target of one length."""

    def try_call(source: Tensor, target: Tensor) -> Tensor:
        call(source, target)
        return torch.zeros(())

    probe = Probe(replace(model, call=try_call))
    ids = _ids(model) if length is None else (probe.random_sources(ROWS, length), probe.random_targets(ROWS, length))
    try:
        with torch.no_grad():
            probe.call(*ids)
    except UserError:
        return True
    return False


def _call_with_width(
    call: Callable[..., Any], width: Callable[[Tensor, Tensor], int], pad_id: int, source: Tensor, target: Tensor
) -> Any:
    both = width(source, target)
    return call(*(F.pad(ids, (0, both - ids.shape[1]), value=pad_id) for ids in (source, target)))


def _masked(
    model: ExaminedModel,
    call: Callable[..., Any],
    line: Callable[..., str],
    roles: Mapping[str, str],
    shape: str,
    meaning: str,
    clear: bool,
) -> Iterator[Form]:
    """A call with masks of one kind, batch first and time first; `clear`: the names say what each mask hides."""
    for transposed in (False, True):
        yield Form(
            line(*(("source.T", "target.T") if transposed else ("source", "target")), *roles),
            partial(_call_with_masks, call, partial(_masks, model, roles, shape, meaning), transposed),
            time_first=transposed,
            remedies=EVERYTHING,
            clear_masks=clear and not transposed,
            needs=f"the doctor made the masks, of shapes {shape}, {meaning}; your own masks were not examined",
        )


def _call_with_masks(
    call: Callable[..., Any],
    make_masks: Callable[[Tensor, Tensor], dict[str, Tensor]],
    transposed: bool,
    source: Tensor,
    target: Tensor,
) -> Any:
    masks = make_masks(source, target)
    return call(source.T.contiguous(), target.T.contiguous(), **masks) if transposed else call(source, target, **masks)


def _method_forms(
    model: ExaminedModel, given: nn.Module, encode: Callable[..., Any], decode: Callable[..., Any]
) -> Iterator[Form]:
    """Encoder and decoder called one after the other, as in a search."""
    ids = [argument.name for argument in _arguments(encode) if not argument.is_mask][:1]
    states = [argument for argument in _arguments(decode) if not argument.is_mask][:2]
    if not ids or len(states) < 2:
        return
    memory_first = states[0].mentions(MEMORY_WORDS) or not (
        states[1].mentions(MEMORY_WORDS) or states[0].mentions(TARGET_WORDS)
    )
    memory, target_ids = (states[0].name, states[1].name) if memory_first else (states[1].name, states[0].name)
    names = [
        getattr(each, "__name__", None) or ("encoder", "decoder")[index] for index, each in enumerate((encode, decode))
    ]
    encode_masks, decode_masks = (_mask_arguments(each, optional=True) for each in (encode, decode))
    encode_roles = {name: "source" if role == "target" else role for name, role in _roles(encode_masks).items()}
    decode_roles = _decode_roles(decode_masks)
    order = ("memory", "target") if memory_first else ("target", "memory")

    def line(encode_masks: Mapping[str, str], decode_masks: Mapping[str, str]) -> str:
        decoded = f"model.{names[1]}({', '.join((*order, *decode_masks))})"
        return f"memory = model.{names[0]}({', '.join(('source', *encode_masks))}); {decoded}"

    combinations = [(shape, meaning) for shape in SHAPES for meaning in MEANINGS]
    for shape, meaning in [("", ""), *combinations]:
        if shape and not (encode_roles or decode_roles):
            return

        def call(source: Tensor, target: Tensor, shape: str = shape, meaning: str = meaning) -> Any:
            masks = [
                _masks(model, roles, shape, meaning, source, target) if shape else {}
                for roles in (encode_roles, decode_roles)
            ]
            hidden = _first_tensor(encode(**{ids[0]: source}, **masks[0]))
            return decode(**{memory: hidden, target_ids: target}, **masks[1])

        yield Form(
            line(encode_roles, decode_roles) if shape else line({}, {}),
            call,
            remedies=EVERYTHING,
            without_masks=not shape and bool(encode_roles or decode_roles),
            needs=f"the doctor made the masks, of shapes {shape}, {meaning}; your own masks were not examined"
            if shape
            else "",
        )


def _decode_roles(masks: list[Argument]) -> dict[str, str]:
    """What each mask of a decoder hides: that of the source is for the cross-attention."""
    roles = _roles(masks)
    return {name: "memory" if role in ("source", "everything") else role for name, role in roles.items()}


def _first_tensor(value: Any) -> Any:
    """The first tensor of a tuple, which also may contain attention weights."""
    if isinstance(value, tuple | list):
        return next((each for each in value if isinstance(each, Tensor)), value)
    return value


# ---- outputs ----


def _readers(
    raw: Any, form: Form, expected: tuple[int, int, int], model: ExaminedModel
) -> Iterator[tuple[str, Callable[[Any, Tensor, Tensor], Tensor]]]:
    """How to read logits from what a model returns: as Python that is added to the call, and as a function."""
    for suffix, element in _elements_of(raw):
        value = element(raw)
        if not value.is_floating_point():
            continue
        for arrangement, arrange in _arrangements(tuple(value.shape), expected, form.time_first):
            yield f"{suffix}{arrangement}", _reader(element, None, arrange)
        for name, project in _projections(value, model):
            shape = (*value.shape[:-1], model.vocabulary_size)
            for arrangement, arrange in _arrangements(shape, expected, form.time_first):
                yield f"{suffix}, then model.{name}(…){arrangement}", _reader(element, project, arrange)


def _reader(
    element: Callable[[Any], Tensor],
    project: Callable[[Tensor], Tensor] | None,
    arrange: Callable[[Tensor, int, int], Tensor],
) -> Callable[[Any, Tensor, Tensor], Tensor]:
    def read(raw: Any, source: Tensor, target: Tensor) -> Tensor:
        value = element(raw)
        logits = arrange(project(value) if project else value, len(target), target.shape[1])
        return logits[:, : target.shape[1]]

    return read


def _elements_of(raw: Any) -> Iterator[tuple[str, Callable[[Any], Tensor]]]:
    """The tensors in what a model returns."""
    if isinstance(raw, Tensor):
        yield "", lambda raw: raw
    elif isinstance(raw, np.ndarray):
        yield "", torch.from_numpy
    elif isinstance(raw, Mapping):
        for key in sorted(raw, key=lambda key: key != "logits"):
            if isinstance(raw[key], Tensor):
                yield f"[{key!r}]".replace("'", '"'), itemgetter(key)
    elif isinstance(getattr(raw, "logits", None), Tensor):
        yield ".logits", attrgetter("logits")
    elif isinstance(raw, tuple | list):
        for index, value in enumerate(raw):
            if isinstance(value, Tensor):
                yield f"[{index}]", itemgetter(index)


def _arrangements(
    shape: tuple[int, ...], expected: tuple[int, int, int], time_first: bool
) -> Iterator[tuple[str, Callable[[Tensor, int, int], Tensor]]]:
    """How a tensor of this shape becomes (batch, target, vocabulary)."""
    rows, length, size = expected
    if shape == (rows, length, size):
        yield "", lambda value, rows, length: value
    elif shape == (length, rows, size):
        yield ".transpose(0, 1)", lambda value, rows, length: value.transpose(0, 1)
    elif shape == (rows, size, length):
        yield ".transpose(1, 2)", lambda value, rows, length: value.transpose(1, 2)
    elif shape == (rows * length, size) and time_first:
        yield (
            ".view(*target.T.shape, -1).transpose(0, 1)",
            lambda value, rows, length: value.view(-1, rows, value.shape[-1]).transpose(0, 1),
        )
    elif shape == (rows * length, size):
        yield ".view(*target.shape, -1)", lambda value, rows, length: value.view(rows, -1, value.shape[-1])


def _projections(hidden: Tensor, model: ExaminedModel) -> Iterator[tuple[str, nn.Module]]:
    """The parts of a model that turn hidden states into logits, if the model leaves that to its caller."""
    if not isinstance(model.forward, nn.Module) or hidden.dim() != 3 or hidden.shape[-1] == model.vocabulary_size:
        return
    for name, child in model.forward.named_children():
        if isinstance(child, nn.Embedding) or not any(True for _ in child.parameters()):
            continue
        output = None
        with suppress(UserError), blamed(f"{name} is another part"):
            output = child(hidden)
        if isinstance(output, Tensor) and output.shape == (*hidden.shape[:-1], model.vocabulary_size):
            yield name, child


# ---- what to write if no form works ----


def _wrong_output(raw: Any, expected: tuple[int, int, int], model: ExaminedModel) -> str:
    """What a model returns in place of logits."""
    if not isinstance(raw, Tensor):
        shapes = [f"{name or 'value'}: {tuple(read(raw).shape)}" for name, read in _elements_of(raw)]
        listed = f" ({', '.join(shapes)})" if shapes else ""
        return f"the model returns {type(raw).__name__}{listed}, not a tensor of logits with shape {expected}"
    shape = tuple(raw.shape)
    if shape == expected:
        return f"the model returns numbers of type {raw.dtype}, not logits"
    message = f"the model returns a tensor with shape {shape}, not logits with shape {expected}"
    if shape[:-1] != expected[:-1]:
        return message
    widths = {tensor.shape[-1] for _, tensor in model.parameters if tensor.dim() > 1}
    if shape[-1] > expected[-1] and shape[-1] not in widths:
        return (
            f"{message}; is vocabulary_size, the size of the target vocabulary, {shape[-1]}? If only the output layer "
            f"is that large, pass forward=lambda source, target: model(source, target)[..., :{expected[-1]}]"
        )
    return (
        f"{message}: these are hidden states, or vocabulary_size, the size of the target vocabulary, is {shape[-1]}; "
        "for hidden states, pass forward=lambda source, target: output_layer(model(source, target))"
    )


def _advice(model: ExaminedModel, failure: Exception) -> str:
    """What to write for a model of this signature, with the places that only its author knows as dots."""
    error = failure.__cause__
    if isinstance(error, IndexError) and "out of range" in str(error):
        sizes = f"{model.source_vocabulary_size} source ids and {model.vocabulary_size} target ids"
        return (
            f"; check vocabulary_size and source_vocabulary_size: the ids were below {sizes}; if only the output layer "
            "has that many rows, give the size of the embeddings, and slice the logits in forward"
        )
    if "to_padded_tensor" in str(error):  # of the fast path of torch.nn.TransformerEncoder
        return (
            "; every source id is masked: src_key_padding_mask is inverted; it must be True where source == pad_id "
            "and False for words"
        )
    if error is None or not callable(model.forward):
        return ""
    if "must have the same dtype" in str(error) or "expected m1 and m2 to have the same dtype" in str(error):
        return (
            "; if the model takes embeddings in place of ids, embed them first: forward=lambda source, target: "
            "model(embed(source), embed(target))"
        )
    with _with_batch_first(model) as names:
        if names and not _fails(model, model.forward):
            return (
                f"; it works with batch_first=True, which torch's modules need if the batch is the first dimension: "
                f"{list_names(names)}"
            )
    glue = _glue(model.forward)
    if glue == PLAIN:
        return "; other calls fail, too: the model has a mistake there, or needs sentences of one length (max_length)"
    return f"; write the line that calls your model: forward=lambda source, target: {glue}"


def _glue(given: Any) -> str:
    """The call of a model with its signature; the author replaces the dots."""
    arguments = [argument for argument in _arguments(given) if argument.required or argument.is_mask]
    ids = [argument for argument in arguments if not argument.is_mask]
    if len(ids) == 1:
        return "model(torch.cat([source, target], dim=1))[:, source.shape[1]:]"
    values = dict(zip((each.name for each in ids), ("source", "target"), strict=False))
    return f"model({', '.join(values.get(each.name, f'{each.name}=…') for each in arguments)})"
