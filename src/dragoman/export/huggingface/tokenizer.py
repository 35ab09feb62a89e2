"""A bundle's tokenizer as one of transformers."""

from __future__ import annotations

import json

from tokenizers import Tokenizer as Backend
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from dragoman.bundle import Bundle
from dragoman.export.huggingface.multilingual_tokenizer import convert_multilingual
from dragoman.text.multilingual import MultilingualTokenizer


def convert_tokenizer(bundle: Bundle) -> PreTrainedTokenizerBase:
    """The tokenizer of both languages; it appends eos to each sentence."""
    source, target = bundle.source, bundle.target
    if isinstance(source, MultilingualTokenizer) and isinstance(target, MultilingualTokenizer):
        return convert_multilingual(source, target, bundle.model.settings.max_length)
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
        split_special_tokens=True,  # the spelling of a special token in a text is plain text
        model_input_names=["input_ids", "attention_mask"],
    )
