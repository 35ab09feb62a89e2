"""The objects that training steps change, and their initial weights: random, counted from the text, or of a bundle."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from dragoman.bundle import Bundle
from dragoman.dataset.prepare import Dataset
from dragoman.kernels import accelerate
from dragoman.lexicon.cooccurrence import cooccurrence_vectors
from dragoman.model.build import build_model
from dragoman.model.torch_transformer import TorchTransformer
from dragoman.model.transformer import Transformer
from dragoman.settings import Recipe
from dragoman.system.device import avoid_cudnn_attention, compute_dtype
from dragoman.text.masking import ALL_RESERVED
from dragoman.text.multilingual import without_language
from dragoman.text.normalization import METASPACE
from dragoman.text.registry import tokenizers_digest
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.term_marks import TERM_MARKS
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.loop.batch_loss import BatchLoss
from dragoman.training.loop.distributed import (
    SINGLE_PROCESS,
    Ranks,
    collect,
    distribute_like,
    wrap_distributed,
)
from dragoman.training.loop.optimizers import build_optimizer
from dragoman.training.loop.progress import Progress

_BYTE = re.compile("<0x[0-9A-F]{2}>")


@torch.no_grad()
def copy_start_weights(bundle: Bundle, model: Transformer, source: Tokenizer, target: Tokenizer) -> None:
    """Copy the weights of a bundle into a model with the same settings, but maybe with fewer layers.

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

    Special tokens have those with the same meaning, shared tokens themselves, tokens of new languages those of all old
    languages, and others the tokens into which the old tokenizer splits them. There are no ids for tokens that this
    cannot describe, which keep their random embeddings: bytes and reserved tokens that the old vocabulary lacks, and
    words that are unknown to it.
    """
    languages = set(new.all_language_ids), list(old.all_language_ids)
    new, old = without_language(new), without_language(old)
    rows = [
        languages[1] if index in languages[0] and token not in old.vocabulary.ids else _old_ids(token, new, old)
        for index, token in enumerate(new.vocabulary.tokens)
    ]
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


@dataclass
class TrainingState:
    """Model, optimizer and everything else that a training step changes."""

    model: Transformer
    loss: nn.Module  # the BatchLoss of the model, wrapped for several processes
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler  # disabled unless gradients are float16
    moving_average: Transformer | None = None
    progress: Progress = field(default_factory=Progress)

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return self.model.target_embedding.weight.device

    @property
    def deployed(self) -> Transformer:
        """The model that is validated and deployed: the moving average if there is one."""
        return self.model if self.moving_average is None else self.moving_average


def build_state(
    recipe: Recipe,
    data: Dataset,
    device: torch.device,
    ranks: Ranks = SINGLE_PROCESS,
    start: Bundle | None = None,
    resumed: bool = False,
) -> TrainingState:
    """The state before the first step.

    Args:
        recipe: Model and training settings.
        data: The dataset; the model has the size of its vocabularies.
        device: Where to train.
        ranks: The processes that train together.
        start: The bundle that the weights are taken from; without one, they are random, or counted from the text.
        resumed: Whether the weights will be replaced by those of a checkpoint.
    """
    settings = recipe.training
    model = _build_model(recipe, data)
    if start is not None:
        copy_start_weights(start, model, data.source, data.target)
    elif recipe.model.embedding_init == "cooccurrence" and not resumed:
        copy_cooccurrence(model, data, settings.seed, ranks)
    avoid_cudnn_attention(device.type)  # with or without kernels, as in validation
    if settings.kernels:
        accelerate(model, device_type=device.type)
    loss = BatchLoss(model, settings, data.target.vocabulary.pad)
    wrapped = wrap_distributed(loss, _layers(model), device, ranks, shard=settings.shard)
    float16 = compute_dtype(settings.precision, device) == torch.float16
    return TrainingState(
        model=model,
        loss=wrapped,
        optimizer=build_optimizer(model, settings),
        scaler=torch.amp.GradScaler(device.type, enabled=float16),
        moving_average=None if settings.ema_decay is None else deepcopy(model),
        progress=Progress(tokenizers=tokenizers_digest(data.source, data.target)),
    )


def _build_model(recipe: Recipe, data: Dataset) -> Transformer:
    source, target = data.source.vocabulary, data.target.vocabulary
    return build_model(recipe.model, len(source), len(target), source.pad, recipe.training.seed)


def _layers(model: Transformer) -> list[nn.Module]:
    """The parts of a model whose weights can be sharded separately.

    There are none in a `TorchTransformer`: the layers of torch, which compute, share their parameters with ours.
    """
    return [] if isinstance(model, TorchTransformer) else [*model.encoder, *model.decoder]


@torch.no_grad()
def update_moving_average(average: Transformer, model: Transformer, decay: float, step: int) -> None:
    """Move the average towards the weights after a step.

    The decay is at most (1 + step) / (10 + step), so that the initial weights have little influence on short runs.
    torch's `AveragedModel` has no such warm-up, and counts steps on the device, which synchronizes a GPU.

    Args:
        average: The moving average, changed in place.
        model: The model after the step.
        decay: The decay after the warm-up.
        step: Number of the step, from 1.
    """
    decay = min(decay, (1 + step) / (10 + step))
    for mean, parameter in zip(average.parameters(), model.parameters(), strict=True):
        mean.lerp_(parameter, 1 - decay)


def unsharded_model(state: TrainingState, recipe: Recipe, data: Dataset, ranks: Ranks) -> Transformer | None:
    """The model to validate or deploy, with unsharded weights, in the first process; every process must call this."""
    if not recipe.training.shard or ranks.size == 1:
        return state.deployed if ranks.first else None
    weights = weights_of(state.deployed, ranks)
    if not ranks.first:
        return None
    model = _build_model(recipe, data)
    load_weights(model, weights)
    return model.to(state.device)


def weights_of(model: nn.Module, ranks: Ranks) -> dict[str, Tensor]:
    """The weights by name, in the first process; every process must call this."""
    return collect(((name, value.detach()) for name, value in model.named_parameters()), ranks)


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights, by name, into a model of the same shape."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(distribute_like(weights[name], parameter))


def random_state(device: torch.device) -> dict[str, Tensor]:
    """The states of the CPU's generator and, on a GPU, of that GPU's generator, by type of device."""
    states = {"cpu": torch.get_rng_state()}
    return states | {"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else states


def set_random_state(states: Mapping[str, Tensor], device: torch.device) -> None:
    """Set the generators to states from `random_state`; generators without a state do not change."""
    if "cpu" in states:
        torch.set_rng_state(states["cpu"])
    if "cuda" in states and device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], device)
