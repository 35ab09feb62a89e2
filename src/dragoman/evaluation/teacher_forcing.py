"""Loss and BLEU of a model that is given the reference up to each token (teacher forcing)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from dragoman.bundle import Bundle
from dragoman.dataset.batch import Batch, make_batch
from dragoman.dataset.buckets import split_into_batches
from dragoman.dataset.token_store import IdStore, PairStore
from dragoman.evaluation.metrics import token_bleu
from dragoman.kernels import accelerated
from dragoman.model.transformer import Transformer
from dragoman.search.log_probabilities import log_probabilities
from dragoman.text.vocabulary import Vocabulary

BATCH_TOKENS = 4096
"""Maximum number of source tokens and of target tokens in a batch, padding included."""


class TeacherForcedScores(NamedTuple):
    """How well a model predicts each next token of the references, given all tokens before it.

    `loss` is the mean negative log-likelihood of the target tokens in nats, end of sentence included; nan without
    pairs. `bleu` is the BLEU-4, 0 to 100, of the most probable tokens against the reference tokens, end of sentence
    not included. Unknown words are <unk> on both sides. Some publications call this the BLEU of a model. It does not
    score translations, because the model is given the correct prefix at every token.
    """

    loss: float
    bleu: float


@torch.inference_mode()
def score_teacher_forced(
    bundle: Bundle, sources: Sequence[str], references: Sequence[str], device: torch.device | None = None
) -> TeacherForcedScores:
    """Scores of a model on pairs; each side is truncated to the maximum length of the model.

    Args:
        bundle: The model and its tokenizers.
        sources: Source sentences.
        references: The reference translation of each.
        device: Where to compute; by default the device of the model.
    """
    pairs = _encode_within_limit(bundle, sources, references)
    source_lengths, target_lengths = pairs.source.lengths + 1, pairs.target.lengths + 1
    model, order = accelerated(bundle.model, device), np.lexsort((source_lengths, target_lengths))
    vocabulary, device = bundle.target.vocabulary, model.target_embedding.weight.device
    total, tokens, predicted = 0.0, 0, [""] * len(order)
    for indices in split_into_batches(source_lengths, target_lengths, order, BATCH_TOKENS):
        batch = make_batch(pairs, indices, bundle.source.vocabulary, vocabulary).to(device)
        loss, predictions = _predict(model, batch, vocabulary.pad)
        total += loss
        tokens += batch.target_tokens
        for index, ids in zip(indices.tolist(), predictions, strict=True):
            predicted[index] = _join_tokens(ids[:-1], vocabulary)
    if not tokens:
        return TeacherForcedScores(math.nan, 0.0)
    wanted = [_join_tokens(pairs.target[index].tolist(), vocabulary) for index in range(len(order))]
    return TeacherForcedScores(total / tokens, token_bleu(predicted, wanted))


def _encode_within_limit(bundle: Bundle, sources: Sequence[str], references: Sequence[str]) -> PairStore:
    """Token ids of pairs, each side truncated so that it fits the model together with bos or eos."""
    limit = bundle.recipe.model.max_length - 1
    return PairStore(
        IdStore.of([ids[:limit] for ids in bundle.source.encode(sources)]),
        IdStore.of([ids[:limit] for ids in bundle.target.encode(references)]),
    )


def _predict(model: Transformer, batch: Batch, pad: int) -> tuple[float, list[list[int]]]:
    """The summed loss of a batch, and the most probable token at each position of each sentence, eos included."""
    real = batch.target_output != pad  # (batch, target)
    hidden = model.hidden(batch.source, batch.target_input)[real]  # (tokens, d_model)
    logits = model.output(hidden).float()  # (tokens, vocabulary)
    wanted = batch.target_output[real][:, None]  # (tokens, 1)
    sentences = torch.split(logits.argmax(dim=-1), real.sum(dim=1).tolist())  # of (target,) each
    return -float(log_probabilities(logits, wanted).sum()), [sentence.tolist() for sentence in sentences]


def _join_tokens(ids: Sequence[int], vocabulary: Vocabulary) -> str:
    """Tokens separated by spaces, without pad, bos and eos."""
    hidden = {vocabulary.pad, vocabulary.bos, vocabulary.eos}
    return " ".join(vocabulary.tokens[index] for index in ids if index not in hidden)
