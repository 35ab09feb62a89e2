"""Whether the numbers that come out are logits: finite, repeatable, not soft-maxed, of a sensible size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.explanations import found
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.model.leaks import SOURCE, TARGET
from dragoman.doctor.model.probe import SAME_SHAPE, Probe, compare
from dragoman.errors import UserError

RULED_OUT = -1e4  # logits of what is never to be said
TOO_LARGE = 2.5  # times the loss of guessing; sound initialisations give at most 2.2


def is_finite(raw: Tensor) -> bool:
    """Whether logits hold neither NaN nor infinity; -inf in a whole column, an entry ruled out, is allowed."""
    ruled_out = (raw == -math.inf).flatten(0, -2).all(dim=0)
    return bool((torch.isfinite(raw) | ruled_out).all())


def not_deterministic(probe: Probe, source: Tensor, target: Tensor) -> Iterator[Finding]:
    """Ask twice; if the answers differ, see whether fixing torch's random numbers makes them alike."""
    difference = compare(probe.predict(source, target), probe.predict(source, target))
    if not SAME_SHAPE.exceeded_by(difference):
        return
    probe.seed = True
    again = compare(probe.predict(source, target), probe.predict(source, target))
    dropout = not SAME_SHAPE.exceeded_by(again)
    yield found(
        "not-deterministic",
        f"the same ids give predictions that differ by up to {difference.probability:.2g} in probability; "
        + ("other checks were made with fixed random numbers" if dropout else "so nothing can be compared"),
        probability=difference.probability,
        relative=difference.relative,
        comparable=dropout,
    )


def not_logits(probe: Probe, raw: Tensor) -> Iterator[Finding]:
    """Probabilities are no less than zero and add up to one."""
    sums = raw.double().sum(dim=-1)
    if bool((raw >= 0).all()) and bool(((sums - 1).abs() < 0.02).all()):
        probe.probabilities = True
        yield found(
            "not-logits",
            "what the model returns is already soft-maxed: nothing is negative and all adds up to 1",
            smallest=float(raw.min()),
            sum=float(sums.mean()),
        )


def bad_initial_loss(probe: Probe) -> Iterator[Finding]:
    """An untrained model should guess. Words of source and target do not count: shared matrices favour them."""
    source, target = probe.source(4, SOURCE), probe.target(4, TARGET)
    with torch.no_grad():
        logits = probe.raw(source, target).cpu().double().flatten(0, 1)  # (tokens, vocabulary)
    absent = (logits > RULED_OUT).all(dim=0)
    absent[torch.cat([source.flatten(), target.flatten()]).clamp(max=len(absent) - 1)] = False
    absent[[probe.subject.pad_id, probe.subject.bos_id, probe.subject.eos_id]] = False
    if int(absent.sum()) < 2:
        return
    loss = float(-logits[:, absent].log_softmax(dim=-1).mean())
    guessing = math.log(int(absent.sum()))
    if loss > TOO_LARGE * guessing:
        yield found(
            "bad-initial-loss",
            f"untrained, the model has a loss of {loss:.1f} nats on random words; guessing has {guessing:.1f}",
            loss=loss,
            guessing=guessing,
        )


def overflow(probe: Probe) -> Iterator[Finding]:
    """A source that is all padding beside one that is not, and half precision."""
    source, target = probe.source(2, SOURCE), probe.target(2, TARGET)
    source[1] = probe.subject.pad_id
    raw = _attempt(probe, source, target)
    if isinstance(raw, Tensor) and not is_finite(raw):
        spread = not is_finite(raw[:1])
        yield found(
            "overflow",
            "a source that is all padding gives NaN or infinity"
            + (", also for the other sentence of its batch" if spread else " (its own predictions only)"),
            severity="error" if spread else "note",
            input="all-padding",
        )
    half = probe.device.type in ("cpu", "cuda") and not any(
        tensor.dtype in (torch.float16, torch.bfloat16) for _, tensor in probe.subject.parameters
    )
    if half:
        source, target = probe.source(2, SOURCE), probe.target(2, TARGET)
        with torch.autocast(probe.device.type, torch.float16):
            raw = _attempt(probe, source, target, gradients=True)  # nn.Transformer's fast path knows no autocast
        if (isinstance(raw, Tensor) and not is_finite(raw)) or "overflow" in str(raw):
            yield found(
                "overflow",
                "in half precision (float16, by autocast) the model gives NaN or infinity"
                + ("" if isinstance(raw, Tensor) else f": {raw}"),
                severity="warning",
                input="half-precision",
            )


def length_limit(probe: Probe, promised: bool) -> Iterator[Finding]:
    """Long sources, then long targets.

    Args:
        probe: Asks the model.
        promised: Whether `max_length` is what the model is said to manage, rather than a length to try.
    """
    longest = probe.subject.max_length
    asked: dict[str, Callable[[int], tuple[Tensor, Tensor]]] = {
        "source": lambda length: (probe.source(1, length), probe.target(1, TARGET)),
        "target": lambda length: (probe.source(1, SOURCE), probe.target(1, length)),
    }
    for side, ids in asked.items():
        raw = _attempt(probe, *ids(longest))
        if isinstance(raw, Exception):
            low, high = 1, longest
            while high - low > 1:
                middle = (low + high) // 2
                works = isinstance(_attempt(probe, *ids(middle)), Tensor)
                low, high = (middle, high) if works else (low, middle)
            probe.longest[side] = low
            yield found(
                "length-limit",
                f"a {side} of more than {low} ids fails: {type(raw).__name__}: {str(raw)[:120]}",
                severity="error" if promised else "warning",
                side=side,
                limit=low,
                tried=longest,
            )
        elif not is_finite(raw):
            yield found("overflow", f"a {side} of {longest} ids gives NaN or infinity", input=f"long {side}")


def _attempt(probe: Probe, source: Tensor, target: Tensor, gradients: bool = False) -> Tensor | Exception:
    """What the model returns, or how it fails."""
    try:
        with torch.set_grad_enabled(gradients):
            return probe.raw(source, target).detach()
    except UserError as failed:
        return failed.__cause__ if isinstance(failed.__cause__, Exception) else failed
