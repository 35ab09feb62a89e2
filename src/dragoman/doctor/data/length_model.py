"""How well the lengths of sources predict the lengths of targets (Gale and Church 1993)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.doctor.data.corpus_statistics import SAMPLE_LINES

Floats = NDArray[np.float64]

WINDOW = 200  # lines that show which lengths are usual
MAX_LENGTH_CLASSES = 8
MIN_DEVIATION = 0.1
MAX_SHIFT = 30  # lines
MAX_CHANGE = 0.3  # of the log-length from one line to the next that is looked at
MIN_SHIFTED_CORRELATION = 0.3  # of these changes in a corpus that a shift aligns …
MIN_CORRELATION_GAIN = 0.1  # … and by how much the shift must increase it


class LengthModel:
    """The distribution of the log-length of a target given the log-length of its source.

    The log-length of the target minus that of the source is normally distributed. Sources are divided into classes of
    similar length, each with its own mean and deviation, because the lengths of short texts and of their translations
    differ more than those of long texts.

    Attributes:
        source: Log-length of each source, (pairs,).
        target: Log-length of each target, (pairs,).
        deviation: Standard deviation of each target's log-length, (pairs,).
        correlation: Correlation of the log-lengths in the whole corpus.
    """

    def __init__(self, source_lengths: NDArray[np.uint32], target_lengths: NDArray[np.uint32]) -> None:
        self.source: Floats = np.log(source_lengths + 3.0)
        self.target: Floats = np.log(target_lengths + 3.0)
        self.correlation = correlation(self.source, self.target)
        classes = max(1, min(MAX_LENGTH_CLASSES, len(self.source) // WINDOW))
        bounds = np.quantile(self.source, np.linspace(0, 1, classes + 1)[1:-1])
        length_class = np.searchsorted(bounds, self.source)
        self._mean, self.deviation = np.zeros(len(self.source)), np.ones(len(self.source))
        for index in set(length_class.tolist()):
            members = length_class == index
            self._mean[members], self.deviation[members] = robust_fit((self.target - self.source)[members])

    def __len__(self) -> int:
        return len(self.source)

    def log_likelihood(self, shift: int, lines: slice = slice(None)) -> Floats:
        """Log-likelihood of the length of the target that is `shift` lines below each source of `lines`, (lines,)."""
        first, last, _ = lines.indices(len(self))
        indices = np.clip(np.arange(first, last) + shift, 0, len(self) - 1)
        return _normal_log_density(self.target[indices] - self.source[lines], self._mean[lines], self.deviation[lines])

    def fit(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> Floats:
        """How much likelier the lengths of targets are given those of sources than without, in nats, (sources,)."""
        paired = _normal_log_density(
            self.target[targets] - self.source[sources], self._mean[sources], self.deviation[sources]
        )
        deviation = np.full(len(targets), max(MIN_DEVIATION, float(self.target.std())))
        return paired - _normal_log_density(
            self.target[targets], self.target.mean() + np.zeros(len(targets)), deviation
        )

    def common_shift(self, kept: NDArray[np.bool_]) -> int:
        """How many lines below each source its translation is in most of the corpus, as the lengths show; usually 0.

        Args:
            kept: The pairs that may be looked at, (pairs,).
        """
        size = min(len(self), SAMPLE_LINES)  # from which it is also learned which words translate each other
        # Not the lengths themselves, because those of neighbours are similar in a sorted text.
        source, target = (
            np.clip(np.diff(lengths[:size], prepend=0.0), -MAX_CHANGE, MAX_CHANGE)
            for lengths in (self.source, self.target)
        )
        correlations = {0: 0.0}
        for shift in range(max(-MAX_SHIFT, 1 - size // 2), min(MAX_SHIFT, size // 2 - 1) + 1):
            sources = np.arange(max(0, -shift), size - max(0, shift))
            sources = sources[kept[sources] & kept[sources + shift]]
            if len(sources):
                correlations[shift] = correlation(source[sources], target[sources + shift])
        best = max(correlations, key=correlations.__getitem__)
        least = max(MIN_SHIFTED_CORRELATION, correlations[0] + MIN_CORRELATION_GAIN)
        return best if correlations[best] >= least else 0

    def expected(self, side: int, lines: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The log-length of one side, 0 for the source, that the other side suggests, and its deviation, (lines,)."""
        mean = self._mean[lines]
        usual: Floats = self.source[lines] + mean if side else self.target[lines] - mean
        return usual, self.deviation[lines]

    def unpaired_log_likelihood(self) -> Floats:
        """Log-likelihood of the length of each target given only the lengths of the targets around it, (pairs,)."""
        window = min(WINDOW, len(self))
        padded = np.pad(self.target, (window // 2, window - window // 2 - 1), mode="reflect")
        sums, squares = (np.concatenate(([0.0], np.cumsum(values))) for values in (padded, padded**2))
        mean = (sums[window:] - sums[:-window]) / window
        variance = (squares[window:] - squares[:-window]) / window - mean**2
        return _normal_log_density(self.target, mean, np.sqrt(np.maximum(variance, MIN_DEVIATION**2)))


def correlation(x: Floats, y: Floats) -> float:
    """Pearson's correlation coefficient; 1 if one of the variables is constant."""
    if min(x.std(), y.std()) < 1e-9:
        return 1.0
    return float(np.corrcoef(x, y)[0, 1])


def robust_fit(values: Floats) -> tuple[float, float]:
    """Mean and deviation of a normal distribution, estimated from the 30 % of the values nearest to the median.

    Pairs that are wrong have values far from the median and hardly change the estimate.
    """
    median = float(np.median(values))
    # 30 % of a normal distribution are within 0.385 standard deviations of its mean
    deviation = float(np.quantile(np.abs(values - median), 0.3)) / 0.385
    return median, max(deviation, MIN_DEVIATION)


def _normal_log_density(x: Floats, mean: Floats, deviation: Floats) -> Floats:
    """Log-density of a normal distribution without its constant."""
    density: Floats = -0.5 * ((x - mean) / deviation) ** 2 - np.log(deviation)
    return density
