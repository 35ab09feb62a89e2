"""A model as a black box: ids to feed it, and how much its predictions differ."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.errors import UserError

Forward = Callable[[Tensor, Tensor], Tensor]
"""Source ids (batch, source) and target ids (batch, target), int64 -> logits (batch, target, vocabulary)."""


@dataclass(frozen=True)
class Subject:
    """What is examined; see `dragoman.doctor.examine`."""

    forward: Forward
    vocabulary_size: int
    source_vocabulary_size: int
    pad_id: int
    bos_id: int
    eos_id: int
    parameters: tuple[tuple[str, Tensor], ...]
    max_length: int


@dataclass(frozen=True)
class Difference:
    """How much predictions differ.

    `relative` is the root mean square of the differences of log-probabilities over their spread in the
    vocabulary; `probability` is the largest difference of a probability.
    """

    relative: float
    probability: float


@dataclass(frozen=True)
class Tolerance:
    """What rounding may do when shapes differ; where shapes are equal a sound model differs by nothing at all."""

    relative: float
    probability: float

    def exceeded_by(self, difference: Difference) -> bool:
        """Whether a difference is more than rounding."""
        return difference.relative > self.relative or difference.probability > self.probability


SAME_SHAPE = Tolerance(1e-6, 1e-5)
# Measured on sound models from random initialisation: at most 6e-7 of the spread in float32, 0.014 in bfloat16.
BY_PRECISION = {
    torch.float32: Tolerance(2e-5, 1e-4),
    torch.float16: Tolerance(0.01, 1.0),
    torch.bfloat16: Tolerance(0.06, 1.0),
}


class Probe:
    """Asks a subject for predictions; `seed` and `alone` are set by the checks that find them needed."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.generator = torch.Generator().manual_seed(1)
        self.device = next((tensor.device for _, tensor in subject.parameters), torch.device("cpu"))
        self.seed = False  # fix torch's random numbers before each call
        self.alone = False  # one sentence a call
        self.probabilities = False  # the subject returns probabilities
        self.longest = {"source": subject.max_length, "target": subject.max_length}  # ids that it takes
        specials = {subject.pad_id, subject.bos_id, subject.eos_id}
        self.words, self.source_words = (
            torch.tensor([index for index in range(size) if index not in specials])
            for size in (subject.vocabulary_size, subject.source_vocabulary_size)
        )
        if min(len(self.words), len(self.source_words)) < 4:
            raise UserError("vocabulary_size: a model needs at least 4 ids besides pad, bos and eos to be examined")

    def source(self, rows: int, length: int) -> Tensor:
        """Random words and eos, (rows, length)."""
        ids = self._draw(self.source_words, rows, length)
        ids[:, -1] = self.subject.eos_id
        return ids

    def target(self, rows: int, length: int) -> Tensor:
        """bos and random words, (rows, length)."""
        ids = self._draw(self.words, rows, length)
        ids[:, 0] = self.subject.bos_id
        return ids

    def _draw(self, words: Tensor, rows: int, length: int) -> Tensor:
        return words[torch.randint(len(words), (rows, length), generator=self.generator)]

    def changed(self, ids: Tensor, words: Tensor) -> Tensor:
        """Another word for each word of ids; specials stay."""
        steps = torch.randint(1, len(words), ids.shape, generator=self.generator)
        places = torch.searchsorted(words, ids.contiguous()).clamp(max=len(words) - 1)
        return torch.where(words[places] == ids, words[(places + steps) % len(words)], ids)

    def padded(self, ids: Tensor, width: int) -> Tensor:
        """Ids with padding at the end, (rows, width)."""
        return torch.nn.functional.pad(ids, (0, width - ids.shape[1]), value=self.subject.pad_id)

    def raw(self, source: Tensor, target: Tensor) -> Tensor:
        """What the subject returns, (batch, target, vocabulary).

        Raises:
            UserError: It fails; the cause is its own exception.
        """
        with torch.random.fork_rng(enabled=self.seed), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever uses the model sees its warnings without us
            if self.seed:
                torch.manual_seed(1)
            try:
                return self.subject.forward(source.to(self.device), target.to(self.device))
            except Exception as error:  # whatever a black box raises
                shapes = f"source ids {tuple(source.shape)} and target ids {tuple(target.shape)}"
                raise UserError(f"the model fails on {shapes}: {type(error).__name__}: {error}") from error

    @torch.no_grad()
    def predict(self, source: Tensor, target: Tensor) -> Tensor:
        """Log-probabilities of each next token in float64, (batch, target, vocabulary)."""
        if self.alone:
            return torch.cat(
                [self.normalise(self.raw(source[row, None], target[row, None])) for row in range(len(source))]
            )
        return self.normalise(self.raw(source, target))

    def normalise(self, raw: Tensor) -> Tensor:
        """Log-probabilities of what the subject returned."""
        values = raw.detach().cpu().double()
        return (values.clamp_min(1e-30).log() if self.probabilities else values).log_softmax(dim=-1).clamp_min(-60.0)

    def tolerance(self, raw: Tensor) -> Tolerance:
        """What rounding may do in this subject: its logits and parameters show how precisely it computes."""
        kinds = {raw.dtype, *(tensor.dtype for _, tensor in self.subject.parameters)}
        for kind in (torch.bfloat16, torch.float16):  # a cast to float32 afterwards adds no precision
            if kind in kinds or torch.equal(raw.to(kind).to(raw.dtype), raw):
                return BY_PRECISION[kind]
        return BY_PRECISION[torch.float32]


def compare(one: Tensor, other: Tensor) -> Difference:
    """The difference of log-probabilities of the same shape, (…, vocabulary)."""
    if not one.numel():
        return Difference(0.0, 0.0)
    spread = max(float(one.std(dim=-1).mean()), 1e-12)
    rms = float((one - other).square().mean().sqrt())
    return Difference(rms / spread, float((one.exp() - other.exp()).abs().max()))
