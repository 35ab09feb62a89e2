"""Files of tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from dragoman.errors import UserError


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write tensors as safetensors.

    Raises:
        OSError: The disk is full, or the file cannot be written.
    """
    path.touch()
    mode = path.stat().st_mode
    try:
        save_file(tensors, path)
    except SafetensorError as error:  # the library raises this if the disk is full
        raise OSError(str(error)) from error
    path.chmod(mode)  # the library creates files that only their owner can read


@contextmanager
def open_tensors(path: Path) -> Iterator[Any]:
    """Open a file of safetensors; the library compares its size with its header.

    Raises:
        UserError: It is missing or damaged.
    """
    try:
        file = safe_open(path, framework="pt")
    except (SafetensorError, OSError, RuntimeError) as error:  # torch maps the file into memory
        raise UserError(f"{path}: damaged: {error}; copy it again") from error
    try:
        with file as opened:
            yield opened
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: damaged: {error}; copy it again") from error
