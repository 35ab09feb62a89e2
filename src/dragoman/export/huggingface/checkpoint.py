"""The files of a model of Hugging Face: configuration, weights by name, and the original to compare with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled

from dragoman.errors import UserError
from dragoman.recipe import build_recipe
from dragoman.settings import Model, Recipe
from dragoman.settings.data import IMPORTED
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


ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "silu", "swish": "silu"}
"""Names in config.json, and in recipes."""


def common_values(config: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The values of config.json that every model must have, for `require_support`."""
    return {
        "scale_embedding": (True,),
        "activation_function": tuple(ACTIVATIONS),
        "encoder_ffn_dim": (config.get("decoder_ffn_dim"),),
        "encoder_attention_heads": (config.get("decoder_attention_heads"),),
    }


def recipe_from_config(
    directory: Path, config: dict[str, Any], languages: tuple[str, str], joint: bool, model: dict[str, Any]
) -> Recipe:
    """The recipe of a bundle with this model; settings of its training are unknown.

    Args:
        directory: The model's directory; its name becomes the recipe's name.
        config: Its config.json.
        languages: The languages to translate from and into.
        joint: Whether source and target share one vocabulary.
        model: Settings of the model that config.json does not contain.
    """
    name = directory.resolve().name
    limit = int(config["max_position_embeddings"])
    document = {
        "name": re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip("-._") or "imported",
        "data": {
            "source_language": languages[0],
            "target_language": languages[1],
            "train": [f"{IMPORTED} {name}"],
            "max_tokens": min(128, limit - 1),
        },
        "text": {"tokenizer": "unigram", "joint": joint},
        "model": {**_model_section(config, limit), **model},
        "training": {"steps": 1},
        "decoding": {"beam_size": _beam_size(directory, config), "max_length": min(256, limit)},
    }
    return build_recipe(document)


def _beam_size(directory: Path, config: dict[str, Any]) -> int:
    """The beam size in generation_config.json, which transformers 5 writes, or in config.json, as older ones wrote."""
    path = directory / "generation_config.json"
    generation = read_json(path) if path.is_file() else {}
    return generation.get("num_beams") or config.get("num_beams") or 1


def _model_section(config: dict[str, Any], limit: int) -> dict[str, Any]:
    return {
        "d_model": config["d_model"],
        "heads": config["encoder_attention_heads"],
        "d_ff": config["encoder_ffn_dim"],
        "encoder_layers": config["encoder_layers"],
        "decoder_layers": config["decoder_layers"],
        "activation": ACTIVATIONS[config["activation_function"]],
        "max_length": limit,
    }


@dataclass(frozen=True)
class WeightMapping:
    """A tensor of Hugging Face's model and where it is in ours.

    Attributes:
        theirs: Its name in the Hugging Face model.
        ours: Its name in our model.
        stream_axis: The axis along which it has the d_model dimensions of the residual stream, if any.
        third: 0, 1 or 2 if it is the queries', keys' or values' third of our tensor.
    """

    theirs: str
    ours: str
    stream_axis: int | None = None
    third: int | None = None


def export_weights(weights: Mapping[str, Tensor], settings: Model) -> dict[str, Tensor]:
    """Our weights under the names of Hugging Face; biases that our model lacks are zeros.

    Args:
        weights: All parameters of our model; shared ones under each of their names.
        settings: Sizes and variants of the model.
    """
    order = _sines_first(settings.d_model)
    exported = {}
    for mapping in weight_mappings(settings):
        tensor = weights.get(mapping.ours)
        if tensor is None:
            assert mapping.ours.endswith("qkv.bias"), mapping.ours
            tensor = torch.zeros(3 * settings.d_model)
        if mapping.third is not None:
            tensor = tensor.chunk(3)[mapping.third]
        exported[mapping.theirs] = _permute(tensor, mapping.stream_axis, order).clone()
    return exported


def import_weights(weights: Mapping[str, Tensor], settings: Model) -> dict[str, Tensor]:
    """Weights of a Hugging Face model under our names.

    Raises:
        KeyError: A weight is missing.
    """
    order = _sines_first(settings.d_model).argsort()
    parts: dict[str, list[Tensor]] = {}
    for mapping in weight_mappings(settings):
        parts.setdefault(mapping.ours, []).append(_permute(weights[mapping.theirs], mapping.stream_axis, order))
    return {name: torch.cat(tensors) for name, tensors in parts.items()}


def _sines_first(d_model: int) -> Tensor:
    """The indices of our dimensions with sines, then of those with cosines, (d_model,)."""
    return torch.arange(d_model).view(-1, 2).T.flatten()


def _permute(tensor: Tensor, axis: int | None, order: Tensor) -> Tensor:
    return tensor if axis is None else tensor.index_select(axis, order)


def weight_mappings(settings: Model) -> Iterator[WeightMapping]:
    """Every tensor of a Hugging Face model except shared copies, fixed positions and the bias of the logits."""
    yield WeightMapping("model.encoder.embed_tokens.weight", "source_embedding.weight", 1)
    yield WeightMapping("model.decoder.embed_tokens.weight", "target_embedding.weight", 1)
    yield WeightMapping("lm_head.weight", "output.weight", 1)
    for side, layers in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers)):
        for index in range(layers):
            yield from _layer(f"model.{side}.layers.{index}", f"{side}.{index}", decoder=side == "decoder")
        if settings.final_norm:
            yield from _writer(f"model.{side}.layer_norm", f"{side}_norm")


def _layer(theirs: str, ours: str, decoder: bool) -> Iterator[WeightMapping]:
    yield from _attention(f"{theirs}.self_attn", f"{ours}.attention")
    if decoder:
        yield from _attention(f"{theirs}.encoder_attn", f"{ours}.memory_attention")
    yield from _reader(f"{theirs}.fc1", f"{ours}.feed_forward.inner")
    yield from _writer(f"{theirs}.fc2", f"{ours}.feed_forward.outer")
    yield from _writer(f"{theirs}.final_layer_norm", f"{ours}.feed_forward_residual.norm")


def _attention(theirs: str, ours: str) -> Iterator[WeightMapping]:
    for third, name in enumerate("qkv"):
        yield from _reader(f"{theirs}.{name}_proj", f"{ours}.qkv", third)
    yield from _writer(f"{theirs}.out_proj", f"{ours}.output")
    yield from _writer(f"{theirs}_layer_norm", f"{ours}_residual.norm")


def _reader(theirs: str, ours: str, third: int | None = None) -> Iterator[WeightMapping]:
    """Weight and bias of a linear map whose input is the residual stream."""
    yield WeightMapping(f"{theirs}.weight", f"{ours}.weight", 1, third)
    yield WeightMapping(f"{theirs}.bias", f"{ours}.bias", None, third)


def _writer(theirs: str, ours: str) -> Iterator[WeightMapping]:
    """Weight and bias of a linear map or layer norm whose output is in the residual stream."""
    yield WeightMapping(f"{theirs}.weight", f"{ours}.weight", 0)
    yield WeightMapping(f"{theirs}.bias", f"{ours}.bias", 0)


@contextmanager
def without_progress_bars() -> Iterator[None]:
    """Disable the progress bars of transformers within the block."""
    enabled = is_progress_bar_enabled()
    disable_progress_bar()
    try:
        yield
    finally:
        if enabled:
            enable_progress_bar()
