"""Export to Hugging Face transformers: as Marian (post-norm), Pegasus (pre-norm), or M2M100 (fairseq positions)."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PreTrainedModel,
)

from dragoman.bundle import Bundle, languages_of
from dragoman.dataset.batch import pad
from dragoman.export.huggingface.checkpoint import export_weights, without_progress_bars
from dragoman.export.huggingface.tokenizers import convert_tokenizer
from dragoman.export.protocol import (
    ExportedModel,
    OutputKind,
    Outputs,
    describe_masking,
    list_other_settings,
    write_readme,
)
from dragoman.search.hypothesis import max_target_length
from dragoman.settings import Decoding
from dragoman.settings.model import SINUSOIDS
from dragoman.text.multilingual import language_tokens, without_language
from dragoman.text.normalization import collapse_spaces
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
        "target_tokens": language_tokens(bundle.source),
        "codes": languages_of(bundle) or bundle.recipe.data.languages,
        "languages": [side.vocabulary.tokens[side.language_ids[0]] for side in sides if bundle.target.language_ids],
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
    multilingual = bool(bundle.target.language_ids)
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


BATCH_SIZE = 32


class HuggingFaceModel:
    """A model and its tokenizer, see `ExportedModel`.

    The search is greedy, because beams are ranked by another formula. The generation config limits its length; no limit
    depends on the length of the source.
    """

    output_kind: OutputKind = "logits"

    def __init__(self, bundle: Bundle, directory: Path) -> None:
        self._bundle = bundle
        with without_progress_bars():
            self._model = AutoModelForSeq2SeqLM.from_pretrained(directory).eval()
        self._tokenizer = AutoTokenizer.from_pretrained(directory)
        config = self._model.generation_config
        limit = config.max_length - 1  # without bos
        self.decoding = Decoding(
            beam_size=1,
            max_length=limit,
            max_length_offset=limit,
            min_length=min(config.min_new_tokens or 0, limit - 1),
            no_repeat_ngram=config.no_repeat_ngram_size or 0,
        )

    @torch.inference_mode()
    def outputs(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Outputs]:
        """Logits after every target token."""
        source, target = self._bundle.source.vocabulary, self._bundle.target.vocabulary
        ids = pad(sources, first=None, last=source.eos, pad=source.pad)
        inputs = pad(targets, first=target.bos, last=None, pad=target.pad)
        logits = self._model(input_ids=ids, attention_mask=(ids != source.pad).long(), decoder_input_ids=inputs).logits
        return [row[: len(tokens) + 1].numpy() for row, tokens in zip(logits, targets, strict=True)]

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Greedy translations, in batches of similar length."""
        translations = [""] * len(texts)
        order = np.argsort([len(text) for text in texts], kind="stable").tolist()
        for start in range(0, len(order), BATCH_SIZE):
            batch = order[start : start + BATCH_SIZE]
            for index, text in zip(batch, self._generate([texts[index] for index in batch]), strict=True):
                translations[index] = text
        return translations

    def _generate(self, texts: list[str]) -> list[str]:
        inputs = self._tokenizer(texts, return_tensors="pt", padding=True, truncation=True)
        generated = self._model.generate(**inputs, num_beams=1, length_penalty=1.0)
        generated = generated[:, 1 + len(self._bundle.target.language_ids) :]  # without the tokens that are given
        # like dragoman's translations, without line breaks and control characters, which weak models produce as bytes
        return [collapse_spaces(text) for text in self._tokenizer.batch_decode(generated, skip_special_tokens=True)]


DECODING_SETTINGS = ("beam_size", "length_penalty", "max_length", "min_length", "no_repeat_ngram")
"""The decoding settings in the generation config. Its length penalty is a different formula, length^alpha."""


