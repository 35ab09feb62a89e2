"""Models without initial weights, because their weights are read from a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class WithoutInitialWeights(TorchFunctionMode):
    """A block in which models get weights with arbitrary values, because nothing is drawn.

    On the device "meta", drawing and `torch.arange` would import torch's compiler, which takes a second. So the fixed
    tables of a model have values there, too.
    """

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a function of torch, unless it draws numbers; all of these return the tensor that they change."""
        kwargs = kwargs or {}
        if function in (Tensor.normal_, Tensor.uniform_) or getattr(function, "__module__", "") == "torch.nn.init":
            return kwargs.get("tensor", args[0] if args else None)
        if function is torch.arange:
            kwargs = {"device": "cpu", **kwargs}
        return function(*args, **kwargs)
