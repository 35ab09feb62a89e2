"""The gradients of a step, in microbatches that fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dragoman.dataset.batch import Batch
from dragoman.errors import UserError
from dragoman.training.loop.distributed import Ranks, gradient_exchange
from dragoman.training.loop.state import TrainingState, random_state, set_random_state
from dragoman.training.loop.stop import StopFlag, StopRequested

Losses = list[tuple[list[Batch], Tensor]]
"""Each microbatch, and its loss with and without label smoothing, summed over its target tokens, (2,)."""


class GradientComputer:
    """Computes gradients; a process that runs out of memory uses smaller microbatches from then on.

    Args:
        state: The model, its loss and its loss scaling.
        groups: Groups of similar length that this process computes at once.
        ranks: The processes that share each batch.
        log: Called with a message when memory runs out.
        stop: Checked between microbatches.
    """

    def __init__(
        self, state: TrainingState, groups: int, ranks: Ranks, log: Callable[[str], None], stop: StopFlag
    ) -> None:
        self.state, self.groups, self.ranks, self.log, self.stop = state, groups, ranks, log, stop
        self.groups_at_once = groups

    def compute(self, batches: Sequence[list[Batch]], teacher_forcing: Sequence[float]) -> Losses:
        """Set the gradients to those of the mean loss over all target tokens of all batches and processes.

        If memory runs out, nothing is skipped: the step starts again with smaller microbatches and the same random
        numbers.

        Args:
            batches: This process's share of each batch of the step.
            teacher_forcing: For each batch, the probability that an input of the decoder is taken from the reference.

        Raises:
            UserError: Not even a single group fits into memory.
            StopRequested: A process must stop; the random generators are as before the step.
        """
        generators = random_state(self.state.device)
        try:
            while (losses := self._attempt(batches, teacher_forcing)) is None:
                torch.cuda.empty_cache()
                set_random_state(generators, self.state.device)
        except StopRequested:
            set_random_state(generators, self.state.device)
            raise
        return losses

    def _attempt(self, batches: Sequence[list[Batch]], teacher_forcing: Sequence[float]) -> Losses | None:
        """The losses, or None if memory ran out."""
        (tokens,) = self.ranks.sum((sum(group.target_tokens for batch in batches for group in batch),))
        microbatches = [
            (part, probability)
            for batch, probability in zip(batches, teacher_forcing, strict=True)
            for part in self._split(batch)
        ]
        losses: Losses = []
        self.state.optimizer.zero_grad()
        try:
            for number, (part, probability) in enumerate(microbatches, start=1):
                if number > 1:
                    self._check_stop()
                with gradient_exchange(self.state.loss, number == len(microbatches)):
                    loss, nll = self.state.loss(part, probability)
                    mean = loss / tokens * self.ranks.size  # the gradients of the processes are averaged
                    self.state.scaler.scale(mean).backward()
                losses.append((part, torch.stack((loss.detach(), nll))))
        except torch.OutOfMemoryError as error:
            self._shrink(error)
            return None
        return losses

    def _check_stop(self) -> None:
        """A step of many microbatches may take longer than a scheduler waits before it kills the processes."""
        (requested,) = self.ranks.largest((self.stop.requested,))
        if requested:
            raise StopRequested

    def _split(self, batch: list[Batch]) -> list[list[Batch]]:
        size = self.groups_at_once
        return [batch[start : start + size] for start in range(0, len(batch), size)]

    def _shrink(self, error: torch.OutOfMemoryError) -> None:
        """Take half as many groups at once."""
        step = self.state.progress.step + 1
        if self.groups_at_once == 1 or self.ranks.size > 1:
            raise UserError(
                f"out of memory in step {step:,}: {str(error).splitlines()[0]}; lower training.batch_tokens, and raise "
                "training.accumulation by the same factor to get the same gradients"
            ) from error
        self.groups_at_once = (self.groups_at_once + 1) // 2
        self.log(
            f"out of memory in step {step:,}: from now on {self.groups_at_once} of {self.groups} groups at once, which "
            "is slower, and uses other dropout masks"
        )
