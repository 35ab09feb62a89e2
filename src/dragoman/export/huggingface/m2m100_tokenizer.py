"""The tokenizers of M2M100 and NLLB-200 models as they are imported."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.errors import UserError
from dragoman.export.huggingface.language_codes import m2m100_languages, nllb_languages
from dragoman.export.huggingface.original import require_files
from dragoman.settings import Specials
from dragoman.system.files import read_json
from dragoman.text.sentencepiece import SentencePieceTokenizer
from dragoman.text.subword import load_subwords
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.vocabulary import Vocabulary

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
