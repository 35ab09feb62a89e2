"""Predictions of a bundle's model for given translations, each token given the tokens before it (teacher forcing)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from dragoman.bundle import Bundle
from dragoman.dataset.batch import Batch, make_batch
from dragoman.dataset.buckets import split_into_batches
from dragoman.dataset.token_store import IdStore, PairStore
from dragoman.engines.protocol import Ids
from dragoman.model.transformer import Transformer
from dragoman.search.log_probabilities import log_probabilities

BATCH_TOKENS = 4096
"""Maximum number of source tokens and of target tokens in a batch, padding included."""

LOGIT_ROWS = 512
"""Maximum number of tokens whose logits exist at the same time: those of 256,000 entries take 0.5 GB."""


class TargetScores(NamedTuple):
    """A target's tokens and its end, given the source and the tokens before each.

    `log_probabilities` are those of the tokens and of eos; `predictions` are the most probable tokens in their places.
    """

    log_probabilities: list[float]
    predictions: list[int]


@torch.inference_mode()
def score_targets(
    model: Transformer, bundle: Bundle, sources: Sequence[Ids], targets: Sequence[Ids]
) -> list[TargetScores]:
    """Score each target; unknown words have the probability of unk.

    Args:
        model: The model.
        bundle: Its vocabularies.
        sources: Ids of each source, no longer than the model's limit.
        targets: Ids of the target of each source.
    """
    source, target = bundle.source.vocabulary, bundle.target.vocabulary
    pairs = PairStore(IdStore.of(map(list, sources)), IdStore.of(map(list, targets)))
    lengths = pairs.source.lengths + 1, pairs.target.lengths + 1
    scores: dict[int, TargetScores] = {}
    for indices in split_into_batches(*lengths, np.lexsort(lengths), BATCH_TOKENS):
        batch = make_batch(pairs, indices, source, target).to(model.target_embedding.weight.device)
        scores.update(zip(indices.tolist(), _score_batch(model, batch, target.pad), strict=True))
    return [scores[index] for index in range(len(sources))]


def _score_batch(model: Transformer, batch: Batch, pad: int) -> Iterator[TargetScores]:
    real = batch.target_output != pad  # (batch, target)
    hidden = model.hidden(batch.source, batch.target_input)[real]  # (tokens, d_model)
    values, predictions = [], []
    for some, ids in zip(*(torch.split(each, LOGIT_ROWS) for each in (hidden, batch.target_output[real])), strict=True):
        logits = model.output(some).float()  # (rows, vocabulary)
        values.append(log_probabilities(logits, ids[:, None])[:, 0])
        predictions.append(logits.argmax(dim=-1))
    lengths = real.sum(dim=1).tolist()
    sentences = zip(*(torch.split(torch.cat(each), lengths) for each in (values, predictions)), strict=True)
    return (TargetScores(one.tolist(), predictions.tolist()) for one, predictions in sentences)
