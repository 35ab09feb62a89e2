"""Initial weights: those of a bundle, perhaps with another vocabulary, or embeddings counted from the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.dataset.prepare import Dataset
from dragoman.lexicon.cooccurrence import cooccurrence_vectors
from dragoman.model.transformer import Transformer
from dragoman.text.masking import ALL_RESERVED
from dragoman.text.multilingual import without_language
from dragoman.text.normalization import METASPACE
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.term_marks import TERM_MARKS
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.loop.distributed import Ranks

_BYTE = re.compile("<0x[0-9A-F]{2}>")


@torch.no_grad()
def copy_start_weights(bundle: Bundle, model: Transformer, source: Tokenizer, target: Tokenizer) -> None:
    """Copy the weights of a bundle into a model with the same settings.

    The rows of embeddings and of the output projection are those of the tokens: see `rows_of_tokens`.

    Args:
        bundle: What to start from.
        model: The model, with random weights; changed in place.
        source: Its source tokenizer.
        target: Its target tokenizer.
    """
    sides = {"source_embedding.weight": (source, bundle.source)}
    sides |= dict.fromkeys(("target_embedding.weight", "output.weight", "output.bias"), (target, bundle.target))
    for name, parameter in model.named_parameters():
        stored = bundle.model.get_parameter(name)
        if name in sides:
            _copy_rows(stored, parameter, rows_of_tokens(*sides[name]))
        else:
            parameter.copy_(stored)


@torch.no_grad()
def mix_start_weights(bundle: Bundle, model: Transformer, source: Tokenizer, target: Tokenizer, share: float) -> None:
    """Move the weights of a trained model towards those that its training started from.

    A straight line between both keeps much of what the training learned, and most of what was known before (Wortsman et
    al. 2022, "Robust fine-tuning of zero-shot models").

    Args:
        bundle: What the training started from.
        model: The trained model; changed in place. Tokens that the bundle cannot describe keep their embeddings.
        source: Its source tokenizer.
        target: Its target tokenizer.
        share: The share of the bundle.
    """
    start = deepcopy(model)
    copy_start_weights(bundle, start, source, target)
    for parameter, initial in zip(model.parameters(), start.parameters(), strict=True):
        parameter.lerp_(initial, share)


def _copy_rows(stored: Tensor, parameter: Tensor, rows: Sequence[Sequence[int]]) -> None:
    for index, ids in enumerate(rows):
        if ids:
            parameter[index] = stored[list(ids)].mean(0)


def rows_of_tokens(new: Tokenizer, old: Tokenizer) -> list[Sequence[int]]:
    """For each token of a vocabulary, the ids of the tokens of an older one whose mean is its initial embedding.

    Special tokens have those with the same meaning, shared tokens themselves, and others the tokens into which the old
    tokenizer splits them. There are no ids for tokens that this cannot describe, which keep their random embeddings:
    bytes and reserved tokens that the old vocabulary lacks, and words that are unknown to it.
    """
    new, old = without_language(new), without_language(old)
    rows = [_old_ids(token, new, old) for token in new.vocabulary.tokens]
    for index, of_old in zip(new.vocabulary.special_ids, old.vocabulary.special_ids, strict=True):
        rows[index] = [of_old]
    return rows


def _old_ids(token: str, new: Tokenizer, old: Tokenizer) -> Sequence[int]:
    if new.starts_word(token) and not token.startswith(METASPACE) and isinstance(old, SubwordTokenizer):
        token = METASPACE + token  # a whole word
    if token in old.vocabulary.ids:
        return [old.vocabulary.ids[token]]
    if token in ALL_RESERVED + TERM_MARKS or _BYTE.fullmatch(token):
        return []
    if isinstance(old, SubwordTokenizer):
        ids = old.split_token(token)
    else:
        (ids,) = old.encode([token.replace(METASPACE, " ")])
    return [each for each in ids if each != old.vocabulary.unk]


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
