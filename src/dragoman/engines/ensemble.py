"""Ensembles: several models whose probabilities are averaged (Sutskever et al. 2014, section 3.6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.engines.direction import describe_direction, same_languages
from dragoman.engines.protocol import EngineRequest, Ids
from dragoman.engines.step_engine import StepEngine
from dragoman.errors import UserError
from dragoman.search.hypothesis import Decoder


class EnsembleCache:
    """The caches of all members."""

    def __init__(self, caches: Sequence[Any]) -> None:
        self.caches = caches

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these rows, in this order (a row may be repeated), and these sentences (None: all)."""
        for cache in self.caches:
            cache.select(rows, sentences)


class EnsembleDecoder:
    """Several decoders with one target vocabulary."""

    def __init__(self, decoders: Sequence[Decoder]) -> None:
        self.decoders = decoders

    def start(self, source: Tensor) -> EnsembleCache:
        """Prepare to decode one hypothesis of each sentence, (sentences, source)."""
        return EnsembleCache([decoder.start(source) for decoder in self.decoders])

    def step(self, tokens: Tensor, cache: EnsembleCache) -> Tensor:
        """Feed one token to every row, (rows,); returns the logarithms of mean probabilities, (rows, vocabulary)."""
        logits = [decoder.step(tokens, each) for decoder, each in zip(self.decoders, cache.caches, strict=True)]
        logs = torch.stack([each.float().log_softmax(dim=-1) for each in logits])  # (models, rows, vocabulary)
        return logs.logsumexp(dim=0) - math.log(len(logits))


def check_tokenizers(bundle: Bundle, others: Sequence[Bundle]) -> None:
    """Check that bundles can form an ensemble.

    Raises:
        UserError: Their languages or their tokenizers differ.
    """
    for other in others:
        first, second = bundle.recipe, other.recipe
        if not same_languages(first.data.languages, second.data.languages):
            raise UserError(
                f"{first.name} translates {describe_direction(first.data.languages)}, and {second.name} "
                f"{describe_direction(second.data.languages)}, so they cannot form an ensemble"
            )
        sides = ((bundle.source, other.source), (bundle.target, other.target))
        if any(ours is not theirs and ours.to_json() != theirs.to_json() for ours, theirs in sides):
            names = f"{bundle.origin} and {other.origin}"
            raise UserError(f"{names} have different tokenizers, so they cannot form an ensemble")


def open_ensemble(request: EngineRequest, members: Sequence[StepEngine]) -> StepEngine:
    """The engine that averages the predictions of its members, with the smallest `max_length` among them."""

    def score(sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        scores = zip(*(member.score(sources, targets) for member in members), strict=True)
        return [_mean_probability(sentence) for sentence in scores]

    decoder = EnsembleDecoder([member.decoder for member in members])
    request = replace(request, compute_type=members[0].weight_type)  # not always that of the request
    return StepEngine("ensemble", decoder, request, min(member.max_length for member in members), score=score)


def _mean_probability(log_probabilities: Sequence[list[float]]) -> list[float]:
    """The logarithm of the mean of several probabilities of each token."""
    values: list[float] = np.logaddexp.reduce(np.array(log_probabilities), axis=0).tolist()
    return [value - math.log(len(log_probabilities)) for value in values]
