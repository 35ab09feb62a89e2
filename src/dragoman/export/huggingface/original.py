"""What the files of a model of Hugging Face describe: a recipe, tokenizers, and where the rows of its weights are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from dragoman.errors import UserError
from dragoman.settings import Recipe
from dragoman.system.files import read_json
from dragoman.system.tensors import open_tensors
from dragoman.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class ImportedLanguages:
    """What the user says about the languages of a model.

    Attributes:
        source: The language to translate from; None for the one that the files state.
        target: The language to translate into; None for the one that the files state.
        kept: The languages of a model with several languages to keep; none for all.
    """

    source: str | None = None
    target: str | None = None
    kept: tuple[str, ...] = ()


@dataclass(frozen=True)
class OriginalModel:
    """A model to import.

    Attributes:
        directory: Its files.
        recipe: The recipe of the bundle.
        source: The source tokenizer of the bundle.
        target: Its target tokenizer.
        source_rows: The model's id of each token of the source vocabulary, (tokens,), int64.
        target_rows: The same for the target vocabulary.
    """

    directory: Path
    recipe: Recipe
    source: Tokenizer
    target: Tokenizer
    source_rows: Tensor
    target_rows: Tensor


def require_files(directory: Path, names: tuple[str, ...]) -> None:
    """Check that a directory has these files.

    Raises:
        UserError: Some are missing, or it is not a directory.
    """
    if not directory.is_dir():
        raise UserError(f"{directory}: {'is a file, not a directory' if directory.exists() else 'no such directory'}")
    if missing := [name for name in names if not (directory / name).is_file()]:
        raise UserError(
            f"{directory}: no {', '.join(missing)}; save the model and its tokenizer there with save_pretrained"
        )


def weight_files(directory: Path) -> list[str]:
    """The names of the files with a model's weights; `save_pretrained` divides those of large models.

    Raises:
        UserError: The list of the files is damaged.
    """
    index = directory / "model.safetensors.index.json"
    if not index.is_file():
        return ["model.safetensors"]
    try:
        names = sorted(set(read_json(index)["weight_map"].values()))
        if not names or any(Path(name).name != name for name in names):
            raise ValueError("a name of a file is missing or contains a directory")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{index}: damaged: {error}") from error
    return names


def require_rows(directory: Path, size: Any) -> None:
    """Check that a matrix of the weights has as many rows as there are tokens, before each token gets a name.

    Args:
        directory: The model's directory.
        size: `vocab_size` of its config.json.

    Raises:
        UserError: They cannot, or the weights are damaged.
    """
    largest = 0
    for name in weight_files(directory):
        with open_tensors(directory / name) as file:
            shapes = [file.get_slice(key).get_shape() for key in sorted(file.keys())]
        largest = max([largest, *(max(shape, default=0) for shape in shapes)])
    if type(size) is not int or not 0 < size <= largest:  # isinstance would accept true
        raise UserError(f"{directory}: config.json does not fit the weights: vocab_size = {size!r}")


def require_support(directory: Path, config: dict[str, Any], allowed_values: dict[str, tuple[Any, ...]]) -> None:
    """Check the values of a model's config.json.

    Args:
        directory: The model's directory.
        config: Its config.json.
        allowed_values: The values that our model can express, by key; None if the key may be missing.

    Raises:
        UserError: Some are not among them.
    """
    reasons = [
        f"{key} = {config.get(key)!r}: must be {' or '.join(repr(value) for value in values if value is not None)}"
        for key, values in allowed_values.items()
        if config.get(key) not in values
    ]
    if reasons:
        raise UserError("\n  ".join([f"{directory}: dragoman does not support this model:", *reasons]))
