"""The batches of each step, in an order that depends only on the seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import torch

from dragoman.dataset.augmentation import PairAugmenter
from dragoman.dataset.batch import Batch, StagedBatch, Transform, make_batch, no_transform, take_rows, unpad
from dragoman.dataset.buckets import Indices, Plan, draw_pairs, plan_epoch
from dragoman.dataset.prepare import Dataset
from dragoman.settings import Recipe
from dragoman.system.prefetch import Prefetcher
from dragoman.text.bpe_dropout import BPEDropout
from dragoman.text.multilingual import without_language
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.loop.distributed import SINGLE_PROCESS, Ranks
from dragoman.training.loop.progress import Progress

STEPS_AHEAD = 2
"""How many steps' batches are made in advance for a GPU. On a CPU, the thread would take time from the computation."""

LONGER = 1.5
"""How many times as long as planned a batch may become through BPE-dropout; small parts of batches are slower."""

Group = tuple[Indices, int]
"""Indices of pairs of similar length, and the epoch in which they are used."""

Step = tuple[list[StagedBatch | list[Batch]], tuple[int, int, int]]
"""The batches of a step, and the numbers of step, epoch and group after it."""


class BatchStream:
    """The batches of each step, in order, for any number of epochs.

    Args:
        recipe: Sizes of batches and steps, seed, BPE-dropout, augmentation.
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
        augmentation = self.settings.augmentation
        self._augmenter = PairAugmenter(recipe, data) if any(augmentation.model_dump().values()) else None
        self.groups_per_step = self.settings.length_groups * self.settings.accumulation
        self._planned: tuple[int, Plan] | None = None  # the plan made last, and its epoch
        self.groups_per_epoch = max(1, len(self.plan(0)))  # low weights may leave none in some epochs
        self._shares_groups = self.settings.length_groups % ranks.size == 0
        self._bpe_dropout = [self._segmenter(tokenizer, recipe) for tokenizer in (data.source, data.target)]
        self._prefetcher: Prefetcher[Step] | None = None
        self._steps = self._make_steps()

    def plan(self, epoch: int) -> Plan:
        """Groups of sentences of similar length, in the order of an epoch; the plan made last is kept."""
        if self._planned is None or self._planned[0] != epoch:
            self._planned = epoch, self._make_plan(epoch)
        return self._planned[1]

    def _make_plan(self, epoch: int) -> Plan:
        settings, groups = self.settings, self.settings.length_groups
        sentences = settings.batch_sentences and max(1, settings.batch_sentences // groups)
        source, target = self.lengths if self._augmenter is None else self._augmenter.lengths(epoch)
        weights = self.data.train.weights
        drawn = slice(None) if weights is None else draw_pairs(weights, settings.seed, epoch)
        plan = plan_epoch(source[drawn], target[drawn], self._group_tokens, settings.seed, epoch, sentences)
        return plan if isinstance(drawn, slice) else replace(plan, order=drawn[plan.order])

    @property
    def groups_at_once(self) -> int:
        """Number of groups, or parts of groups, of a batch that this process computes at once."""
        groups = self.settings.length_groups
        return groups // self.ranks.size if self._shares_groups else groups

    @property
    def _group_tokens(self) -> int:
        return max(1, self.settings.batch_tokens // self.settings.length_groups)

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
            of_step, numbers = zip(*islice(groups, self.groups_per_step), strict=True)
            starts = range(0, len(of_step), size)
            batches = [self._batch(of_step[start : start + size], step) for start in starts]
            step += 1
            yield batches, (step, of_step[-1][1], numbers[-1])

    def _next_groups(self, epoch: int, group: int) -> Iterator[tuple[Group, int]]:
        """Each group, and the number of groups done in its epoch, itself included."""
        while True:
            plan = self.plan(epoch)
            for number in range(group, len(plan)):
                yield (plan[number], epoch), number + 1
            epoch, group = epoch + 1, 0

    def _batch(self, groups: Sequence[Group], step: int) -> StagedBatch | list[Batch]:
        batches = self._share(groups, step)
        if not self.prefetch:
            return batches
        source, target = self.data.source.vocabulary, self.data.target.vocabulary
        return StagedBatch([unpad(batch, source.pad, target.pad) for batch in batches], self.device.type == "cuda")

    def _share(self, groups: Sequence[Group], step: int) -> list[Batch]:
        """This process's share of a batch: some of its groups, or some sentences of each group."""
        if any(self._bpe_dropout):
            return self._segmented(groups, step)
        if self._shares_groups:
            return [self._collate(group, step) for group in self.ranks.share(list(groups))]
        return [self._collate_share(group, step) for group in groups]

    def _segmented(self, groups: Sequence[Group], step: int) -> list[Batch]:
        """The share of a batch with BPE-dropout, which makes sentences longer than planned.

        All groups are cut into the same number of parts, each within the limit, `LONGER`: first come the first parts
        of all groups, then the second parts, and so on. Each process segments the whole batch, so that all of them
        have the same segmentations and the same number of parts.
        """
        whole = [self._collate(group, step) for group in groups]
        parts = max(map(self._parts_needed, whole))
        if self._shares_groups:
            mine, first, every = self.ranks.share(whole), 0, 1
        else:
            mine, first, every = whole, self.ranks.rank, self.ranks.size
        rows = [slice(first + every * part, None, every * parts) for part in range(parts)]
        return [self._take_rows(group, each) for each in rows for group in mine]

    def _parts_needed(self, group: Batch) -> int:
        """Into how many parts a group must be cut so that each has at most `LONGER` times the planned tokens."""
        rows, width = len(group.source), max(group.source.shape[1], group.target_output.shape[1])
        return math.ceil(rows / max(1, int(LONGER * self._group_tokens) // width))

    def _collate_share(self, group: Group, step: int) -> Batch:
        """This process's sentences of a group."""
        indices, epoch = group
        if len(own := self.ranks.share(indices)):
            return self._collate((own, epoch), step)
        return self._take_rows(self._collate((indices[:1], epoch), step), slice(0))

    def _collate(self, group: Group, step: int) -> Batch:
        indices, epoch = group
        vocabularies = self.data.source.vocabulary, self.data.target.vocabulary
        segmented = self._resegment(indices, step)
        if self._augmenter is None:
            return make_batch(self.data.train, indices, *vocabularies, segmented)
        return make_batch(self._augmenter.change(indices, epoch), np.arange(len(indices)), *vocabularies, segmented)

    def _take_rows(self, group: Batch, rows: slice) -> Batch:
        return take_rows(group, rows, self.data.source.vocabulary.pad, self.data.target.vocabulary.pad)

    def _segmenter(self, tokenizer: Tokenizer, recipe: Recipe) -> BPEDropout | None:
        if not recipe.text.bpe_dropout:
            return None
        splits = without_language(tokenizer)  # and leaves the tokens of languages alone
        assert isinstance(splits, SubwordTokenizer)
        return BPEDropout(splits, recipe.text.bpe_dropout, self.settings.seed, recipe.data.max_tokens)

    def _resegment(self, indices: Indices, step: int) -> list[Transform]:
        """How the source and target sentences of a group are segmented in a step."""
        if not any(self._bpe_dropout):
            return [no_transform, no_transform]
        generator = np.random.default_rng((self.settings.seed, step, int(indices[0])))
        return [partial(dropout, generator=generator) if dropout else no_transform for dropout in self._bpe_dropout]
