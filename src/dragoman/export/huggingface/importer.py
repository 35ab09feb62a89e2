"""Marian models of Hugging Face, such as OPUS-MT, as bundles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.dataset.batch import pad
from dragoman.errors import UserError
from dragoman.export.huggingface.weights import import_weights
from dragoman.export.parity import TOLERANCE, values_of
from dragoman.model.build import build_model
from dragoman.recipe import build_recipe
from dragoman.settings import Model, Specials
from dragoman.system.files import read_json
from dragoman.text.sentencepiece import SentencePieceTokenizer
from dragoman.text.vocabulary import Vocabulary

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "silu", "swish": "silu"}
"""Their names, and ours."""

_FILES = ("config.json", "model.safetensors", "source.spm", "target.spm", "vocab.json")
_SAMPLES = 16


def import_marian(directory: Path, output: Path) -> float:
    """Write a bundle that computes the same logits as a Marian model.

    Our decoder starts from a token of its own. Marian's starts from another, usually padding; so each vocabulary gets
    one more token, whose vector is that one's.

    Args:
        directory: What `save_pretrained` of model and tokenizer wrote, weights as safetensors.
        output: The bundle, replaced if there is one.

    Returns:
        The largest difference of any logit of random sentences.

    Raises:
        UserError: It is not such a model, our model cannot express it, or the logits are not the same.
    """
    if missing := [name for name in _FILES if not (directory / name).is_file()]:
        raise UserError(f"{directory}: no {', '.join(missing)}; save_pretrained of model and tokenizer writes them")
    config = read_json(directory / "config.json")
    if reasons := _refusals(config):
        raise UserError("\n  ".join([f"{directory}: dragoman cannot express this model:", *reasons]))
    bundle, kept = _build(directory, config)
    difference = _largest_difference(directory, bundle, kept)
    if not difference <= TOLERANCE:
        raise UserError(f"{directory}: the import failed its parity check: logits differ by up to {difference:.2g}")
    bundle.save(output)
    return difference


def _refusals(config: dict[str, Any]) -> list[str]:
    """Settings of a Marian model that ours cannot express, all of them."""
    wanted = {
        "model_type": ("marian",),
        "scale_embedding": (True,),
        "activation_function": tuple(ACTIVATIONS),
        "encoder_ffn_dim": (config.get("decoder_ffn_dim"),),
        "encoder_attention_heads": (config.get("decoder_attention_heads"),),
        "normalize_before": (False, None),
        "normalize_embedding": (False, None),
        "add_final_layer_norm": (False, None),
        "static_position_embeddings": (True, None),
    }
    return [
        f"{key} = {config.get(key)!r}: must be {' or '.join(repr(value) for value in values if value is not None)}"
        for key, values in wanted.items()
        if config.get(key) not in values
    ]


def _build(directory: Path, config: dict[str, Any]) -> tuple[Bundle, tuple[Tensor, Tensor]]:
    """The bundle, and for each vocabulary which of their rows each of our tokens has."""
    start = config["decoder_start_token_id"]
    shared = not (directory / "target_vocab.json").is_file()
    tokenizers, rows = [], []
    for side, name in (("source", "vocab"), ("target", "vocab" if shared else "target_vocab")):
        vocabulary, order = _vocabulary(read_json(directory / f"{name}.json"), config, directory)
        tokenizers.append(SentencePieceTokenizer((directory / f"{side}.spm").read_bytes(), vocabulary))
        rows.append(torch.tensor([*order[:2], start, *order[2:]]))
    recipe = build_recipe(_recipe(directory, config, shared))
    source, target = tokenizers
    sizes = len(source.vocabulary), len(target.vocabulary)
    model = build_model(recipe.model, *sizes, source.vocabulary.pad, seed=0)
    kept = (rows[0], rows[1])
    weights = _weights(directory, config, recipe.model, kept)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if weights[parameter_name].shape != parameter.shape:
                raise UserError(f"{directory}: config.json and vocabularies do not fit the weights ({parameter_name})")
            parameter.copy_(weights[parameter_name])
    return Bundle(recipe, model.eval(), source, target), kept


def _vocabulary(ids: dict[str, Any], config: dict[str, Any], directory: Path) -> tuple[Vocabulary, list[int]]:
    """Our vocabulary, unk, pad, bos and eos first, and the ids that its tokens but bos have there."""
    tokens = sorted(ids, key=lambda token: int(ids[token]))
    if [int(ids[token]) for token in tokens] != list(range(len(tokens))) or "<unk>" not in ids:
        raise UserError(f"{directory}: its vocabulary must have the ids 0 to n, and <unk>")
    pad_token, eos = tokens[config["pad_token_id"]], tokens[config["eos_token_id"]]
    bos = next(spelling for spelling in ("<s>", "<bos>", "<start of sentence>") if spelling not in ids)
    specials = Specials(unk="<unk>", pad=pad_token, bos=bos, eos=eos)
    rest = [token for token in tokens if token not in ("<unk>", pad_token, eos)]
    order = [ids["<unk>"], ids[pad_token], ids[eos], *(ids[token] for token in rest)]
    return Vocabulary(["<unk>", pad_token, bos, eos, *rest], specials), order


def _recipe(directory: Path, config: dict[str, Any], shared: bool) -> dict[str, Any]:
    path = directory / "tokenizer_config.json"
    languages = read_json(path) if path.is_file() else {}
    longest = int(config["max_position_embeddings"])
    tied = config.get("tie_word_embeddings", True)
    one = config.get("share_encoder_decoder_embeddings", True)
    return {
        "name": re.sub(r"[^A-Za-z0-9._-]+", "-", directory.resolve().name).lstrip("-._") or "imported",
        "data": {
            "source_language": languages.get("source_lang") or "und",
            "target_language": languages.get("target_lang") or "und",
            "train": [f"imported from {directory.resolve().name}"],
            "max_tokens": min(128, longest - 1),
        },
        "text": {"tokenizer": "unigram", "joint": shared},
        "model": {
            "d_model": config["d_model"],
            "heads": config["encoder_attention_heads"],
            "d_ff": config["encoder_ffn_dim"],
            "encoder_layers": config["encoder_layers"],
            "decoder_layers": config["decoder_layers"],
            "norm": "post",
            "final_norm": False,
            "tie": "all" if tied and one and shared else "target" if tied else "none",
            "output_bias": True,
            "activation": ACTIVATIONS[config["activation_function"]],
            "max_length": longest,
        },
        "training": {"steps": 1},  # those of the original are not known
        "decoding": {"beam_size": config.get("num_beams") or 1, "max_length": min(256, longest)},
    }


def _weights(
    directory: Path, config: dict[str, Any], settings: Model, kept: tuple[Tensor, Tensor]
) -> dict[str, Tensor]:
    """Their weights under our names, rows in the order of our vocabularies."""
    path = directory / "model.safetensors"
    try:
        theirs = {name: tensor.float() for name, tensor in load_file(path).items()}
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: damaged: {error}") from error
    for name in ("model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        for other in ("model.shared", "model.decoder.embed_tokens", "lm_head", "model.encoder.embed_tokens"):
            if f"{name}.weight" not in theirs and f"{other}.weight" in theirs:  # stored once, under any of its names
                theirs[f"{name}.weight"] = theirs[f"{other}.weight"]
    try:
        weights = import_weights(theirs, settings)
    except KeyError as error:
        raise UserError(f"{path}: damaged or of another model (it has no {error})") from error
    source, target = kept
    bias = theirs.get("final_logits_bias", torch.zeros(1, len(weights["output.weight"])))
    return {
        **weights,
        "source_embedding.weight": weights["source_embedding.weight"][source],
        "target_embedding.weight": weights["target_embedding.weight"][target],
        "output.weight": weights["output.weight"][target],
        "output.bias": bias[0][target],
    }


@torch.inference_mode()
def _largest_difference(directory: Path, bundle: Bundle, kept: tuple[Tensor, Tensor]) -> float:
    """Of the logits that transformers and the bundle compute of random sentences."""
    try:
        from transformers import MarianMTModel
    except ImportError:
        raise UserError("import huggingface needs transformers: pip install dragoman[huggingface]") from None
    theirs = MarianMTModel.from_pretrained(directory).eval().float()
    generator = np.random.default_rng(1)
    sizes = len(bundle.source.vocabulary), len(bundle.target.vocabulary)
    sources, targets = (_random_sentences(size, bundle, generator) for size in sizes)
    largest = 0.0
    ours = values_of(bundle, sources, targets, "logits")
    for source, target, logits in zip(sources, targets, ours, strict=True):
        ids = pad([source], first=None, last=bundle.source.vocabulary.eos, pad=0)
        inputs = pad([target], first=bundle.target.vocabulary.bos, last=None, pad=0)
        found = theirs(input_ids=kept[0][ids], decoder_input_ids=kept[1][inputs]).logits[0]
        largest = max(largest, float((found[:, kept[1]] - torch.from_numpy(logits)).abs().max()))
    return largest


def _random_sentences(size: int, bundle: Bundle, generator: np.random.Generator) -> Sequence[list[int]]:
    longest = min(20, bundle.model.settings.max_length - 1)
    return [generator.integers(4, size, 1 + index % longest).tolist() for index in range(_SAMPLES)]
