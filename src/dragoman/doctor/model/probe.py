"""A model as a black box: random ids to feed it, and its predictions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from dragoman.doctor.model.differences import TOLERANCES, Tolerance
from dragoman.doctor.model.dropout import WithoutDropout
from dragoman.errors import UserError

Forward = Callable[[Tensor, Tensor], Tensor]
"""Source ids (batch, source) and target ids (batch, target), int64 -> logits (batch, target, vocabulary)."""

Side = Literal["source", "target"]
NamedParameters = tuple[tuple[str, Tensor], ...]

SOURCE_LENGTH, TARGET_LENGTH = 7, 10  # ids of an ordinary sentence, including eos or bos


@dataclass(frozen=True)
class ExaminedModel:
    """The model to examine; the attributes are explained in `dragoman.doctor.examine`."""

    forward: Forward
    vocabulary_size: int
    source_vocabulary_size: int
    pad_id: int
    bos_id: int
    eos_id: int
    parameters: NamedParameters
    max_length: int


class Probe:
    """Feeds random sentences to a model and returns its predictions.

    Attributes:
        model: The model to examine.
        device: The device of the model's inputs.
        generator: Random numbers for the sentences.
        words: Ids of the target vocabulary without pad, bos and eos.
        source_words: Ids of the source vocabulary without pad, bos and eos.
        max_lengths: Ids that a source and a target may have; `check_length_limit` lowers them.
        without_dropout: Call the model without dropout; `check_not_deterministic` sets it.
        fixed_seed: Reset torch's random numbers before each call; `check_not_deterministic` sets it.
        one_at_a_time: Feed one sentence per call; `check_batch_leak` sets it.
        returns_probabilities: The model returns probabilities; `check_not_logits` sets it.
        changed_ids: Whether the model has changed its source ids or its target ids, in copies of those of the checks.
    """

    def __init__(self, model: ExaminedModel) -> None:
        self.model = model
        self.device = next((tensor.device for _, tensor in model.parameters), torch.device("cpu"))
        self.generator = torch.Generator().manual_seed(1)
        self.words = self._words(model.vocabulary_size)
        self.source_words = self._words(model.source_vocabulary_size)
        if model.max_length < TARGET_LENGTH:
            raise UserError(
                f"max_length = {model.max_length}: at least {TARGET_LENGTH} ids are needed to examine a model"
            )
        self.max_lengths: dict[Side, int] = {"source": model.max_length, "target": model.max_length}
        self.without_dropout = False
        self.fixed_seed = False
        self.one_at_a_time = False
        self.returns_probabilities = False
        self.changed_ids: set[Side] = set()

    def _words(self, vocabulary_size: int) -> Tensor:
        specials = {self.model.pad_id, self.model.bos_id, self.model.eos_id}
        words = [index for index in range(vocabulary_size) if index not in specials]
        if len(words) < 4:
            raise UserError(
                f"vocabulary_size = {vocabulary_size}: too small to examine the model; at least 4 ids besides pad, bos "
                "and eos are needed"
            )
        return torch.tensor(words)

    def random_sources(self, rows: int, length: int) -> Tensor:
        """Random words and eos, (rows, length)."""
        ids = self._random_words(self.source_words, rows, length)
        ids[:, -1] = self.model.eos_id
        return ids

    def random_targets(self, rows: int, length: int) -> Tensor:
        """bos and random words, (rows, length)."""
        ids = self._random_words(self.words, rows, length)
        ids[:, 0] = self.model.bos_id
        return ids

    def _random_words(self, words: Tensor, rows: int, length: int) -> Tensor:
        return words[torch.randint(len(words), (rows, length), generator=self.generator)]

    def replace_words(self, ids: Tensor, words: Tensor) -> Tensor:
        """Replace each id that is among `words` by a different one of them; other ids stay."""
        steps = torch.randint(1, len(words), ids.shape, generator=self.generator)
        indices = torch.searchsorted(words, ids.contiguous()).clamp(max=len(words) - 1)
        return torch.where(words[indices] == ids, words[(indices + steps) % len(words)], ids)

    def pad(self, ids: Tensor, width: int) -> Tensor:
        """Ids with padding at the end, (rows, width)."""
        return torch.nn.functional.pad(ids, (0, width - ids.shape[1]), value=self.model.pad_id)

    def call(self, source: Tensor, target: Tensor) -> Tensor:
        """The output of the model, (batch, target, vocabulary).

        Raises:
            UserError: The model fails; its own exception is the cause.
        """
        given: dict[Side, Tensor] = {"source": source, "target": target}
        copies = {side: ids.to(self.device, copy=True) for side, ids in given.items()}
        output = self._call_forward(copies["source"], copies["target"])
        self.changed_ids |= {side for side, ids in given.items() if not torch.equal(copies[side].cpu(), ids)}
        return output

    def _call_forward(self, source: Tensor, target: Tensor) -> Tensor:
        dropout = WithoutDropout() if self.without_dropout else nullcontext()
        with torch.random.fork_rng(enabled=self.fixed_seed), warnings.catch_warnings(), dropout:
            warnings.simplefilter("ignore")  # the user sees the model's warnings whenever the model is used
            if self.fixed_seed:
                torch.manual_seed(1)
            try:
                return self.model.forward(source, target)
            except (Exception, SystemExit) as error:  # a black box may raise anything
                shapes = f"source ids {tuple(source.shape)} and target ids {tuple(target.shape)}"
                raise UserError(f"the model fails for {shapes}: {type(error).__name__}: {error}") from error

    def predict(self, source: Tensor, target: Tensor, *, without: int | None = None, gradients: bool = False) -> Tensor:
        """Log-probabilities of each next token in float64, (batch, target, vocabulary).

        Args:
            source: Source ids, (batch, source).
            target: Target ids, (batch, target).
            without: An id to leave out of the vocabulary.
            gradients: Call the model as in training, with gradients.
        """
        with torch.set_grad_enabled(gradients):
            if not self.one_at_a_time:
                return self._log_probabilities(self.call(source, target), without)
            calls = (self.call(source[row, None], target[row, None]) for row in range(len(source)))
            return torch.cat([self._log_probabilities(output, without) for output in calls])

    def _log_probabilities(self, output: Tensor, without: int | None) -> Tensor:
        values = output.detach().cpu().double()
        logits = values.clamp_min(1e-30).log() if self.returns_probabilities else values
        if without is not None:
            logits = logits[..., torch.arange(logits.shape[-1]) != without]
        return logits.log_softmax(dim=-1).clamp_min(-60.0)

    def tolerance(self, output: Tensor) -> Tolerance:
        """What rounding can explain, given the precision that the parameters and an output of the model show."""
        dtypes = {output.dtype, *(tensor.dtype for _, tensor in self.model.parameters)}
        for dtype in (torch.bfloat16, torch.float16):
            rounded_output = output.to(dtype).to(output.dtype)  # unchanged if it was computed in this precision
            if dtype in dtypes or torch.equal(rounded_output, output):
                return TOLERANCES[dtype]
        return TOLERANCES[torch.float32]
