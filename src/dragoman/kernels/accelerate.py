"""Replace leaf modules of a model by faster ones."""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import deepcopy
from types import UnionType

import torch
from torch import nn

from dragoman.kernels.dropout import ByteDropout
from dragoman.kernels.linear import OneDNNLinear, PrepackedLinear, UnslicedLinear
from dragoman.kernels.operators import HAS_ONEDNN_LINEAR
from dragoman.kernels.unpadded import UnpaddedAttention
from dragoman.kernels.varlen import FusedVarlenAttention, VarlenAttention
from dragoman.model.attention import FusedAttention, ScaledDotProductAttention, StackedLinear
from dragoman.model.torch_transformer import TorchTransformer
from dragoman.model.transformer import Transformer
from dragoman.system.device import avoid_cudnn_attention

Replace = Callable[[nn.Module, str, str], nn.Module | None]
"""Takes a module, the type of device and the setting `model.attention`; returns the faster module or None."""


def _linear(module: nn.Module, device: str, attention: str) -> nn.Module | None:
    if device == "cpu" and type(module) in (nn.Linear, StackedLinear):
        assert isinstance(module, nn.Linear)
        return OneDNNLinear(module)
    return UnslicedLinear(module) if device == "cuda" and type(module) is StackedLinear else None


def _prepacked(module: nn.Module, device: str, attention: str) -> nn.Module | None:
    linear = type(module) in (nn.Linear, StackedLinear, OneDNNLinear)
    if module.training or device != "cpu" or not linear or not HAS_ONEDNN_LINEAR:
        return None
    assert isinstance(module, nn.Linear)
    return PrepackedLinear(module)


def _attention(module: nn.Module, device: str, attention: str) -> nn.Module | None:
    if type(module) not in (ScaledDotProductAttention, FusedAttention):
        return None
    assert isinstance(module, ScaledDotProductAttention)
    if device == "cuda" and attention != "explicit":
        return UnpaddedAttention(module.dropout.p)
    if attention == "fused" or (attention == "auto" and device != "cpu"):
        return FusedVarlenAttention(module.dropout.p)
    return VarlenAttention(module.dropout.p) if device == "cpu" else None


def _dropout(module: nn.Module, device: str, attention: str) -> nn.Module | None:
    return ByteDropout(module.p) if device == "cpu" and type(module) is nn.Dropout else None


KERNELS: dict[str, Replace] = {
    "attention": _attention,
    "linear": _linear,
    "prepacked": _prepacked,
    "dropout": _dropout,
}
"""The kernels that replace modules, in order: attention comes before the dropout inside it.

Prepacked weights replace linear maps in evaluation mode only.
"""


def accelerate(model: Transformer, kernels: Collection[str] = tuple(KERNELS), device_type: str | None = None) -> None:
    """Replace leaf modules of a model, in place, by faster ones that share their parameters.

    A module that occurs several times, as in `TorchTransformer`, is replaced by the same module everywhere. For a GPU,
    torch no longer uses cuDNN's attention in this process, see `avoid_cudnn_attention`.

    Args:
        model: The model.
        kernels: Which of `KERNELS` to use.
        device_type: The type of the device on which the model will run, by default the one it is on. Modules for a GPU
            also run on a CPU, where only their results are of interest.
    """
    device = device_type or model.target_embedding.weight.device.type
    avoid_cudnn_attention(device)
    for name in (name for name in KERNELS if name in kernels):
        made: dict[nn.Module, nn.Module | None] = {}
        for parent in list(model.modules()):
            for child_name, child in list(parent.named_children()):
                if child not in made:
                    made[child] = KERNELS[name](child, device, model.settings.attention)
                if (faster := made[child]) is not None:
                    setattr(parent, child_name, faster.train(child.training))


def accelerated(
    model: Transformer,
    device: torch.device | None = None,
    dtype: torch.dtype | None = None,
    kernels: Collection[str] = tuple(KERNELS),
) -> Transformer:
    """A copy of a model with faster modules, in evaluation mode, on a device; the model passed in does not change.

    The copy shares its parameters with the model if neither device nor data type changes.

    Args:
        model: The model to copy.
        device: Device of the copy, by default the model's.
        dtype: Data type of the copy's parameters, by default the model's. Tables of positions stay in float32.
        kernels: Which of `KERNELS` to use.
    """
    weight = model.target_embedding.weight
    device = device or weight.device
    same_device = device.type == weight.device.type and device.index in (None, weight.device.index)
    same = same_device and dtype in (None, weight.dtype)
    tensors = [*model.parameters(), *model.buffers()] if same else []
    copied = deepcopy(model, {id(tensor): tensor for tensor in tensors}).to(device).eval()
    if dtype is not None and not same:
        for parameter in copied.parameters():
            parameter.data = parameter.data.to(dtype)
    accelerate(copied, kernels)
    return copied


def supports_varlen(model: Transformer) -> bool:
    """Whether all attention of a model accepts a `VarlenMask`."""
    return _all_attention_is(model, VarlenAttention | FusedVarlenAttention)


def supports_unpadded(model: Transformer) -> bool:
    """Whether all attention of a model accepts an `UnpaddedMask`."""
    return _all_attention_is(model, UnpaddedAttention)


def _all_attention_is(model: Transformer, kinds: type | UnionType) -> bool:
    cores = [module for module in model.modules() if isinstance(module, ScaledDotProductAttention)]
    return all(isinstance(core, kinds) for core in cores) and not isinstance(model, TorchTransformer)
