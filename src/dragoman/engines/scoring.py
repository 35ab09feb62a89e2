"""Log-probabilities of given translations by a bundle's model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from dragoman.bundle import Bundle
from dragoman.dataset.batch import make_batch
from dragoman.dataset.buckets import split_into_batches
from dragoman.dataset.token_store import IdStore, PairStore
from dragoman.engines.protocol import Ids
from dragoman.model.transformer import Transformer

BATCH_TOKENS = 4096
"""Maximum number of source tokens and of target tokens in a batch, padding included."""


@torch.inference_mode()
def score_targets(
    model: Transformer, bundle: Bundle, sources: Sequence[Ids], targets: Sequence[Ids]
) -> list[list[float]]:
    """The log-probability of each target token given the source and the tokens before it, and of eos at the end.

    Unknown words have the probability of unk.

    Args:
        model: The model.
        bundle: Its vocabularies.
        sources: Ids of each source, no longer than the model's limit.
        targets: Ids of the target of each source.
    """
    source, target = bundle.source.vocabulary, bundle.target.vocabulary
    pairs = PairStore(IdStore.of(map(list, sources)), IdStore.of(map(list, targets)))
    lengths = pairs.source.lengths + 1, pairs.target.lengths + 1
    scores: list[list[float]] = [[] for _ in sources]
    for indices in split_into_batches(*lengths, np.lexsort(lengths), BATCH_TOKENS):
        batch = make_batch(pairs, indices, source, target).to(model.target_embedding.weight.device)
        logits = model(batch.source, batch.target_input).float()  # (batch, target, vocabulary)
        chosen = logits.gather(2, batch.target_output[:, :, None])  # (batch, target, 1)
        values = (chosen - logits.logsumexp(2, keepdim=True))[:, :, 0]  # (batch, target)
        for index, row in zip(indices.tolist(), values.tolist(), strict=True):
            scores[index] = row[: len(targets[index]) + 1]
    return scores
