"""The objects that training steps change."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from dragoman.bundle import Bundle
from dragoman.dataset.prepare import Dataset
from dragoman.kernels import accelerate
from dragoman.model.build import build_model
from dragoman.model.torch_transformer import TorchTransformer
from dragoman.model.transformer import Transformer
from dragoman.settings import Recipe
from dragoman.system.device import avoid_cudnn_attention, compute_dtype
from dragoman.text.registry import tokenizers_digest
from dragoman.training.loop.batch_loss import BatchLoss
from dragoman.training.loop.distributed import (
    SINGLE_PROCESS,
    Ranks,
    collect,
    distribute_like,
    wrap_distributed,
)
from dragoman.training.loop.initial_weights import copy_cooccurrence, copy_start_weights
from dragoman.training.loop.optimizers import build_optimizer
from dragoman.training.loop.progress import Progress


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
