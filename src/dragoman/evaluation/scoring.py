"""What a model thinks of given translations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import torch

from dragoman.bundle import Bundle
from dragoman.dataset.batch import make_batch
from dragoman.dataset.buckets import cut
from dragoman.dataset.token_store import IdStore, PairStore
from dragoman.search.hypothesis import finish
from dragoman.text.translation import Translation
from dragoman.translator import WINDOW


def score(
    bundle: Bundle, pairs: Iterable[tuple[str, str]], length_penalty: float, batch_tokens: int = 4096
) -> Iterator[Translation]:
    """Each target as a translation of its source, with the probability that the model gives each of its tokens.

    Unknown words count as the model sees them, with the probability of unk. A side that is longer than the model's
    limit is cut, and the translation says so.

    Args:
        bundle: The model.
        pairs: Sources and their targets, any number; they are read a few thousand at a time.
        length_penalty: Exponent of the penalty that divides the sum of the log-probabilities, as in the search.
        batch_tokens: Tokens a side of a batch may have, padding included.
    """
    pairs = iter(pairs)
    while window := list(islice(pairs, WINDOW)):
        yield from _score(bundle, window, length_penalty, batch_tokens)


@torch.inference_mode()
def _score(bundle: Bundle, texts: list[tuple[str, str]], alpha: float, batch_tokens: int) -> list[Translation]:
    source, target, model = bundle.source.vocabulary, bundle.target.vocabulary, bundle.model
    limit = bundle.recipe.model.max_length - 1
    sources = bundle.source.encode([text for text, _ in texts])
    targets = bundle.target.encode([text for _, text in texts])
    pairs = PairStore(IdStore.of(ids[:limit] for ids in sources), IdStore.of(ids[:limit] for ids in targets))
    lengths = pairs.source.lengths + 1, pairs.target.lengths + 1
    scored: dict[int, Translation] = {}
    for indices in cut(*lengths, np.lexsort(lengths), batch_tokens):
        batch = make_batch(pairs, indices, source, target).to(model.target_embedding.weight.device)
        logits = model(batch.source, batch.target_input).float()  # (batch, target, vocabulary)
        values = (logits.gather(2, batch.target_output[:, :, None]) - logits.logsumexp(2, keepdim=True))[:, :, 0]
        for index, row in zip(indices.tolist(), values.tolist(), strict=True):
            ids = pairs.target[index].tolist()
            found = finish(ids, row[: len(ids) + 1], alpha)
            scored[index] = Translation(
                text=texts[index][1],
                tokens=[target.tokens[each] for each in ids],
                log_probabilities=found.log_probabilities,
                score=found.score,
                truncated=max(len(sources[index]), len(targets[index])) > limit,
            )
    return [scored[index] for index in range(len(texts))]
