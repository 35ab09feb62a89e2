"""Hugging Face transformers: post-norm models as Marian, pre-norm models as Pegasus."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer as Backend
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
    MarianConfig,
    MarianMTModel,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PreTrainedTokenizerFast,
)
from transformers.utils.logging import disable_progress_bar

from dragoman.bundle import Bundle
from dragoman.dataset.batch import pad
from dragoman.export.huggingface.weights import export_weights
from dragoman.export.parity import Compared, Exported, Values
from dragoman.settings import Decoding
from dragoman.text.subword import SubwordTokenizer

COMPUTE_TYPES = ("float32",)
disable_progress_bar()  # one file is written and read in no time

_SIDES = ("encoder", "decoder")

_CARD = """---
language: [{source}, {target}]
pipeline_tag: translation
library_name: transformers
---

# {name}

A translator from {source} to {target}, trained with dragoman.

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer, model = AutoTokenizer.from_pretrained("."), AutoModelForSeq2SeqLM.from_pretrained(".")
inputs = tokenizer(["…"], return_tensors="pt")
print(tokenizer.batch_decode(model.generate(**inputs), skip_special_tokens=True))
```

Logits and greedy translations are those of dragoman: `parity.json` has what was compared. Beams are ranked by another
length penalty, length ** {length_penalty:g} instead of ((5 + length) / 6) ** {length_penalty:g}, so that some
translations of a beam search differ.
"""


def refusals(bundle: Bundle) -> list[str]:
    """What Marian (post-norm) or Pegasus (pre-norm) cannot express of this bundle."""
    model, text = bundle.recipe.model, bundle.recipe.text
    kind = "Marian" if model.norm == "post" else "Pegasus"
    final_norm = model.norm == "pre"
    reasons = {
        f"model.positions = {model.positions!r}: {kind} has sinusoidal": model.positions != "sinusoidal",
        f"model.final_norm = {str(model.final_norm).lower()}: {kind} has {'one' if final_norm else 'none'}": (
            model.final_norm != final_norm
        ),
        f"model.norm_epsilon = {model.norm_epsilon:g}: {kind} has 1e-05": model.norm_epsilon != 1e-5,
        f"model.activation = {model.activation!r}: {kind} has no gates": model.activation == "swiglu",
        f"text.tokenizer = {text.tokenizer!r}: only subwords that dragoman learnt fit its tokenizers": not isinstance(
            bundle.source, SubwordTokenizer
        ),
        "text.pre_tokenizer = 'whitespace': its decoders cannot join words and punctuation as ours": (
            isinstance(bundle.target, SubwordTokenizer) and bundle.target.pre_tokenizer == "whitespace"
        ),
        "text.joint = false: it has one tokenizer for both languages": (
            bundle.source.to_json() != bundle.target.to_json()
        ),
    }
    return [reason for reason, met in reasons.items() if met]


def write(bundle: Bundle, directory: Path, compute_type: str) -> None:
    """Write model, tokenizer, generation settings and model card into a directory that is there."""
    model = _build(bundle)
    model.generation_config = _generation(bundle)
    model.save_pretrained(directory)
    _tokenizer(bundle).save_pretrained(directory)
    (directory / "README.md").write_text(_card(bundle), encoding="utf-8")


def reopen(bundle: Bundle, directory: Path, compute_type: str) -> Exported:
    """What was written, opened by transformers."""
    return _Reopened(bundle, directory)


def _build(bundle: Bundle) -> MarianMTModel | PegasusForConditionalGeneration:
    settings = bundle.model.settings
    shared = _config(bundle)
    model: Any
    with torch.random.fork_rng(devices=[]):  # initial weights are drawn, and replaced
        if settings.norm == "post":
            sizes = {"decoder_vocab_size": len(bundle.target.vocabulary)}
            both = settings.tie == "all"
            tied = settings.tie != "none"
            model = MarianMTModel(
                MarianConfig(**shared, **sizes, share_encoder_decoder_embeddings=both, tie_word_embeddings=tied)
            )
        else:
            model = PegasusForConditionalGeneration(PegasusConfig(**shared, tie_word_embeddings=settings.tie == "all"))
    weights = export_weights(dict(bundle.model.named_parameters(remove_duplicate=False)), settings)
    loaded = model.load_state_dict({**weights, "final_logits_bias": _output_bias(bundle)}, strict=False)
    assert not loaded.unexpected_keys, loaded.unexpected_keys
    left = [name for name in loaded.missing_keys if "embed_positions" not in name and "shared" not in name]
    assert not left, left
    return model.eval()


def _config(bundle: Bundle) -> dict[str, Any]:
    settings, vocabulary = bundle.model.settings, bundle.target.vocabulary
    sizes = {"layers": (settings.encoder_layers, settings.decoder_layers)}
    sizes |= {"ffn_dim": (settings.d_ff,) * 2, "attention_heads": (settings.heads,) * 2}
    return {
        **{f"{side}_{name}": pair[index] for name, pair in sizes.items() for index, side in enumerate(_SIDES)},
        "vocab_size": len(bundle.source.vocabulary),
        "d_model": settings.d_model,
        "max_position_embeddings": settings.max_length,
        "activation_function": settings.activation,
        "scale_embedding": True,
        "dropout": settings.dropout,
        "attention_dropout": settings.attention_dropout,
        "activation_dropout": settings.activation_dropout,
        "pad_token_id": vocabulary.pad,
        "bos_token_id": vocabulary.bos,
        "eos_token_id": vocabulary.eos,
        "forced_eos_token_id": vocabulary.eos,
        "decoder_start_token_id": vocabulary.bos,
    }


def _output_bias(bundle: Bundle) -> Tensor:
    bias = bundle.model.output.bias
    return torch.zeros(1, len(bundle.target.vocabulary)) if bias is None else bias.detach()[None]


def _generation(bundle: Bundle) -> GenerationConfig:
    """Our search as far as theirs has it: greedy search is the same, beams are ranked by another length penalty."""
    vocabulary, decoding = bundle.target.vocabulary, bundle.recipe.decoding
    return GenerationConfig(
        bos_token_id=vocabulary.bos,
        eos_token_id=vocabulary.eos,
        pad_token_id=vocabulary.pad,
        decoder_start_token_id=vocabulary.bos,
        forced_eos_token_id=vocabulary.eos,
        suppress_tokens=[vocabulary.unk, vocabulary.pad, vocabulary.bos],
        num_beams=decoding.beam_size,
        length_penalty=decoding.length_penalty,
        max_length=min(decoding.max_length, bundle.model.settings.max_length),
    )


def _tokenizer(bundle: Bundle) -> PreTrainedTokenizerFast:
    vocabulary = bundle.source.vocabulary
    specials = vocabulary.specials
    backend = Backend.from_str(json.dumps(bundle.source.to_json()["tokenizer"]))
    backend.post_processor = TemplateProcessing(
        single=f"$A {specials.eos}",
        pair=f"$A {specials.eos} $B {specials.eos}",
        special_tokens=[(specials.eos, vocabulary.eos)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token=specials.unk,
        pad_token=specials.pad,
        bos_token=specials.bos,
        eos_token=specials.eos,
        model_max_length=bundle.model.settings.max_length,
        clean_up_tokenization_spaces=False,
        split_special_tokens=True,  # what is spelled like a special is text
        model_input_names=["input_ids", "attention_mask"],
    )


def _card(bundle: Bundle) -> str:
    recipe = bundle.recipe
    source, target = recipe.data.source_language, recipe.data.target_language
    return _CARD.format(name=recipe.name, source=source, target=target, length_penalty=recipe.decoding.length_penalty)


class _Reopened:
    """A bundle that transformers has opened."""

    compares: Compared = "logits"

    def __init__(self, bundle: Bundle, directory: Path) -> None:
        self.decoding = Decoding(beam_size=1)
        self._bundle = bundle
        self._model = AutoModelForSeq2SeqLM.from_pretrained(directory).eval()
        self._tokenizer = AutoTokenizer.from_pretrained(directory)

    @torch.inference_mode()
    def values(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Values]:
        """Logits after every target token."""
        source, target = self._bundle.source.vocabulary, self._bundle.target.vocabulary
        ids = pad(sources, first=None, last=source.eos, pad=source.pad)
        inputs = pad(targets, first=target.bos, last=None, pad=target.pad)
        logits = self._model(input_ids=ids, attention_mask=(ids != source.pad).long(), decoder_input_ids=inputs).logits
        return [row[: len(answer) + 1].numpy() for row, answer in zip(logits, targets, strict=True)]

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Greedy translations, sentences of one length together, as their limits are the same."""
        translated = [""] * len(texts)
        lengths = [len(ids) for ids in self._tokenizer(list(texts), truncation=True)["input_ids"]]
        order = np.argsort(lengths, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(np.array(lengths)[order])) + 1):
            results = self._generate([texts[index] for index in group], lengths[group[0]])
            for index, text in zip(group.tolist(), results, strict=True):
                translated[index] = text
        return translated

    def _generate(self, texts: Sequence[str], length: int) -> list[str]:
        limit = int(length * self.decoding.max_length_ratio) + self.decoding.max_length_offset
        most = min(limit, self.decoding.max_length, self._bundle.model.settings.max_length)
        inputs = self._tokenizer(list(texts), return_tensors="pt", truncation=True)
        generated = self._model.generate(**inputs, num_beams=1, length_penalty=1.0, max_length=most + 1)
        return [" ".join(text.split()) for text in self._tokenizer.batch_decode(generated, skip_special_tokens=True)]
