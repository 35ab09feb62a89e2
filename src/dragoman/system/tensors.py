"""Files of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from safetensors import SafetensorError, safe_open

from dragoman.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write tensors as safetensors.

    Raises:
        OSError: The disk is full, or the file cannot be written.
    """
    from safetensors.torch import save_file

    path.touch()
    mode = path.stat().st_mode
    try:
        save_file(tensors, path)
    except SafetensorError as error:  # the library raises this if the disk is full
        raise OSError(str(error)) from error
    path.chmod(mode)  # the library creates files that only their owner can read


@contextmanager
def open_tensors(path: Path, framework: Literal["pt", "numpy"] = "numpy") -> Iterator[Any]:
    """Open a file of safetensors for torch or for NumPy; the library compares its size with its header.

    Raises:
        UserError: It is missing, unreadable or damaged.
    """
    try:
        path.open("rb").close()  # the library says that an unreadable file is missing
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    try:
        file = safe_open(path, framework=framework)
    except (SafetensorError, OSError, RuntimeError) as error:  # torch maps the file into memory
        raise UserError(f"{path}: damaged: {error}; copy it again") from error
    try:
        with file as opened:
            yield opened
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: damaged: {error}; copy it again") from error


def read_parameters(path: Path, file: Any, parameters: Mapping[str, Tensor]) -> None:
    """Copy the tensors of an open file into parameters, in float32.

    Raises:
        UserError: One contains NaN or infinite values.
    """
    import torch

    with torch.no_grad():
        for name, parameter in parameters.items():
            stored = file.get_tensor(name)
            if not stored.isfinite().all():
                raise UserError(
                    f"{path}: {name} contains NaN or infinite values; train the model again with a lower "
                    "training.learning_rate"
                )
            parameter.copy_(stored)


def check_header(path: Path, file: Any, parameters: Mapping[str, Tensor]) -> None:
    """Compare names, shapes and data types in the header of an open file with those of parameters.

    Raises:
        UserError: They differ.
    """
    if set(file.keys()) != parameters.keys():
        raise UserError(f"{path}: its weights do not fit the recipe in bundle.json")
    for name, parameter in parameters.items():
        stored = file.get_slice(name)
        shape, dtype = tuple(stored.get_shape()), stored.get_dtype()
        if shape != parameter.shape:
            raise UserError(f"{path}: {name} has shape {shape}, not {tuple(parameter.shape)}")
        if dtype != "F32":
            raise UserError(f"{path}: {name} has the data type {dtype}, not F32 (float32)")
