"""Which device computes, in which arithmetic, and how memory is kept."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from dragoman.errors import UserError

HEAP, HUGE_PAGE = 2**32, 2**21
"""Bytes of the heap that are asked to be in huge pages, and of such a page."""


def choose_device(name: str) -> torch.device:
    """The device with this name; 'auto' is a GPU if there is one.

    Raises:
        UserError: There is no such device.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from error
    return device


def keep_memory() -> None:
    """Let glibc keep what this process frees, for the next step will need as much, and let it be huge pages.

    By default it gives large blocks back to the system at once, which must then clear them anew: a tenth of
    the time of a small model's training. What is free already, after preparing text, is given back first.
    Pages of 2 MB instead of 4 kB, where the system grants them to those who ask, are another few hundredths.
    And oneDNN, which would keep the last 1,024 products it compiled with their work space, keeps half as many: enough
    for the lengths that come up from step to step, for compiling anew takes a twentieth of the time.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "512")
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if libc is None or not hasattr(libc, "mallopt"):
        return
    libc.malloc_trim(0)
    libc.mallopt(-4, 0)  # M_MMAP_MAX: no blocks of their own; the numbers are those of glibc's malloc.h
    libc.mallopt(-1, -1)  # M_TRIM_THRESHOLD: nothing is given back
    libc.mallopt(-2, 2**26)  # M_TOP_PAD, bytes
    libc.malloc.argtypes, libc.malloc.restype, libc.free.argtypes = (
        [ctypes.c_size_t],
        ctypes.c_void_p,
        [ctypes.c_void_p],
    )
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if block := libc.malloc(HEAP):  # addresses only: memory is what will be written to
        start = -(-block // HUGE_PAGE) * HUGE_PAGE
        libc.madvise(start, (block + HEAP - start) // HUGE_PAGE * HUGE_PAGE, mmap.MADV_HUGEPAGE)
        libc.free(block)


def compute_dtype(precision: str, device: torch.device) -> torch.dtype:
    """The arithmetic of the forward and backward pass; auto takes bfloat16 where the hardware multiplies it.

    float16 is for GPUs; a CPU, which is slow at it, takes bfloat16, which needs no loss scaling.
    """
    if precision == "float16" and device.type == "cuda":
        return torch.float16
    if precision != "auto":
        return torch.float32 if precision == "float32" else torch.bfloat16
    if device.type == "cuda":
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = _cpu_multiplies_bfloat16()
    return torch.bfloat16 if fast else torch.float32


def _cpu_multiplies_bfloat16() -> bool:
    """Whether this CPU has instructions for bfloat16 matrix products; torch has no public function for this."""
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, name)() for name in names if hasattr(torch.cpu, name))


@contextmanager
def autocast(precision: str, device: torch.device) -> Iterator[torch.dtype]:
    """Multiply matrices in the chosen arithmetic, which is yielded; weights stay in float32."""
    dtype = compute_dtype(precision, device)
    with torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32):
        yield dtype
