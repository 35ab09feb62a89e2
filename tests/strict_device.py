"""A device like mps for tests on any machine: without float64, and without models that run on the CPU instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.optim import optimizer
from torch.overrides import TorchFunctionMode
from torch.utils import _foreach_utils
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

DEVICE = torch.device("lazy", 0)
"""A device that torch knows by name only, so that every tensor on it is a `DeviceTensor`.

It is not "mps", because the backward pass needs the guard of a device that this build of torch may lack.
"""

_ATEN = torch.ops.aten
_COPIES = (_ATEN._to_copy.default, _ATEN.copy_.default)
_INDEXING = (_ATEN.index.Tensor, _ATEN.index_put.default, _ATEN.index_put_.default)


class DeviceTensor(Tensor):
    """A tensor on the device. Its values are in a tensor on the CPU, which only `_compute` reads."""

    content: Tensor

    @staticmethod
    def __new__(cls, values: Tensor) -> DeviceTensor:
        """Put a result on the device."""
        if values.dtype == torch.float64:
            raise TypeError("a float64 tensor on a device without float64")
        place = values.size(), values.stride(), values.storage_offset()
        made: DeviceTensor = Tensor._make_wrapper_subclass(cls, *place, dtype=values.dtype, device=DEVICE)
        made.content = values
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Compute outside of the modes of `strict_device`, as tensors may be freed or printed there."""
        return _compute(func, args, kwargs or {})


class _Kernels(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Computes what has no tensor on the device as an argument, such as `torch.zeros`."""

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        return _compute(function, arguments, keywords or {})


class _Lists(TorchFunctionMode):
    """Copies from and to lists, which no dispatch mode sees."""

    def __torch_function__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        keywords = dict(keywords or {})
        if function is torch.tensor and (device := keywords.pop("device", None)) is not None:
            return torch.tensor(*arguments, **keywords).to(device)
        if function is Tensor.tolist:
            return function(arguments[0].cpu())
        if function is Tensor.__setitem__ and isinstance(arguments[1], list):
            tensor, indices, value = arguments
            return tensor.index_put_((torch.tensor(indices),), tensor.new_full((), value))
        return function(*arguments, **keywords)


def _compute(function: Any, arguments: Any, keywords: Any) -> Any:
    """The result of an operator: on the device if it is requested there, or if an argument is there.

    Raises:
        RuntimeError: Some tensors are on the device, others on the CPU; or a model on the CPU looks up embeddings.
        TypeError: The result would be a float64 tensor on the device.
    """
    leaves, structure = tree_flatten((arguments, keywords))
    ours = [each for each in leaves if isinstance(each, DeviceTensor)]
    others = [each for each in leaves if isinstance(each, Tensor) and each.device.type == "cpu" and each.dim()]
    if ours and others and function not in (*_COPIES, *_INDEXING):
        raise RuntimeError(f"{function}: some tensors are on the CPU, others on {DEVICE}")
    if function is _ATEN.embedding.default and not ours:
        raise RuntimeError("a model runs on the CPU")
    if function is _ATEN.copy_.default:
        on_device = isinstance(arguments[0], DeviceTensor)
    else:
        requested = keywords.get("device")
        on_device = bool(ours) if requested is None else torch.device(requested).type == DEVICE.type
    made = {id(each.content): each for each in ours}
    positional, named = tree_unflatten([_on_cpu(each) for each in leaves], structure)
    results = function(*positional, **named)

    def place(result: Any) -> Any:
        if not isinstance(result, Tensor) or not on_device:
            return result
        return made[id(result)] if id(result) in made else DeviceTensor(result)

    return tree_map(place, results)


def _on_cpu(argument: Any) -> Any:
    if isinstance(argument, DeviceTensor):
        return argument.content
    return torch.device("cpu") if isinstance(argument, torch.device) and argument.type == DEVICE.type else argument


@contextmanager
def strict_device() -> Iterator[torch.device]:
    """The device, which exists only in this block. All models in the block must run on it.

    Fused optimizers run on it, as they do on mps. It has no autocast, so training must use float32. Inference mode,
    which torch does not support for such tensors, only disables gradients. A module that moves keeps its parameters,
    and with them their ties. safetensors, which looks for tensors that share memory, gets copies on the CPU.
    """
    fused = [*_foreach_utils._get_fused_kernels_supported_devices(), DEVICE.type]
    with pytest.MonkeyPatch.context() as patch, _Lists(), _Kernels():  # type: ignore[no-untyped-call]
        patch.setattr(optimizer, "_get_fused_kernels_supported_devices", lambda: fused)
        patch.setattr(torch, "autocast", lambda *_, **__: nullcontext())
        patch.setattr(
            "safetensors.torch.save_file", lambda saved, path: save_file({k: v.cpu() for k, v in saved.items()}, path)
        )
        patch.setattr(torch.__future__, "get_swap_module_params_on_conversion", lambda: True)
        patch.setattr(torch._C, "_InferenceMode", lambda mode: torch.no_grad() if mode else nullcontext())
        yield DEVICE
