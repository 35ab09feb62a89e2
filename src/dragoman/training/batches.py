"""The batches of each step, in an order that depends only on the seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

import numpy as np
import torch

from dragoman.dataset.batch import Batch, Transform, make_batch, no_transform, unpad
from dragoman.dataset.buckets import Indices, Plan, plan_epoch
from dragoman.dataset.prepare import Dataset
from dragoman.dataset.transfer import StagedBatch
from dragoman.settings import Recipe
from dragoman.system.prefetch import Prefetcher
from dragoman.text.bpe_dropout import BPEDropout
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.distributed import SINGLE_PROCESS, Ranks
from dragoman.training.progress import Progress

STEPS_AHEAD = 2
"""How many steps' batches are made in advance for a GPU. On a CPU, the thread would take time from the computation."""

Step = tuple[list[StagedBatch | list[Batch]], tuple[int, int, int]]
"""The batches of a step, and the numbers of step, epoch and group after it."""


class BatchStream:
    """The batches of each step, in order, for any number of epochs.

    Args:
        recipe: Sizes of batches and steps, seed, BPE-dropout.
        data: Ids to learn from.
        start: Progress of the run; `step`, `epoch` and `group` continue from it.
        ranks: The processes that share each batch.
        device: Device of the batches.
    """

    def __init__(
        self,
        recipe: Recipe,
        data: Dataset,
        start: Progress,
        ranks: Ranks = SINGLE_PROCESS,
        device: torch.device | None = None,
    ) -> None:
        self.settings, self.data, self.ranks = recipe.training, data, ranks
        self.device = device or torch.device("cpu")
        self.prefetch = self.device.type == "cuda"
        self.step, self.epoch, self.group = start.step, start.epoch, start.group
        self.lengths = data.train.source.lengths + 1, data.train.target.lengths + 1  # eos counts
        self.groups_per_step = self.settings.length_groups * self.settings.accumulation
        self.groups_per_epoch = len(self.plan(0))
        self._bpe_dropout = [self._segmenter(tokenizer, recipe) for tokenizer in (data.source, data.target)]
        self._prefetcher: Prefetcher[Step] | None = None
        self._steps = self._make_steps()

    def plan(self, epoch: int) -> Plan:
        """Groups of sentences of similar length, in the order of an epoch."""
        settings, groups = self.settings, self.settings.length_groups
        tokens = max(1, settings.batch_tokens // groups)
        sentences = settings.batch_sentences and max(1, settings.batch_sentences // groups)
        return plan_epoch(*self.lengths, tokens, settings.seed, epoch, sentences)

    def next_step(self) -> list[list[Batch]]:
        """This process's share of the batches of a step, each a list of groups of similar length."""
        if self.prefetch and self._prefetcher is None:
            self._prefetcher = Prefetcher(partial(next, self._steps), STEPS_AHEAD)
        batches, position = next(self._steps) if self._prefetcher is None else self._prefetcher.next()
        self.step, self.epoch, self.group = position
        return [
            batch.to(self.device) if isinstance(batch, StagedBatch) else [group.to(self.device) for group in batch]
            for batch in batches
        ]

    def close(self) -> None:
        """Stop making batches in advance; `next_step` continues with the step after the last one it returned."""
        if self._prefetcher is not None:
            self._prefetcher.close()
            self._prefetcher, self._steps = None, self._make_steps()

    def _make_steps(self) -> Iterator[Step]:
        """The steps after the last one that `next_step` returned; runs ahead of it when prefetching."""
        step, groups, size = self.step, self._next_groups(self.epoch, self.group), self.settings.length_groups
        while True:
            indices, epochs, numbers = zip(*islice(groups, self.groups_per_step), strict=True)
            starts = range(0, len(indices), size)
            batches = [self._batch(indices[start : start + size], step) for start in starts]
            step += 1
            yield batches, (step, epochs[-1], numbers[-1])

    def _next_groups(self, epoch: int, group: int) -> Iterator[tuple[Indices, int, int]]:
        """The pairs of each group, its epoch, and the number of groups done in this epoch, itself included."""
        while True:
            plan = self.plan(epoch)
            for number in range(group, len(plan)):
                yield plan[number], epoch, number + 1
            epoch, group = epoch + 1, 0

    def _batch(self, groups: Sequence[Indices], step: int) -> StagedBatch | list[Batch]:
        source, target = self.data.source.vocabulary, self.data.target.vocabulary
        batches = [
            make_batch(self.data.train, indices, source, target, self._resegment(indices, step))
            for indices in self.ranks.share(groups)
        ]
        if not self.prefetch:
            return batches
        return StagedBatch([unpad(batch, source.pad, target.pad) for batch in batches], self.device.type == "cuda")

    def _segmenter(self, tokenizer: Tokenizer, recipe: Recipe) -> BPEDropout | None:
        if not recipe.text.bpe_dropout:
            return None
        assert isinstance(tokenizer, SubwordTokenizer)
        return BPEDropout(tokenizer, recipe.text.bpe_dropout, self.settings.seed, recipe.data.max_tokens)

    def _resegment(self, indices: Indices, step: int) -> list[Transform]:
        """How the source and target sentences of a group are segmented in a step."""
        generator = np.random.default_rng((self.settings.seed, step, int(indices[0])))
        return [partial(dropout, generator=generator) if dropout else no_transform for dropout in self._bpe_dropout]