def convert_model(bundle: Bundle) -> PreTrainedModel:
    """The model with the bundle's weights and generation config, in evaluation mode."""
    settings = bundle.model.settings
    model = _initialize(bundle)
    weights = export_weights(dict(bundle.model.named_parameters(remove_duplicate=False)), settings)
    bias = {} if settings.positions == "fairseq" else {"final_logits_bias": _output_bias(bundle)}
    loaded = model.load_state_dict({**weights, **bias}, strict=False)
    assert not loaded.unexpected_keys, loaded.unexpected_keys
    missing = [name for name in loaded.missing_keys if "embed_positions" not in name and "shared" not in name]
    assert not missing, missing
    model.generation_config = _generation_config(bundle)
    return model.eval()


def _initialize(bundle: Bundle) -> Any:
    """A model of the right type and size, with random weights."""
    tie, config = bundle.model.settings.tie, _config(bundle)
    with torch.random.fork_rng(devices=[]):
        if bundle.model.settings.positions == "fairseq":
            return M2M100ForConditionalGeneration(M2M100Config(**config, tie_word_embeddings=tie == "all"))
        if bundle.model.settings.norm == "pre":
            return PegasusForConditionalGeneration(PegasusConfig(**config, tie_word_embeddings=tie == "all"))
        config["decoder_vocab_size"] = len(bundle.target.vocabulary)
        config["share_encoder_decoder_embeddings"] = tie == "all"
        config["tie_word_embeddings"] = tie != "none"
        return MarianMTModel(MarianConfig(**config))


def _config(bundle: Bundle) -> dict[str, Any]:
    """The settings that Marian, Pegasus and M2M100 have in common."""
    settings, vocabulary = bundle.model.settings, bundle.target.vocabulary
    return {
        "vocab_size": len(bundle.source.vocabulary),
        "d_model": settings.d_model,
        "encoder_layers": settings.encoder_layers,
        "decoder_layers": settings.decoder_layers,
        "encoder_ffn_dim": settings.d_ff,
        "decoder_ffn_dim": settings.d_ff,
        "encoder_attention_heads": settings.heads,
        "decoder_attention_heads": settings.heads,
        "max_position_embeddings": settings.max_length,
        "activation_function": settings.activation,
        "scale_embedding": True,
        "dropout": settings.dropout,
        "attention_dropout": settings.attention_dropout,
        "activation_dropout": settings.activation_dropout,
        "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0,
        "pad_token_id": vocabulary.pad,
        "bos_token_id": vocabulary.bos,
        "eos_token_id": vocabulary.eos,
        "forced_eos_token_id": vocabulary.eos,
        "decoder_start_token_id": vocabulary.bos,
    }


def max_translation_length(bundle: Bundle) -> int:
    """Most tokens of the translation of the longest source, eos included."""
    limit = bundle.model.settings.max_length
    return max_target_length(limit, bundle.recipe.decoding, limit)


def _output_bias(bundle: Bundle) -> Tensor:
    bias = bundle.model.output.bias
    return torch.zeros(1, len(bundle.target.vocabulary)) if bias is None else bias.detach()[None]


def _generation_config(bundle: Bundle) -> GenerationConfig:
    """The decoding settings of the recipe that a generation config can express."""
    vocabulary, decoding = bundle.target.vocabulary, bundle.recipe.decoding
    return GenerationConfig(
        bos_token_id=vocabulary.bos,
        eos_token_id=vocabulary.eos,
        pad_token_id=vocabulary.pad,
        decoder_start_token_id=vocabulary.bos,
        forced_bos_token_id=next(iter(bundle.target.language_ids), None),
        forced_eos_token_id=vocabulary.eos,
        suppress_tokens=bundle.target.forbidden_ids,
        num_beams=decoding.beam_size,
        length_penalty=decoding.length_penalty if decoding.beam_size > 1 else None,  # refused for greedy search
        max_length=max_translation_length(bundle) + 1,  # transformers counts bos
        min_new_tokens=decoding.min_length or None,
        no_repeat_ngram_size=decoding.no_repeat_ngram or None,
    )
