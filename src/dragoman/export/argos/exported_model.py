"""An Argos package in use: its CTranslate2 model, and text split and joined as Argos does."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sentencepiece

from dragoman.bundle import Bundle
from dragoman.export.ctranslate2 import exporter as ctranslate2
from dragoman.export.protocol import OutputKind, Outputs
from dragoman.settings import Decoding
from dragoman.text.tokenizer import Tokenizer

DECODING = Decoding(beam_size=4)
"""Argos has its own settings of the search and follows none of the recipe."""


class ArgosModel:
    """The package of a bundle, see `ExportedModel`; it is searched by the engine of `dragoman translate`."""

    output_kind: OutputKind = "log-probabilities"

    def __init__(self, bundle: Bundle, directory: Path, compute_type: str) -> None:
        with TemporaryDirectory() as temporary:
            with zipfile.ZipFile(package_file(bundle, directory)) as package:
                package.extractall(temporary)
            (root,) = Path(temporary).iterdir()
            tokenizers = (
                _ArgosTokenizer(each, root / "sentencepiece.model") for each in (bundle.source, bundle.target)
            )
            source, target = tokenizers
            recipe = bundle.recipe.model_copy(update={"decoding": DECODING})
            unpacked = replace(bundle, recipe=recipe, source=source, target=target)
            self._model = ctranslate2.load(unpacked, root / "model", compute_type)
        self.decoding = self._model.decoding

    def outputs(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Outputs]:
        """Log-probabilities of the target tokens and eos."""
        return self._model.outputs(sources, targets)

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translations, tokenized and joined as Argos does."""
        return self._model.translate(texts)


def package_file(bundle: Bundle, directory: Path) -> Path:
    """The package of a bundle in the directory of its export."""
    return directory / f"{bundle.recipe.name}.argosmodel"


class _ArgosTokenizer:
    """Splits text with a SentencePiece model, and joins tokens as Argos does.

    Args:
        original: The tokenizer in the bundle.
        model: The file of the SentencePiece model.
    """

    def __init__(self, original: Tokenizer, model: Path) -> None:
        self._original = original
        self.vocabulary = original.vocabulary
        self._processor = sentencepiece.SentencePieceProcessor(model_file=str(model))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of the SentencePiece model's tokens, which Argos passes to CTranslate2 as strings."""
        ids, unk = self.vocabulary.ids, self.vocabulary.unk
        tokenized = self._processor.encode(list(texts), out_type=str)
        return [[ids.get(token, unk) for token in tokens] for tokens in tokenized]

    def decode(self, ids: Sequence[int]) -> str:
        """The tokens joined by the SentencePiece model, with spaces in place of U+2581 and of underscores."""
        text: str = self._processor.decode_pieces([self.vocabulary.tokens[index] for index in ids])
        return text.replace("▁", " ").replace("_", " ").removeprefix(" ")

    def starts_word(self, token: str) -> bool:
        """Whether this token begins a word, according to the original tokenizer."""
        return self._original.starts_word(token)

    def to_json(self) -> dict[str, Any]:
        """The data of the original tokenizer."""
        return self._original.to_json()
