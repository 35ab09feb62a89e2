"""Statistics of training steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from dragoman.dataset.batch import Batch, make_batch
from dragoman.dataset.prepare import Dataset
from dragoman.training.loop.distributed import SINGLE_PROCESS
from dragoman.training.loop.trainer import StepStatistics


def batch_of(prepared: Dataset, *indices: int) -> Batch:
    return make_batch(prepared.train, np.array(indices), prepared.source.vocabulary, prepared.target.vocabulary)


def test_summary_divides_sums_by_the_number_of_tokens(prepared: Dataset) -> None:
    groups = [[batch_of(prepared, 0, 1), batch_of(prepared, 2)], [batch_of(prepared, 3, 4, 5)]]
    statistics = StepStatistics()
    statistics.add([(groups[0], torch.tensor([30.0, 20.0]))], torch.tensor(0.5), 2e-3)
    statistics.add([(groups[1], torch.tensor([12.0, 10.0]))], torch.tensor(1.5), 1e-3)
    summary = statistics.summary(SINGLE_PROCESS)
    batches = [batch for group in groups for batch in group]
    target_tokens = sum(batch.target_tokens for batch in batches)
    ids = [batch.source for batch in batches] + [batch.target_output for batch in batches]
    padding = sum(int((each == prepared.source.vocabulary.pad).sum()) for each in ids) / sum(map(torch.numel, ids))
    assert padding > 0
    assert summary["loss"] == pytest.approx(42 / target_tokens, abs=1e-5)
    assert summary["perplexity"] == pytest.approx(math.exp(30 / target_tokens), abs=1e-4)
    assert summary["padding"] == pytest.approx(padding, abs=1e-5)
    assert (summary["gradient_norm"], summary["learning_rate"]) == (1.5, 1e-3)


def test_perplexity_of_a_diverged_run_is_finite(prepared: Dataset) -> None:
    statistics = StepStatistics()
    statistics.add([([batch_of(prepared, 0)], torch.tensor([1e9, 1e9]))], torch.zeros(()), 1e-3)
    assert math.isfinite(statistics.summary(SINGLE_PROCESS)["perplexity"])
