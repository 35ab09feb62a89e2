"""Whether the decoder sees the whole source from its first position on, or through a causal mask."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.differences import TOLERANCES, Tolerance
from dragoman.doctor.model.probe import SOURCE_LENGTH, TARGET_LENGTH, Probe
from dragoman.doctor.model.source_use import NO_EFFECT

ROWS = 16
MAX_FACTOR = math.exp(-0.12)
"""Of the effect on earlier target positions; correct untrained models have at least 0.94, and a causal mask leads to
0.82 in a post-norm model of 6 layers, whose encoder mixes the words most, and to 0.03 in pre-norm models."""
MIN_SIGNIFICANCE = 5.0  # standard errors


def check_causal_cross_attention(probe: Probe, tolerance: Tolerance, untrained: bool) -> Iterator[Finding]:
    """Change one source word at a time; it must affect the target positions before its own like the others.

    A bidirectional encoder carries some of its effect to earlier positions, so that it is only weaker. Only untrained
    models are checked for that, because trained ones translate many words at about their own position.
    """
    if tolerance != TOLERANCES[torch.float32]:
        return
    effects = _effects(probe)  # (source words, target)
    words, positions = torch.meshgrid(*map(torch.arange, effects.shape), indexing="ij")
    earlier = positions < words
    if bool((effects[earlier] <= NO_EFFECT).all()) and bool((effects[~earlier] > NO_EFFECT).all()):
        yield _finding("source words have no effect on the predictions at target positions before their own", 0.0)
    elif untrained and bool((effects > 0).all()):
        contrast, error = _fit_contrast(effects.log(), earlier)
        factor = math.exp(contrast)
        if factor < MAX_FACTOR and contrast < -MIN_SIGNIFICANCE * error:
            yield _finding(
                f"source words have {factor:.2g} times the expected effect on the predictions at target positions "
                "before their own",
                factor,
            )


def _finding(message: str, factor: float) -> Finding:
    return make_finding(
        "source-ignored",
        message,
        {"factor": factor},
        cause="the cross-attention has a causal mask, so that a target position attends only to source words up to its "
        "own position",
        fix="give the cross-attention only the padding mask of the source; the causal mask belongs to the decoder's "
        "self-attention",
    )


def _effects(probe: Probe) -> Tensor:
    """Root mean square effect of each source word on the log-probabilities at each target position, (words, target)."""
    source, target = probe.random_sources(ROWS, SOURCE_LENGTH), probe.random_targets(ROWS, TARGET_LENGTH)
    replaced = probe.replace_words(source, probe.source_words)
    before, effects = probe.predict(source, target), []
    for word in range(SOURCE_LENGTH - 1):
        changed = source.clone()
        changed[:, word] = replaced[:, word]
        effects.append((probe.predict(changed, target) - before).square().mean(dim=(0, 2)).sqrt())
    return torch.stack(effects)


def _fit_contrast(log_effects: Tensor, earlier: Tensor) -> tuple[float, float]:
    """Least squares: log effect = a term per word + a term per position + contrast where the position is earlier.

    Args:
        log_effects: Logarithms of effects, (words, target).
        earlier: Whether the target position is before that of the word, (words, target).

    Returns:
        The contrast and its standard error.
    """
    words, positions = torch.meshgrid(*map(torch.arange, log_effects.shape), indexing="ij")
    terms = [words == word for word in range(len(words))]
    terms += [positions == position for position in range(1, positions.shape[1])]  # relative to the first
    design = torch.stack([term.flatten() for term in [*terms, earlier]], dim=1).to(log_effects)  # (cells, terms)
    observed = log_effects.flatten()
    inverse = torch.linalg.pinv(design.T @ design)
    coefficients = inverse @ (design.T @ observed)
    residuals = observed - design @ coefficients
    variance = float(residuals.square().sum()) / (len(observed) - design.shape[1]) * float(inverse[-1, -1])
    return float(coefficients[-1]), math.sqrt(variance)
