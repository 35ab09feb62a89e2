"""Export to Hugging Face transformers: as Marian (post-norm), Pegasus (pre-norm), or M2M100 (fairseq positions)."""

from __future__ import annotations

import shutil
from pathlib import Path

from safetensors import SafetensorError

from dragoman.bundle import Bundle
from dragoman.export.decoding import list_other_settings
from dragoman.export.huggingface.convert import DECODING_SETTINGS, convert_model, max_translation_length
from dragoman.export.huggingface.exported_model import HuggingFaceModel
from dragoman.export.huggingface.progress_bars import without_progress_bars
from dragoman.export.huggingface.tokenizer import convert_tokenizer
from dragoman.export.masking import describe_masking
from dragoman.export.protocol import ExportedModel
from dragoman.export.readme import write_readme
from dragoman.settings.model import SINUSOIDS
from dragoman.text.multilingual import language_ids, without_language
from dragoman.text.subword import SubwordTokenizer

COMPUTE_TYPES = ("float32",)

README = Path(__file__).with_name("README.md.j2")


def unsupported(bundle: Bundle) -> list[str]:
    """What Marian, Pegasus or M2M100 cannot express, see `Exporter.unsupported`."""
    return _unsupported_model(bundle) + _unsupported_tokenizers(bundle)


def write(bundle: Bundle, directory: Path, compute_type: str) -> None:
    """Write model, tokenizer, generation config and model card into an existing directory."""
    with without_progress_bars():
        try:
            convert_model(bundle).save_pretrained(directory)
        except SafetensorError as error:  # if the disk is full
            raise OSError(str(error)) from error
        for path in directory.glob("*.safetensors"):  # the library creates files that only their owner can read
            shutil.copymode(directory / "config.json", path)
        convert_tokenizer(bundle).save_pretrained(directory)
    decoding, sides = bundle.recipe.decoding, (bundle.source, bundle.target)
    values = {
        "name": bundle.recipe.name,
        "data": bundle.recipe.data,
        "decoding": decoding,
        "max_length": max_translation_length(bundle),
        "other_settings": list_other_settings(decoding, DECODING_SETTINGS),
        "placeholders": describe_masking(bundle),
        "languages": [side.vocabulary.tokens[language_ids(side)[0]] for side in sides if language_ids(side)],
    }
    write_readme(directory, README, values)


def load(bundle: Bundle, directory: Path, compute_type: str) -> ExportedModel:
    """Load what `write` wrote with transformers."""
    return HuggingFaceModel(bundle, directory)


def _unsupported_model(bundle: Bundle) -> list[str]:
    model = bundle.recipe.model
    kind, final_norm = ("Pegasus", True) if model.norm == "pre" else ("Marian", False)
    if multilingual := model.positions == "fairseq":
        kind, final_norm = "M2M100", True
    reasons = {
        f"model.positions = {model.positions!r}: {kind} has only sinusoidal positions; train with "
        "--set model.positions=sinusoidal": model.positions not in SINUSOIDS,
        "model.norm = 'post': M2M100 has pre-norm": multilingual and model.norm == "post",
        "model.output_bias = true: M2M100 has none": multilingual and model.output_bias,
        f"model.final_norm = {str(model.final_norm).lower()}: {kind} has {'one' if final_norm else 'none'}": (
            model.final_norm != final_norm
        ),
        f"model.norm_epsilon = {model.norm_epsilon:g}: {kind} has 1e-05": model.norm_epsilon != 1e-5,
        f"model.activation = {model.activation!r}: {kind} has no gated activations": model.activation == "swiglu",
    }
    return [reason for reason, applies in reasons.items() if applies]


def _unsupported_tokenizers(bundle: Bundle) -> list[str]:
    source, target = without_language(bundle.source), without_language(bundle.target)
    multilingual = source is not bundle.source
    splits_punctuation = isinstance(target, SubwordTokenizer) and target.pre_tokenizer == "whitespace"
    reasons = {
        f"text.tokenizer = {bundle.recipe.text.tokenizer!r}: only subword tokenizers trained by dragoman can be "
        "converted": not multilingual and not isinstance(source, SubwordTokenizer),
        "text.pre_tokenizer = 'whitespace': its decoder cannot join words and punctuation": splits_punctuation,
        "text.joint = false: a model has one tokenizer for both languages; train with --set text.joint=true": (
            source.to_json() != target.to_json()
        ),
    }
    return [reason for reason, applies in reasons.items() if applies]
