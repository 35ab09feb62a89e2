"""Files of tensors."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor


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
