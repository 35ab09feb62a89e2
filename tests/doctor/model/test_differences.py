"""Differences of predictions: measured as defined, and more than rounding if either measure is."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.doctor.model.probe import PredictionDifference, Tolerance, largest, measure_difference


def test_differences_are_measured_as_defined() -> None:
    generator = torch.Generator().manual_seed(1)
    first, second = (torch.randn(3, 5, 40, generator=generator).double().log_softmax(dim=-1) for _ in range(2))
    difference = measure_difference(first, second)
    ours, others = first.numpy(), second.numpy()
    spread = ours.std(axis=-1, ddof=1).mean()
    assert difference.relative == pytest.approx(np.sqrt(((ours - others) ** 2).mean()) / spread)
    assert difference.probability == pytest.approx(np.abs(np.exp(ours) - np.exp(others)).max())


def test_equal_and_missing_predictions_do_not_differ() -> None:
    predictions = torch.randn(2, 3, 7).log_softmax(dim=-1)
    assert measure_difference(predictions, predictions) == PredictionDifference(0.0, 0.0)
    assert measure_difference(predictions[:0], predictions[:0]) == PredictionDifference(0.0, 0.0)


def test_either_measure_can_exceed_the_tolerance() -> None:
    tolerance = Tolerance(relative=0.1, probability=0.2)
    assert not tolerance.exceeded_by(PredictionDifference(0.1, 0.2))
    assert tolerance.exceeded_by(PredictionDifference(0.11, 0.0))
    assert tolerance.exceeded_by(PredictionDifference(0.0, 0.21))


def test_the_largest_difference_is_the_largest_relative_one() -> None:
    differences = [PredictionDifference(0.1, 0.9), PredictionDifference(0.3, 0.1), PredictionDifference(0.2, 0.5)]
    assert largest(differences) == differences[1]
