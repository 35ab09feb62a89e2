"""Tokenizers of Hugging Face, exported and imported, and their codes of languages."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import regex
from tokenizers import Tokenizer as Backend
from tokenizers.processors import TemplateProcessing
from transformers import M2M100Tokenizer, NllbTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.export.huggingface.checkpoint import require_files
from dragoman.languages.codes import primary_language
from dragoman.settings import Specials
from dragoman.system.files import read_json
from dragoman.text.multilingual import MultilingualTokenizer, without_language
from dragoman.text.sentencepiece import SentencePieceTokenizer
from dragoman.text.subword import SubwordTokenizer, load_subwords
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.vocabulary import Vocabulary


def convert_tokenizer(bundle: Bundle) -> PreTrainedTokenizerBase:
    """The tokenizer of both languages; it appends eos to each sentence."""
    source, target = bundle.source, bundle.target
    if isinstance(source, MultilingualTokenizer) and isinstance(target, MultilingualTokenizer) and target.language:
        return convert_multilingual(source, target, bundle.model.settings.max_length)
    vocabulary = bundle.source.vocabulary
    specials = vocabulary.specials
    backend = Backend.from_str(json.dumps(without_language(source).to_json()["tokenizer"]))
    first = "".join(f"{vocabulary.tokens[index]} " for index in source.language_ids)
    backend.post_processor = TemplateProcessing(
        single=f"{first}$A {specials.eos}",
        pair=f"{first}$A {specials.eos} $B {specials.eos}",
        special_tokens=[(vocabulary.tokens[index], index) for index in (*source.language_ids, vocabulary.eos)],
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


def convert_multilingual(
    source: MultilingualTokenizer, target: MultilingualTokenizer, limit: int
) -> PreTrainedTokenizerBase:
    """The tokenizer with the same ids, for the direction of the bundle.

    Args:
        source: The source tokenizer, which is that of the target with another language.
        target: The target tokenizer.
        limit: Maximum number of tokens of a sentence.
    """
    assert source.language, "imports put the token of the language itself in front of a sentence"
    assert target.language, "see above"
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


SPM_FILE = "sentencepiece.bpe.model"


@dataclass(frozen=True)
class OriginalTokenizer:
    """What the files of a tokenizer contain.

    Attributes:
        tokens: All tokens in the order of their ids.
        languages: Those of languages, by code.
        definition: The tokenizer of NLLB-200 in the form of the library `tokenizers`; None for M2M100.
        spm: The SentencePiece model of M2M100; empty for NLLB-200.
    """

    tokens: list[str]
    languages: dict[str, str]
    definition: dict[str, Any] | None = None
    spm: bytes = b""

    @property
    def pieces(self) -> list[str]:
        """The tokens that text is split into, which are neither special nor those of languages."""
        others = {*self.tokens[:4], *self.languages.values()}
        return [token for token in self.tokens if token not in others]

    def reduce(self, kept: Set[str], specials: Specials) -> Tokenizer:
        """The tokenizer of a bundle with some of the tokens, in the same order.

        Raises:
            UserError: The file of the tokenizer is broken.
        """
        tokens = [token for token in self.tokens if token in kept]
        if self.definition is None:
            return SentencePieceTokenizer(self.spm, Vocabulary(tokens, specials))
        vocabulary = {token: index for index, token in enumerate(tokens)}
        merges = [merge for merge in self.definition["model"]["merges"] if {*merge, "".join(merge)} <= kept]
        model = {**self.definition["model"], "vocab": vocabulary, "merges": merges}
        definition = {**self.definition, "model": model, "added_tokens": [], "post_processor": None}
        stored = {"type": "bpe", "pre_tokenizer": "metaspace", "specials": specials.model_dump()}
        return load_subwords({**stored, "tokenizer": definition})


def read_tokenizer(directory: Path, size: int) -> OriginalTokenizer:
    """Read the tokenizer of a model: tokenizer.json of NLLB-200, or vocab.json and a SentencePiece model of M2M100.

    Args:
        directory: The model's directory.
        size: Number of rows of its embeddings. Rows without a token get names.

    Raises:
        UserError: A file is missing or broken, or is in a form that dragoman does not read.
    """
    path = directory / "tokenizer_config.json"
    config = read_json(path) if path.is_file() else {}
    if config.get("legacy_behaviour"):
        raise UserError(f"{path}: legacy_behaviour must be false: the source language comes first")
    if (directory / "tokenizer.json").is_file():
        definition = _read_definition(directory / "tokenizer.json")
        added = {token["content"]: token["id"] for token in definition.get("added_tokens", ())}
        ids = {**definition["model"]["vocab"], **added}
        return OriginalTokenizer(_in_order(ids, size, directory), nllb_languages(added), definition)
    require_files(directory, ("vocab.json", SPM_FILE))
    ids = read_json(directory / "vocab.json")
    languages = m2m100_languages(config.get("language_codes", "m2m100"))
    ids |= {token: len(ids) + index for index, token in enumerate(languages.values())}
    return OriginalTokenizer(_in_order(ids, size, directory), languages, spm=(directory / SPM_FILE).read_bytes())


def _read_definition(path: Path) -> dict[str, Any]:
    definition = read_json(path)
    model = definition.get("model", {})
    if model.get("type") != "BPE":
        raise UserError(f"{path}: must contain a BPE tokenizer, not {model.get('type')}")
    merges = [
        merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]
    ]  # older files: strings
    return {**definition, "model": {**model, "merges": merges}}


def _in_order(ids: dict[str, int], size: int, directory: Path) -> list[str]:
    if not all(isinstance(index, int) for index in ids.values()):
        raise UserError(f"{directory}: the ids of the tokenizer must be numbers")
    tokens = sorted(ids, key=ids.__getitem__)
    if [ids[token] for token in tokens] != list(range(len(tokens))) or len(tokens) > size:
        raise UserError(f"{directory}: the ids of the tokenizer must be 0 to n, and at most vocab_size = {size}")
    return [*tokens, *(f"madeupword{index:04}" for index in range(size - len(tokens)))]


_NLLB_CODE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")  # such as hin_Deva: ISO 639-3 and ISO 15924

_USUAL_CODES = {"fuv": "ff", "pbt": "ps", "prs": "prs", "quy": "qu", "tgl": "tl", "twi": "tw"}
"""Of languages for which `primary_language` has another code than M2M100, or that of another language of NLLB-200."""

_SEVERAL_SCRIPTS = {"Jpan": ("Hira", "Kana", "Hani"), "Hans": ("Hani",), "Hant": ("Hani",)}


def nllb_languages(tokens: Iterable[str]) -> dict[str, str]:
    """The tokens of languages among all tokens, by the usual code: ``hi`` for ``hin_Deva``.

    If a language has several scripts, they are part of the code: ``zh-Hans`` and ``zh-Hant``.
    """
    found = [token for token in tokens if _NLLB_CODE.fullmatch(token)]
    codes = {token: _USUAL_CODES.get(token[:3], primary_language(token[:3])) for token in found}
    scripts = Counter(codes.values())
    return {code if scripts[code] == 1 else f"{code}-{token[4:]}": token for token, code in codes.items()}


def m2m100_languages(family: str) -> dict[str, str]:
    """The tokens of the languages of M2M100 models, by code, in the order of their ids.

    Args:
        family: ``language_codes`` in tokenizer_config.json, 'm2m100' or 'wmt21'.
    """
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    return {code: f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES[family]}


def script_of(code: str, token: str) -> str:
    """The script of a language: that in NLLB-200's token, or in its token for an M2M100 language, otherwise Latin."""
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

    if _NLLB_CODE.fullmatch(token):
        return token[4:]
    scripts = {name.partition("-")[0]: each[4:] for name, each in nllb_languages(FAIRSEQ_LANGUAGE_CODES).items()}
    return scripts.get(code, "Latn")


def tokens_in_scripts(tokens: Iterable[str], scripts: Collection[str]) -> list[str]:
    """The tokens without letters of other scripts than these (ISO 15924); digits and punctuation have no script."""
    names = {name for script in scripts for name in _SEVERAL_SCRIPTS.get(script, (script,))}
    allowed = "".join(rf"\p{{Script={name}}}" for name in ("Common", "Inherited", *sorted(names)))
    pattern = regex.compile(f"[{allowed}]*")
    return [token for token in tokens if pattern.fullmatch(token)]
