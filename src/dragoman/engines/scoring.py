"""What a bundle's model computes for given translations, each token given the tokens before it (teacher forcing)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.dataset.batch import make_batch
from dragoman.dataset.buckets import split_into_batches
from dragoman.dataset.token_store import PairStore
from dragoman.engines.choose import Ids, TargetScores
from dragoman.model.capture import capture, private_copy
from dragoman.model.transformer import Transformer
from dragoman.search.log_probabilities import log_probabilities, mean_log_probabilities
from dragoman.text.id_store import IdStore

BATCH_TOKENS = 4096
"""Maximum number of source tokens and of target tokens in a batch, padding included."""

LOGIT_ROWS = 512
"""Maximum number of tokens whose logits exist at the same time: those of 256,000 entries take 0.5 GB."""


@dataclass(frozen=True)
class TargetStates:
    """The decoder's outputs for the targets of a batch, without those for padding.

    Shapes: `indices` (sentences,), of the pairs; `states` (tokens, d_model); `tokens` (tokens,), the token or eos that
    follows each; `lengths`, the number of tokens of each target, eos included.
    """

    indices: list[int]
    states: Tensor
    tokens: Tensor
    lengths: list[int]


@torch.inference_mode()
def target_states(
    model: Transformer, bundle: Bundle, pairs: PairStore, indices: NDArray[np.integer[Any]]
) -> Iterator[TargetStates]:
    """What a model computes for given translations, in batches of similar length.

    Args:
        model: The model.
        bundle: Its vocabularies.
        pairs: Sources and translations.
        indices: Those to use, (sentences,).
    """
    source, target = bundle.source.vocabulary, bundle.target.vocabulary
    lengths = pairs.source.lengths + 1, pairs.target.lengths + 1
    order = indices[np.lexsort([each[indices] for each in lengths])]
    for chosen in split_into_batches(*lengths, order, BATCH_TOKENS):
        batch = make_batch(pairs, chosen, source, target).to(model.target_embedding.weight.device)
        real = batch.target_output != target.pad  # (batch, target)
        states = model.hidden(batch.source, batch.target_input)[real]
        yield TargetStates(chosen.tolist(), states, batch.target_output[real], real.sum(dim=1).tolist())


@torch.inference_mode()
def score_targets(
    models: Sequence[Transformer], bundle: Bundle, sources: Sequence[Ids], targets: Sequence[Ids]
) -> list[TargetScores]:
    """Score each target; unknown words have the probability of unk.

    Args:
        models: The model, or the models of an ensemble, whose probabilities are averaged.
        bundle: Their vocabularies.
        sources: Ids of each source, no longer than the model's limit.
        targets: Ids of the target of each source.
    """
    pairs = PairStore(IdStore.of(map(list, sources)), IdStore.of(map(list, targets)))
    scores: dict[int, TargetScores] = {}
    states = [target_states(model, bundle, pairs, np.arange(len(pairs))) for model in models]
    for batches in zip(*states, strict=True):  # the same batch by each model
        scores.update(zip(batches[0].indices, _score_batch(models, batches), strict=True))
    return [scores[index] for index in range(len(sources))]


def _score_batch(models: Sequence[Transformer], batches: Sequence[TargetStates]) -> Iterator[TargetScores]:
    values, predictions = [], []
    parts = [torch.split(batch.states, LOGIT_ROWS) for batch in batches]
    for ids, *states in zip(torch.split(batches[0].tokens, LOGIT_ROWS), *parts, strict=True):
        each = [model.output(some).float() for model, some in zip(models, states, strict=True)]
        logits = each[0] if len(each) == 1 else mean_log_probabilities(each)  # (rows, vocabulary)
        values.append(log_probabilities(logits, ids[:, None])[:, 0])
        predictions.append(logits.argmax(dim=-1))
    lengths = batches[0].lengths
    sentences = zip(*(torch.split(torch.cat(found), lengths) for found in (values, predictions)), strict=True)
    return (TargetScores(one.tolist(), predicted.tolist()) for one, predicted in sentences)


RECORDED_TOKENS = 2048
"""Maximum number of source tokens and of target tokens in a batch whose attention is recorded, padding included."""


@torch.inference_mode()
def cross_attention(
    model: Transformer, bundle: Bundle, sources: Sequence[Ids], targets: Sequence[Ids]
) -> list[NDArray[np.float32]]:
    """The attention of each target to its source, (layers, target + 1, source), as `Engine.attention` returns it.

    Args:
        model: The model.
        bundle: Its vocabularies.
        sources: Ids of each source, no longer than the model's limit.
        targets: Ids of the target of each source.
    """
    pairs = PairStore(IdStore.of(map(list, sources)), IdStore.of(map(list, targets)))
    lengths = pairs.source.lengths + 1, pairs.target.lengths + 1
    recorded = private_copy(model)
    found: dict[int, NDArray[np.float32]] = {}
    for indices in split_into_batches(*lengths, np.lexsort(lengths), RECORDED_TOKENS):
        batch = make_batch(pairs, indices, bundle.source.vocabulary, bundle.target.vocabulary)
        batch = batch.to(model.target_embedding.weight.device)
        with capture(recorded) as recording:
            recorded.hidden(batch.source, batch.target_input)
        heads = recording.weights("cross").mean(dim=2).float().cpu().numpy()  # (layers, batch, target, source)
        for row, index in enumerate(indices.tolist()):
            found[index] = heads[:, row, : len(targets[index]) + 1, : len(sources[index])]
    return [found[index] for index in range(len(sources))]
