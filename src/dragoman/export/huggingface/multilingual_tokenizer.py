"""The tokenizer of a bundle with several languages as that of M2M100 or NLLB-200 in transformers."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from transformers import M2M100Tokenizer, NllbTokenizer, PreTrainedTokenizerBase
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

from dragoman.export.huggingface.language_codes import m2m100_languages
from dragoman.text.multilingual import MultilingualTokenizer
from dragoman.text.sentencepiece import SentencePieceTokenizer
from dragoman.text.subword import SubwordTokenizer


def convert_multilingual(
    source: MultilingualTokenizer, target: MultilingualTokenizer, limit: int
) -> PreTrainedTokenizerBase:
    """The tokenizer with the same ids, for the direction of the bundle.

    Args:
        source: The source tokenizer, which is that of the target with another language.
        target: The target tokenizer.
        limit: Maximum number of tokens of a sentence.
    """
    if isinstance(source.tokenizer, SentencePieceTokenizer):
        return _convert_m2m100(source.tokenizer, (source.language, target.language), limit)
    assert isinstance(source.tokenizer, SubwordTokenizer), "imports have no other tokenizers"
    definition = source.tokenizer.to_json()["tokenizer"]
    return NllbTokenizer(
        vocab=definition["model"]["vocab"],
        merges=[tuple(merge) for merge in definition["model"]["merges"]],
        src_lang=source.tokens[source.language],
        tgt_lang=target.tokens[target.language],
        extra_special_tokens=list(source.tokens.values()),
        _spm_precompiled_charsmap=_characters_map(definition["normalizer"]),
        model_max_length=limit,
    )


def _characters_map(normalizer: dict[str, Any] | None) -> bytes | None:
    """How SentencePiece normalizes characters, if it is part of a normalizer of the library `tokenizers`."""
    parts = (normalizer or {}).get("normalizers", [normalizer])
    maps = [part["precompiled_charsmap"] for part in parts if part and part["type"] == "Precompiled"]
    return base64.b64decode(maps[0]) if maps else None


def _convert_m2m100(
    tokenizer: SentencePieceTokenizer, languages: tuple[str, str], limit: int
) -> PreTrainedTokenizerBase:
    """M2M100's tokenizer adds the tokens of all its languages after the pieces."""
    ids = tokenizer.vocabulary.ids
    family = next(name for name in FAIRSEQ_LANGUAGE_CODES if set(m2m100_languages(name).values()) <= ids.keys())
    count = min(ids[token] for token in m2m100_languages(family).values())
    with TemporaryDirectory() as directory:
        pieces, spm = Path(directory, "pieces.json"), Path(directory, "pieces.model")
        pieces.write_text(json.dumps({token: index for token, index in ids.items() if index < count}), encoding="utf-8")
        spm.write_bytes(tokenizer.model)
        names = dict(zip(("src_lang", "tgt_lang"), languages, strict=True))
        return M2M100Tokenizer(pieces, str(spm), language_codes=family, model_max_length=limit, **names)
