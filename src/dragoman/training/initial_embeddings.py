"""Initial embeddings that are counted from the training text."""

from __future__ import annotations

import torch

from dragoman.dataset.prepare import Dataset
from dragoman.lexicon.cooccurrence import cooccurrence_vectors
from dragoman.model.transformer import Transformer
from dragoman.training.distributed import Ranks


@torch.no_grad()
def copy_cooccurrence(model: Transformer, data: Dataset, seed: int, ranks: Ranks) -> None:
    """Give tokens that are used similarly similar embeddings; those that do not occur keep their random ones.

    An output projection that is no embedding also keeps its random weights.

    Args:
        model: The model, with random weights; changed in place.
        data: The training pairs.
        seed: Seed of the directions.
        ranks: The processes that train together. The first one counts, because others may round differently.
    """
    source, target = model.source_embedding.weight, model.target_embedding.weight
    first_target = 0 if source is target else len(source)
    size, dimensions = first_target + len(target), source.shape[1]
    vectors = torch.zeros(size, dimensions)
    if ranks.first:
        vectors = cooccurrence_vectors(data.train, first_target, size, dimensions, seed)
    ranks.broadcast_tensor(vectors)
    sides = (source, data.source, vectors[: len(source)]), (target, data.target, vectors[first_target:])
    for weight, tokenizer, rows in sides:
        counted = rows.any(dim=1)
        counted[list(tokenizer.vocabulary.special_ids)] = False  # bos, for example, marks tagged pairs
        weight[counted] = rows[counted]
