"""Import of Marian models, such as those of OPUS-MT, from Hugging Face's format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.dataset.batch import pad
from dragoman.errors import UserError
from dragoman.export.huggingface.marian_config import recipe_from_config, unsupported
from dragoman.export.huggingface.marian_vocabulary import MarianVocabulary, read_vocabulary
from dragoman.export.huggingface.weights import import_weights
from dragoman.export.model_outputs import model_outputs, random_pairs
from dragoman.export.parity import TOLERANCE
from dragoman.model.build import build_model
from dragoman.model.transformer import Transformer
from dragoman.settings import Model
from dragoman.system.files import read_json
from dragoman.text.sentencepiece import SentencePieceTokenizer

_FILES = ("config.json", "model.safetensors", "source.spm", "target.spm", "vocab.json")

_SHARED_WEIGHTS = ("model.shared", "model.decoder.embed_tokens", "lm_head", "model.encoder.embed_tokens")
"""Names under which transformers may store a matrix that embeddings and output share; it stores the matrix once."""


def import_marian(directory: Path, output: Path) -> float:
    """Write a bundle that computes the same logits as a Marian model.

    Marian's decoder starts with another token, usually padding. Ours starts with bos, so each vocabulary gets bos as an
    additional token, with the vectors of the token that Marian starts with.

    Args:
        directory: What `save_pretrained` of the model and its tokenizer wrote, with the weights as safetensors.
        output: The bundle to write; an existing one is replaced.

    Returns:
        The largest difference of the logits for random sentences.

    Raises:
        UserError: The directory does not contain such a model, our model cannot express it, or the logits differ.
    """
    if missing := [name for name in _FILES if not (directory / name).is_file()]:
        raise UserError(
            f"{directory}: no {', '.join(missing)}; save the model and its tokenizer there with save_pretrained"
        )
    config = read_json(directory / "config.json")
    if reasons := unsupported(config):
        raise UserError("\n  ".join([f"{directory}: dragoman does not support this model:", *reasons]))
    vocabularies = _read_vocabularies(directory, config)
    bundle = _build_bundle(directory, config, vocabularies)
    difference = _largest_difference(directory, bundle, vocabularies)
    if not difference <= TOLERANCE:
        raise UserError(
            f"{directory}: the import failed its parity check: logits differ by up to {difference:.2g}; "
            f"{TOLERANCE:g} are allowed"
        )
    bundle.save(output)
    return difference


def _has_joint_vocabulary(directory: Path) -> bool:
    return not (directory / "target_vocab.json").is_file()


def _read_vocabularies(directory: Path, config: dict[str, Any]) -> tuple[MarianVocabulary, MarianVocabulary]:
    target_name = "vocab.json" if _has_joint_vocabulary(directory) else "target_vocab.json"
    return read_vocabulary(directory / "vocab.json", config), read_vocabulary(directory / target_name, config)


def _build_bundle(
    directory: Path, config: dict[str, Any], vocabularies: tuple[MarianVocabulary, MarianVocabulary]
) -> Bundle:
    source, target = (
        SentencePieceTokenizer((directory / f"{side}.spm").read_bytes(), each.vocabulary)
        for side, each in zip(("source", "target"), vocabularies, strict=True)
    )
    recipe = recipe_from_config(directory, config, joint=_has_joint_vocabulary(directory))
    model = build_model(
        recipe.model, len(source.vocabulary), len(target.vocabulary), source.vocabulary.pad, seed=0
    ).eval()
    weights = _read_weights(directory / "model.safetensors", recipe.model, vocabularies)
    _copy_weights(weights, model, directory)
    return Bundle(recipe, model, source, target)


def _read_weights(
    path: Path, settings: Model, vocabularies: tuple[MarianVocabulary, MarianVocabulary]
) -> dict[str, Tensor]:
    """The weights under our names, with the rows of embeddings and output in the order of our vocabularies."""
    try:
        stored = {name: tensor.float() for name, tensor in load_file(path).items()}
        weights = import_weights(_with_shared_weights(stored), settings)
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: damaged: {error}") from error
    except KeyError as error:
        raise UserError(f"{path}: damaged, or not a Marian model (it has no {error})") from error
    source_rows, target_rows = (each.rows for each in vocabularies)
    bias = stored.get("final_logits_bias", torch.zeros(1, len(weights["output.weight"])))  # (1, vocabulary)
    return {
        **weights,
        "source_embedding.weight": weights["source_embedding.weight"][source_rows],
        "target_embedding.weight": weights["target_embedding.weight"][target_rows],
        "output.weight": weights["output.weight"][target_rows],
        "output.bias": bias[0][target_rows],
    }


def _with_shared_weights(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights with both embeddings and the output under their own names."""
    weights = dict(stored)
    for name in ("model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        shared = next((f"{other}.weight" for other in _SHARED_WEIGHTS if f"{other}.weight" in stored), None)
        if shared is not None:
            weights.setdefault(f"{name}.weight", stored[shared])
    return weights


def _copy_weights(weights: dict[str, Tensor], model: Transformer, directory: Path) -> None:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if weights[name].shape != parameter.shape:
                raise UserError(f"{directory}: config.json and the vocabularies do not fit the weights ({name})")
            parameter.copy_(weights[name])


@torch.inference_mode()
def _largest_difference(
    directory: Path, bundle: Bundle, vocabularies: tuple[MarianVocabulary, MarianVocabulary]
) -> float:
    """The largest difference between the logits of transformers and of the bundle for random sentences."""
    try:
        from transformers import MarianMTModel
    except ImportError:
        raise UserError("import huggingface needs transformers: pip install '.[huggingface]'") from None
    original = MarianMTModel.from_pretrained(directory).eval().float()
    source_rows, target_rows = (each.rows for each in vocabularies)
    eos, bos = bundle.source.vocabulary.eos, bundle.target.vocabulary.bos
    sources, targets = random_pairs(bundle)
    largest = 0.0
    for source, target, expected in zip(
        sources, targets, model_outputs(bundle, sources, targets, "logits"), strict=True
    ):
        ids = source_rows[pad([source], first=None, last=eos, pad=0)]
        inputs = target_rows[pad([target], first=bos, last=None, pad=0)]
        logits = original(input_ids=ids, decoder_input_ids=inputs).logits[0][:, target_rows]  # (target, vocabulary)
        largest = max(largest, float((logits - torch.from_numpy(expected)).abs().max()))
    return largest
