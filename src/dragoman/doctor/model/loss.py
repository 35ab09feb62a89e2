"""Whether a loss is that of translation: cross-entropy of the next tokens, without padding, one mean over all tokens.

The loss is a function of logits and labels, or of a model, source and target. Its gradient for the logits shows what it
wants: for cross-entropy, it is (probabilities - wanted probabilities) / tokens at each position.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.doctor.findings.finding import Finding, Findings, errors_first
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.probe import as_id, as_integer
from dragoman.errors import UserError
from dragoman.system.user_code import blamed

ROWS, LENGTH = 3, 7  # labels of the batch, the longest sentence included
MIN_VOCABULARY = LENGTH + 5
TOLERANCE = 1e-3
ROUNDING = 1e-5

LOGITS_AND_LABELS = "loss(logits, labels)"

LAYOUTS: dict[str, Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] = {
    LOGITS_AND_LABELS: lambda logits, labels: (logits, labels),
    "loss(logits.flatten(0, 1), labels.flatten())": lambda logits, labels: (logits.flatten(0, 1), labels.flatten()),
    "loss(logits.transpose(1, 2), labels)": lambda logits, labels: (logits.transpose(1, 2), labels),
}
"""The shapes in which losses take logits (batch, length, vocabulary) and labels (batch, length)."""


def examine_loss(
    loss: Callable[..., Tensor],
    *,
    vocabulary_size: int,
    pad_id: int,
    bos_id: int | None = None,
    eos_id: int | None = None,
) -> Findings:
    """Find what is wrong with the loss of a translator, from its values and its gradients.

    Args:
        loss: ``loss(logits, labels)``, with logits (batch, length, vocabulary) and the next tokens as labels (batch,
            length); or ``loss(model, source, target)`` for a training step, with ids of a batch, in which targets are
            bos, words, eos and padding. It calls the model with source and decoder input. Only the second form shows
            whether inputs and labels are shifted by one token.
        vocabulary_size: Size of the target vocabulary.
        pad_id: Id of padding.
        bos_id: Id at the start of a target, needed for a training step.
        eos_id: Id at the end of a target, needed for a training step.

    Returns:
        The findings, errors first.

    Raises:
        UserError: The loss fails or returns something other than one number, or an id is not in the vocabulary.
    """
    size = as_integer("vocabulary_size", vocabulary_size)
    if size < MIN_VOCABULARY:
        raise UserError(f"vocabulary_size = {size}: at least {MIN_VOCABULARY} ids are needed to examine a loss")
    pad = as_id("pad_id", pad_id, "vocabulary_size", size)
    if not callable(loss):
        raise UserError(f"loss: expected a function of logits and labels, not {loss!r}")
    specials = {pad}
    if _takes_a_model(loss):
        if bos_id is None or eos_id is None:
            raise UserError("bos_id and eos_id are needed to examine a training step loss(model, source, target)")
        specials |= {
            as_id(name, value, "vocabulary_size", size) for name, value in (("bos_id", bos_id), ("eos_id", eos_id))
        }
        trial: _Trial = _StepTrial(loss, size, pad, specials, bos=bos_id)
    else:
        trial = _Trial(loss, size, pad, specials)
    return Findings(errors_first(_check(trial)))


def _takes_a_model(loss: Callable[..., Any]) -> bool:
    """Whether a loss has three arguments without defaults."""
    try:
        parameters = inspect.signature(loss.forward if isinstance(loss, nn.Module) else loss).parameters.values()
    except (TypeError, ValueError):
        return False
    required = [
        each
        for each in parameters
        if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    return len(required) == 3


@dataclass
class _Trial:
    """Calls a loss with logits and labels of the doctor's choice."""

    loss: Callable[..., Any]
    size: int
    pad: int
    specials: set[int]
    layout: str = LOGITS_AND_LABELS
    given: str = "logits"
    generator: torch.Generator = field(default_factory=lambda: torch.Generator().manual_seed(1))

    def words(self, *shape: int) -> Tensor:
        """Random words."""
        allowed = torch.tensor([index for index in range(self.size) if index not in self.specials])
        return allowed[torch.randint(len(allowed), shape, generator=self.generator)]

    def labels(self) -> Tensor:
        """Sentences of different lengths, (ROWS, LENGTH)."""
        labels = self.words(ROWS, LENGTH)
        labels[1, 5:], labels[2, 3:] = self.pad, self.pad
        return labels

    def sentence(self) -> Tensor:
        """One sentence of different words, (1, LENGTH), the same in each call."""
        allowed = [index for index in range(self.size) if index not in self.specials]
        return torch.tensor(allowed[:LENGTH])[None]

    def logits(self, labels: Tensor) -> Tensor:
        """Random logits for labels."""
        return torch.randn(*labels.shape, self.size, generator=self.generator)

    def value(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss.

        Raises:
            UserError: It fails, or is not one number.
        """
        value = self.call(GIVEN[self.given](logits), labels)
        if not isinstance(value, Tensor) or value.numel() != 1:
            what = f"a tensor with shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            raise UserError(f"the loss returns {what}, not a tensor with one number")
        return value.reshape(())

    def call(self, logits: Tensor, labels: Tensor) -> Any:
        """What the loss returns."""
        shapes = f"logits {tuple(logits.shape)} and labels {tuple(labels.shape)}"
        with torch.enable_grad(), blamed(f"the loss fails for {shapes}"):
            return self.loss(*LAYOUTS[self.layout](logits, labels))

    def gradient(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The gradient of the loss for the logits, zero if there is none."""
        logits = logits.clone().requires_grad_()
        value = self.value(logits, labels)
        if not value.requires_grad:
            return torch.zeros_like(logits)
        (gradient,) = torch.autograd.grad(value, logits, allow_unused=True)
        return torch.zeros_like(logits) if gradient is None else gradient

    def choose_layout(self) -> None:
        """The first layout with which the loss does not fail.

        Raises:
            UserError: It fails with all of them.
        """
        labels = self.labels()
        failure = None
        for layout in LAYOUTS:
            self.layout = layout
            try:
                self.value(self.logits(labels), labels)
            except UserError as error:
                failure = failure or error
            else:
                return
        assert failure is not None
        raise failure


@dataclass
class _StepTrial(_Trial):
    """Calls a training step with a model that returns the doctor's logits, and records its decoder input."""

    bos: int = 0
    inputs: Tensor | None = None  # the decoder input of the last call

    def target_of(self, labels: Tensor) -> Tensor:
        """The target with these labels: it starts with bos."""
        return torch.cat([torch.full((len(labels), 1), self.bos), labels], dim=1)

    def call(self, logits: Tensor, labels: Tensor) -> Any:
        """What the step returns for targets with these labels."""
        target = self.target_of(labels)
        model = _Answers(logits)
        with torch.enable_grad(), blamed("the training step fails"):
            value = self.loss(model, self.words(len(labels), 5), target)
        self.inputs = model.inputs
        return value

    def choose_layout(self) -> None:
        """Call the step once."""
        labels = self.labels()
        self.value(self.logits(labels), labels)
        if self.inputs is None:
            raise UserError("the training step does not call the model with source ids and decoder input")


class _Answers(nn.Module):
    """A model that returns given logits for any ids; its last tensor of ids is the decoder input."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.given = logits
        self.inputs: Tensor | None = None
        self.weight = nn.Parameter(torch.zeros(1))  # a device and a type, for those who ask

    def forward(self, source: Tensor, target: Tensor, *others: Any, **options: Any) -> Tensor:
        """The logits, as many positions as the decoder input has; those beyond the labels are zero."""
        self.inputs = target.detach().clone()
        missing = target.shape[1] - self.given.shape[1]
        if missing > 0:
            return nn.functional.pad(self.given, (0, 0, 0, missing))
        return self.given[:, : target.shape[1]]


GIVEN: dict[str, Callable[[Tensor], Tensor]] = {
    "logits": lambda logits: logits,
    "log_probabilities": lambda logits: logits.log_softmax(dim=-1),
    "probabilities": lambda logits: logits.softmax(dim=-1),
}
"""What a loss takes, made from logits."""


def _check(trial: _Trial) -> Iterator[Finding]:
    trial.choose_layout()
    wanted = next((each for trial.given in GIVEN if (each := _wanted(trial)) is not None), None)
    if wanted is None:
        message = "the gradient for the logits is not that of cross-entropy: probabilities minus wanted probabilities"
        yield make_finding("loss-form", message, {})
        return
    line = trial.layout.replace("logits", trial.given)
    if line != LOGITS_AND_LABELS:
        cause = f"the loss takes {trial.given.replace('_', '-')} of this shape, as NLLLoss and KLDivLoss do"
        fix = f"let the model return {trial.given.replace('_', '-')}, or use cross_entropy with logits"
        is_usual = trial.given == "logits"
        yield make_finding(
            "called-as", line, {"line": line}, cause=None if is_usual else cause, fix=None if is_usual else fix
        )
    shifted = list(_check_shift(trial, wanted.tokens))
    yield from shifted
    if shifted:
        return
    if abs(wanted.total - 1) > 5 * TOLERANCE:
        message = f"the probabilities that the loss wants sum to {wanted.total:.3f}"
        yield make_finding("loss-smoothing", message, {"sum": wanted.total})
    padding = list(_check_padding(trial))
    yield from padding or _check_mean(trial)


@dataclass(frozen=True)
class _Wanted:
    """What a loss wants for one sentence.

    Attributes:
        tokens: The most wanted token at each position, -1 where the logits do not matter.
        total: The sum of the wanted probabilities of a token.
    """

    tokens: Tensor
    total: float


def _wanted(trial: _Trial) -> _Wanted | None:
    """What the gradients of two sets of logits have in common; None if they are not those of cross-entropy.

    With S for the sum of the wanted probabilities q, the gradient at one of N tokens is (S p - q) / N for the
    probabilities p, so that the difference of two gradients is S / N times the difference of p.
    """
    labels = trial.sentence()
    one, other = trial.logits(labels), trial.logits(labels)
    try:
        gradients = [trial.gradient(logits, labels)[0].double() for logits in (one, other)]  # (length, vocabulary)
    except UserError:
        return None
    matters = gradients[0].abs().amax(dim=-1) > ROUNDING
    if not matters.any():
        return None
    p = [logits[0].double().softmax(dim=-1) for logits in (one, other)]
    difference, change = (gradients[0] - gradients[1])[matters], (p[0] - p[1])[matters]
    slope = float((difference * change).sum() / change.square().sum())  # S / N
    wanted = slope * p[0] - gradients[0]  # q / N, (length, vocabulary)
    rest = float((difference - slope * change).abs().max())
    if slope < TOLERANCE or rest > TOLERANCE * slope or float(wanted[matters].min()) < -TOLERANCE * slope:
        return None
    count = int(matters.sum())
    total = slope * count
    tokens = wanted.argmax(dim=-1).masked_fill(~matters, -1)
    return _Wanted(tokens, total / count if total > 2 else total)  # a loss may be the sum over the tokens


def _check_shift(trial: _Trial, tokens: Tensor) -> Iterator[Finding]:
    """Compare the place of each wanted token with that of the decoder input, or of the logits."""
    labels = trial.sentence()
    if not isinstance(trial, _StepTrial) or trial.inputs is None:
        if set(_places(tokens, labels[0])) != {0}:
            yield make_finding(
                "loss-shift",
                "the loss rewards another label than that at the position of the logits: it shifts labels itself, "
                "which is right only if the labels are the decoder input",
                {},
                severity="warning",
            )
        return
    target = trial.target_of(labels)[0]
    shifts = {
        None if wanted is None or read is None else wanted - read
        for wanted, read in zip(_places(tokens, target), _places(trial.inputs[0], target), strict=False)
    }
    if shifts == {1}:
        return
    what = "other tokens"
    if len(shifts) == 1 and None not in shifts:
        (shift,) = shifts
        what = f"the token {shift} positions later" if shift else "its own token"
    message = f"at each position of the decoder input, the loss rewards {what}, not the next one"
    yield make_finding("loss-shift", message, {"shifts": sorted(map(str, shifts))})


def _places(tokens: Tensor, sequence: Tensor) -> list[int | None]:
    """Where each token is in a sequence, relative to its own place; None if it is not there; -1 is left out."""
    found = sequence.tolist()
    pairs = ((place, token) for place, token in enumerate(tokens.tolist()) if token >= 0)
    return [found.index(token) - place if token in found else None for place, token in pairs]


def _check_padding(trial: _Trial) -> Iterator[Finding]:
    labels = trial.labels()
    gradient = trial.gradient(trial.logits(labels), labels)
    if float(gradient[labels == trial.pad].abs().max()) > ROUNDING:
        yield make_finding("loss-padding", "logits at positions whose label is padding change the loss", {})


def _check_mean(trial: _Trial) -> Iterator[Finding]:
    labels = trial.labels()
    logits = trial.logits(labels)
    value = float(trial.value(logits, labels).detach())
    lengths = (labels != trial.pad).sum(dim=1)
    rows = torch.tensor(
        [
            float(trial.value(logits[[row], :length], labels[[row], :length]).detach())
            for row, length in enumerate(lengths.tolist())
        ]
    )
    mean = float((rows * lengths).sum() / lengths.sum())
    wider = nn.functional.pad(logits, (0, 0, 0, 4)), nn.functional.pad(labels, (0, 4), value=trial.pad)
    more = float(trial.value(*wider).detach())
    if abs(value - mean) <= TOLERANCE * abs(mean) and abs(more - value) <= TOLERANCE * abs(value):
        return
    if abs(value - float(rows.sum())) <= TOLERANCE * abs(value):
        message = "the loss is a sum over the tokens of the batch, not their mean"
    elif abs(more - value) > TOLERANCE * abs(value):
        message = (
            f"more padding changes the loss from {value:.4g} to {more:.4g}: it is divided by positions with padding"
        )
    elif abs(value - float(rows.mean())) <= TOLERANCE * abs(value):
        message = "the loss is the mean of the means of sentences, so that tokens of short sentences count more"
    else:
        message = f"the loss of a batch is {value:.4g}; the mean over its tokens is {mean:.4g}"
    yield make_finding("loss-mean", message, {"loss": value, "mean": mean})
