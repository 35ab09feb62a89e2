"""Building the model that the settings describe."""

from __future__ import annotations

import torch

from dragoman.model.torch_transformer import TorchTransformer
from dragoman.model.transformer import Transformer
from dragoman.settings import Model

IMPLEMENTATIONS: dict[str, type[Transformer]] = {"dragoman": Transformer, "torch": TorchTransformer}


def build_model(settings: Model, source_size: int, target_size: int, source_pad: int, seed: int) -> Transformer:
    """A model with initial weights that depend on the seed alone.

    Args:
        settings: Sizes and variants.
        source_size: Size of the source vocabulary.
        target_size: Size of the target vocabulary.
        source_pad: Id of padding in the source.
        seed: Seed of the weights; the state of torch's random generators does not change.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would also seed those of GPUs
        return IMPLEMENTATIONS[settings.implementation](settings, source_size, target_size, source_pad)
