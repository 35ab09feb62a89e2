"""Memory: settings that make training and translation faster, which only the command line uses, and errors."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys

MMAP_MAX, TRIM_THRESHOLD, TOP_PAD = -4, -1, -2
"""Parameters of mallopt, from glibc's malloc.h."""


def keep_freed_memory() -> None:
    """Configure glibc to keep freed memory, and limit oneDNN's cache of compiled kernels.

    By default, glibc returns large blocks to the system immediately, which clears them before the next step can use
    them; this takes 10 % of the time of training a small model. By default, oneDNN keeps 1,024 compiled kernels with
    their work space; 512 are enough for the shapes that training repeats, while recompiling would take 5 % of the time.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "512")
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if libc is None or not hasattr(libc, "mallopt"):
        return
    libc.mallopt(MMAP_MAX, 0)  # large blocks come from the heap too
    libc.mallopt(TRIM_THRESHOLD, -1)  # nothing is returned to the system
    libc.mallopt(TOP_PAD, 2**26)


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
