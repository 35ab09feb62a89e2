"""Devices and data types of the computation.

torch is imported where it is used: CTranslate2 translates on a CPU without it, and loading it takes a second.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dragoman.errors import UserError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

GPU_FILES = ("nvidia*", "nvhost*", "nvgpu*", "nvmap", "dxg", "kfd")
"""Files in /dev that the drivers of GPUs make on Linux, also on Windows' Linux and in containers."""


class Device(Protocol):
    """A device by its type and its name: a `torch.device`, or `CPU`, which needs no torch."""

    @property
    def type(self) -> str:
        """Such as "cpu" or "cuda"."""
        ...


@dataclass(frozen=True)
class _Cpu:
    type: str = "cpu"

    def __str__(self) -> str:
        return self.type


CPU = _Cpu()


def find_device(name: str) -> Device:
    """The device with this name, as `choose_device` chooses it; torch is not loaded to find out that it is a CPU.

    Raises:
        UserError: There is no such device.
    """
    loaded = "torch" in sys.modules
    if not loaded and (name == "cpu" or (name == "auto" and not _may_have_gpu())):
        return CPU
    return choose_device(name)


def _may_have_gpu() -> bool:
    """Whether torch could find a GPU on this machine."""
    if sys.platform == "darwin":
        return False  # 'auto' only chooses GPUs with CUDA or ROCm
    return sys.platform != "linux" or any(True for name in GPU_FILES for _ in Path("/dev").glob(name))


def choose_device(name: str) -> torch.device:
    """The device with this name; 'auto' is a GPU if there is one.

    Raises:
        UserError: There is no such device.
    """
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise UserError(f"device {name!r} cannot be used: choose cpu, cuda, cuda:1, …, mps, or auto") from error
    try:
        torch.zeros(1, device=device).item()  # the device meta has no values
    except (RuntimeError, AssertionError, ValueError) as error:
        raise UserError(f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from error
    return device


def avoid_cudnn_attention(device_type: str) -> None:
    """On a GPU, let torch choose another kernel than cuDNN's, which prepares an execution plan for every new shape.

    This changes the whole process.
    """
    import torch

    if device_type == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """A copy of a CPU tensor on a device; on a GPU, the program continues while pinned memory is copied."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def device_for_float64(device: torch.device) -> torch.device:
    """The device itself, or the CPU if the device may lack float64, as mps does."""
    import torch

    return device if device.type in ("cpu", "cuda") else torch.device("cpu")


def compute_dtype(precision: str, device: Device) -> torch.dtype:
    """The data type of matrix products in training. 'auto' selects bfloat16 if the hardware supports it.

    On a CPU, 'float16' selects bfloat16, because float16 is slow there; bfloat16 needs no loss scaling.
    """
    import torch

    if precision == "float16" and device.type == "cuda":
        return torch.float16
    if precision != "auto":
        return torch.float32 if precision == "float32" else torch.bfloat16
    if device.type == "cuda":
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:  # torch has no public function for this
        names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
        fast = any(getattr(torch.cpu, name)() for name in names if hasattr(torch.cpu, name))
    return torch.bfloat16 if fast else torch.float32


@contextmanager
def autocast(precision: str, device: torch.device) -> Iterator[torch.dtype]:
    """Multiply matrices in the data type of a precision, which is yielded; weights stay in float32."""
    import torch

    dtype = compute_dtype(precision, device)
    with torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32):
        yield dtype
