"""Building the model that the settings describe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

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


def build_empty_model(settings: Model, source_size: int, target_size: int, source_pad: int) -> Transformer:
    """A model whose weights have arbitrary values; as `build_model`, for weights that are read from a file."""
    with _WithoutRandomNumbers():
        return IMPLEMENTATIONS[settings.implementation](settings, source_size, target_size, source_pad)


class _WithoutRandomNumbers(TorchFunctionMode):
    """A block in which nothing is drawn: on the device "meta", torch would import its compiler for that."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a function of torch, unless it draws numbers; all of these return the tensor that they change."""
        kwargs = kwargs or {}
        if function in (Tensor.normal_, Tensor.uniform_) or getattr(function, "__module__", "") == "torch.nn.init":
            return kwargs.get("tensor", args[0] if args else None)
        return function(*args, **kwargs)
