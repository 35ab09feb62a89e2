"""The batches of each step, in an order that depends only on the seed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

from dragoman.dataset.batch import Batch, Transform, make_batch, no_transform, take_rows
from dragoman.dataset.buckets import Indices, Plan, plan_epoch
from dragoman.dataset.prepare import Dataset
from dragoman.settings import Recipe
from dragoman.text.bpe_dropout import BPEDropout
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.distributed import SINGLE_PROCESS, Ranks
from dragoman.training.progress import Progress


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
        self.step, self.epoch, self.group = start.step, start.epoch, start.group
        self.lengths = data.train.source.lengths + 1, data.train.target.lengths + 1  # eos counts
        self.groups_per_step = self.settings.length_groups * self.settings.accumulation
        self.groups_per_epoch = len(self.plan(0))
        self._shares_groups = self.settings.length_groups % ranks.size == 0
        self._bpe_dropout = [self._segmenter(tokenizer, recipe) for tokenizer in (data.source, data.target)]
        self._groups = self._next_groups()

    def plan(self, epoch: int) -> Plan:
        """Groups of sentences of similar length, in the order of an epoch."""
        settings, groups = self.settings, self.settings.length_groups
        sentences = settings.batch_sentences and max(1, settings.batch_sentences // groups)
        return plan_epoch(*self.lengths, self._group_tokens, settings.seed, epoch, sentences)

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
        groups = [next(self._groups) for _ in range(self.groups_per_step)]
        size = self.settings.length_groups
        batches = [self._batch(groups[start : start + size]) for start in range(0, len(groups), size)]
        self.step += 1
        return batches

    def _next_groups(self) -> Iterator[Indices]:
        while True:
            plan = self.plan(self.epoch)
            while self.group < len(plan):
                self.group += 1
                yield plan[self.group - 1]
            self.epoch, self.group = self.epoch + 1, 0

    def _batch(self, groups: list[Indices]) -> list[Batch]:
        """This process's share of a batch: some of its groups, or some sentences of each group."""
        if any(self._bpe_dropout):
            batches = self._segmented(groups)
        elif self._shares_groups:
            batches = [self._collate(indices) for indices in self.ranks.share(groups)]
        else:
            batches = [self._collate_share(indices) for indices in groups]
        return [batch.to(self.device) for batch in batches]

    def _segmented(self, groups: list[Indices]) -> list[Batch]:
        """The share of a batch with BPE-dropout, which makes sentences longer than planned.

        All groups are cut into the same number of parts, each within the limit of a group: first come the first parts
        of all groups, then the second parts, and so on. Each process segments the whole batch, so that all of them
        have the same segmentations and the same number of parts.
        """
        whole = [self._collate(indices) for indices in groups]
        parts = max(map(self._parts_needed, whole))
        if self._shares_groups:
            mine, first, every = self.ranks.share(whole), 0, 1
        else:
            mine, first, every = whole, self.ranks.rank, self.ranks.size
        rows = [slice(first + every * part, None, every * parts) for part in range(parts)]
        return [self._take_rows(group, each) for each in rows for group in mine]

    def _parts_needed(self, group: Batch) -> int:
        """Into how many parts a group must be cut so that each has at most the planned number of tokens."""
        rows, width = len(group.source), max(group.source.shape[1], group.target_output.shape[1])
        return math.ceil(rows / max(1, self._group_tokens // width))

    def _collate_share(self, indices: Indices) -> Batch:
        """This process's sentences of a group."""
        own = self.ranks.share(indices)
        return self._collate(own) if len(own) else self._take_rows(self._collate(indices[:1]), slice(0))

    def _collate(self, indices: Indices) -> Batch:
        source, target = self.data.source.vocabulary, self.data.target.vocabulary
        return make_batch(self.data.train, indices, source, target, self._resegment(indices))

    def _take_rows(self, group: Batch, rows: slice) -> Batch:
        return take_rows(group, rows, self.data.source.vocabulary.pad, self.data.target.vocabulary.pad)

    def _segmenter(self, tokenizer: Tokenizer, recipe: Recipe) -> BPEDropout | None:
        if not recipe.text.bpe_dropout:
            return None
        assert isinstance(tokenizer, SubwordTokenizer)
        return BPEDropout(tokenizer, recipe.text.bpe_dropout, self.settings.seed, recipe.data.max_tokens)

    def _resegment(self, indices: Indices) -> list[Transform]:
        """How the source and target sentences of a group are segmented in this step."""
        generator = np.random.default_rng((self.settings.seed, self.step, int(indices[0])))
        return [partial(dropout, generator=generator) if dropout else no_transform for dropout in self._bpe_dropout]
