"""Memory: settings that make training and translation faster, which only the command line uses, and errors."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import re
import sys

HEAP, HUGE_PAGE = 2**32, 2**21
"""Bytes of the heap for which huge pages are requested, and bytes of one such page."""

MMAP_MAX, TRIM_THRESHOLD, TOP_PAD = -4, -1, -2
"""Parameters of mallopt, from glibc's malloc.h."""


def keep_freed_memory() -> None:
    """Configure glibc to keep freed memory and to use huge pages, and limit oneDNN's cache of compiled kernels.

    By default, glibc returns large blocks to the system immediately, which clears them before the next step can use
    them; this takes 10 % of the time of training a small model. Pages of 2 MB instead of 4 kB save another few percent
    if the system allows them. By default, oneDNN keeps 1,024 compiled kernels with their work space; 512 are enough for
    the shapes that training repeats, while recompiling would take 5 % of the time.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "512")
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if libc is None or not hasattr(libc, "mallopt"):
        return
    libc.mallopt(MMAP_MAX, 0)  # large blocks come from the heap too
    libc.mallopt(TRIM_THRESHOLD, -1)  # nothing is returned to the system
    libc.mallopt(TOP_PAD, 2**26)
    _request_huge_pages(libc)


def exempt_from_collection() -> None:
    """Exclude all objects that exist now, most of them of imported modules, from Python's garbage collection.

    Visiting them takes as long as translating several hundred sentences with a small model, and happens every few
    thousand sentences. Objects that nothing refers to are still freed, unless they refer to each other.
    """
    gc.freeze()


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory could not be allocated. On a CPU, torch raises a RuntimeError, which has only its message."""
    messages = "allocate memory|out of memory"
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and bool(re.search(messages, str(error))))


def _request_huge_pages(libc: ctypes.CDLL) -> None:
    """Request huge pages for the heap; this reserves addresses only, and memory is used when it is written to."""
    libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if block := libc.malloc(HEAP):
        start = -(-block // HUGE_PAGE) * HUGE_PAGE
        libc.madvise(start, (block + HEAP - start) // HUGE_PAGE * HUGE_PAGE, mmap.MADV_HUGEPAGE)
        libc.free(block)
