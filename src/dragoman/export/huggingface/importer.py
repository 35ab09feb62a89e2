"""Import of models in Hugging Face's format: Marian, M2M100 and NLLB-200."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.dataset.batch import pad
from dragoman.errors import UserError
from dragoman.export.huggingface.checkpoint import (
    ImportedLanguages,
    OriginalModel,
    import_weights,
    require_files,
    weight_files,
)
from dragoman.export.huggingface.models import open_m2m100, open_marian
from dragoman.export.parity import TOLERANCE, model_outputs, random_pairs
from dragoman.model.build import build_model
from dragoman.model.transformer import Transformer
from dragoman.system.files import is_unused, read_json
from dragoman.system.memory import is_out_of_memory
from dragoman.system.uninitialized import WithoutInitialWeights

MODEL_TYPES = {"marian": open_marian, "m2m_100": open_m2m100}
"""The models that can be imported, by the ``model_type`` in config.json; NLLB-200 has that of M2M100."""

_SHARED_WEIGHTS = ("model.shared", "model.decoder.embed_tokens", "lm_head", "model.encoder.embed_tokens")
"""Names under which transformers may store a matrix that embeddings and output share; it stores the matrix once."""


def import_huggingface(directory: Path, output: Path, languages: ImportedLanguages | None = None) -> float:
    """Write a bundle that computes the same logits as a model of Hugging Face.

    Args:
        directory: What `save_pretrained` of the model and its tokenizer wrote, with the weights as safetensors.
        output: The bundle to write.
        languages: What the user says about the languages of the model.

    Returns:
        The largest difference of the logits for random sentences.

    Raises:
        UserError: The directory does not contain such a model, our model cannot express it, the logits differ, or
            `output` is neither new nor an empty directory.
    """
    if not is_unused(output):
        raise UserError(f"{output}: already exists, and is not an empty directory; choose another one")
    require_files(directory, ("config.json", *weight_files(directory)))
    config = read_json(directory / "config.json")
    if (kind := config.get("model_type")) not in list(MODEL_TYPES):  # a list, because the value may be a list, too
        raise UserError(f"{directory}: model_type = {kind!r}: must be {' or '.join(map(repr, MODEL_TYPES))}")
    try:
        original = MODEL_TYPES[kind](directory, config, languages or ImportedLanguages())
    except (UserError, ImportError):
        raise
    except Exception as error:  # values of a wrong kind fail in many ways
        if is_out_of_memory(error):
            raise
        raise UserError(f"{directory}: config.json or the tokenizer is damaged ({error!r})") from error
    bundle = _build_bundle(original)
    difference = _largest_difference(original, bundle)
    if not difference <= TOLERANCE:
        raise UserError(
            f"{directory}: the import failed its parity check: logits differ by up to {difference:.2g}; "
            f"{TOLERANCE:g} are allowed"
        )
    bundle.save(output)
    return difference


def _build_bundle(original: OriginalModel) -> Bundle:
    recipe, source, target = original.recipe, original.source, original.target
    for side, tokenizer in (("source", source), ("target", target)):
        try:
            tokenizer.encode(["a"])  # a damaged tokenizer is refused here, because the logits do not need it
            "".join(tokenizer.vocabulary.tokens).encode()
        except (UserError, UnicodeEncodeError) as error:
            raise UserError(f"{original.directory}: {side}: {error}") from None
    sizes = len(source.vocabulary), len(target.vocabulary)
    with WithoutInitialWeights():
        model = build_model(recipe.model, *sizes, source.vocabulary.pad, seed=0).eval()
    _copy_weights(_read_weights(original), model, original.directory)
    return Bundle(recipe, model, source, target)


def _read_weights(original: OriginalModel) -> dict[str, Tensor]:
    """The weights under our names, with the rows of embeddings and output in the order of our vocabularies."""
    files = [original.directory / name for name in weight_files(original.directory)]
    path = files[0] if len(files) == 1 else original.directory
    source_rows, target_rows = original.source_rows, original.target_rows
    try:
        stored = {name: tensor.float() for file in files for name, tensor in load_file(file).items()}
        weights = import_weights(_with_shared_weights(stored), original.recipe.model)
        bias = stored.get("final_logits_bias", torch.zeros(1, len(weights["output.weight"])))  # (1, vocabulary)
        return {
            **weights,
            "source_embedding.weight": weights["source_embedding.weight"][source_rows],
            "target_embedding.weight": weights["target_embedding.weight"][target_rows],
            "output.weight": weights["output.weight"][target_rows],
            "output.bias": bias[0][target_rows],
        }
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: damaged: {error}") from error
    except KeyError as error:
        raise UserError(f"{path}: damaged, or a model of another type (it has no {error})") from error
    except (RuntimeError, IndexError, TypeError) as error:
        raise UserError(f"{path}: the weights do not fit config.json and the vocabulary: {error}") from error


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
            if not weights[name].isfinite().all():
                raise UserError(
                    f"{directory}: damaged: {name} contains NaN or infinite values; download the model again"
                )
            parameter.copy_(weights[name])


@torch.inference_mode()
def _largest_difference(original: OriginalModel, bundle: Bundle) -> float:
    """The largest difference between the logits of transformers and of the bundle for random sentences."""
    source_rows, target_rows = original.source_rows, original.target_rows
    eos, bos = bundle.source.vocabulary.eos, bundle.target.vocabulary.bos
    sources, targets = random_pairs(bundle)
    batches = [
        {
            "input_ids": source_rows[pad([source], first=None, last=eos, pad=0)],
            "decoder_input_ids": target_rows[pad([target], first=bos, last=None, pad=0)],
        }
        for source, target in zip(sources, targets, strict=True)
    ]
    expected = model_outputs(bundle, sources, targets, "logits")
    found = _logits_of_transformers(original.directory, batches)
    differences = [
        (one[:, target_rows] - torch.from_numpy(other)).abs().max() for one, other in zip(found, expected, strict=True)
    ]
    return float(torch.stack(differences).max())  # NaN if one is NaN


def _logits_of_transformers(directory: Path, batches: Sequence[Mapping[str, Tensor]]) -> list[Tensor]:
    """The logits of batches of one pair, (target, vocabulary) each.

    Raises:
        UserError: transformers is not installed, or cannot use the model.
    """
    try:
        from transformers import AutoModelForSeq2SeqLM

        from dragoman.export.huggingface.checkpoint import without_progress_bars
    except ImportError:
        raise UserError("import huggingface needs transformers: pip install '.[huggingface]'") from None
    try:
        with without_progress_bars():
            model = AutoModelForSeq2SeqLM.from_pretrained(directory, use_safetensors=True).eval().float()
        return [model(**batch).logits[0] for batch in batches]
    except Exception as error:  # wrong values fail in many places, with errors of many types
        if is_out_of_memory(error):
            raise
        problem = "transformers cannot use this model; does config.json fit the weights?"
        raise UserError(f"{directory}: {problem} ({error})") from error
