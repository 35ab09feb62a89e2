"""A package for Argos Translate and LibreTranslate: a CTranslate2 model and one SentencePiece model."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sentencepiece

from dragoman import __version__
from dragoman.bundle import Bundle
from dragoman.export.argos import sentencepiece as pieces
from dragoman.export.ctranslate2 import exporter as ctranslate2
from dragoman.export.parity import Compared, Exported, Values
from dragoman.text.sentencepiece import SentencePieceTokenizer
from dragoman.text.tokenizer import Tokenizer

COMPUTE_TYPES = ctranslate2.COMPUTE_TYPES

_MODEL_FILES = (
    "model.bin",
    "config.json",
    "shared_vocabulary.json",
    "source_vocabulary.json",
    "target_vocabulary.json",
)


def refusals(bundle: Bundle) -> list[str]:
    """What Argos cannot express of this bundle."""
    reasons = ctranslate2.refusals(bundle) + pieces.refusals(bundle.source)
    target = bundle.target
    if isinstance(target, SentencePieceTokenizer) or getattr(target, "pre_tokenizer", None) == "metaspace":
        return reasons  # whatever its pieces are: Argos joins them, and needs no model for it
    return reasons or ["the target's tokenizer: Argos joins subwords, and cannot put spaces between words"]


def write(bundle: Bundle, directory: Path, compute_type: str) -> None:
    """Write the package, a zip archive with one directory, into a directory that is there."""
    data = bundle.recipe.data
    name = f"translate-{data.source_language}_{data.target_language}-1_0"
    with TemporaryDirectory() as temporary, zipfile.ZipFile(_package(bundle, directory), "w") as package:
        model = Path(temporary)
        ctranslate2.write(bundle, model, compute_type)
        for file in _MODEL_FILES:
            if (model / file).exists():
                package.write(model / file, f"{name}/model/{file}", zipfile.ZIP_DEFLATED)
        package.writestr(f"{name}/sentencepiece.model", pieces.sentencepiece_model(bundle.source))
        package.writestr(f"{name}/metadata.json", json.dumps(_metadata(bundle), indent=2))
        package.writestr(f"{name}/README.md", f"# {bundle.recipe.name}\n\nTrained with dragoman {__version__}.\n")
    (directory / "README.md").write_text(_PAGE.format(file=_package(bundle, directory).name), encoding="utf-8")


def reopen(bundle: Bundle, directory: Path, compute_type: str) -> Exported:
    """What was written, unpacked, with Argos' way of making text into pieces and back."""
    return _Reopened(bundle, directory, compute_type)


def _package(bundle: Bundle, directory: Path) -> Path:
    return directory / f"{bundle.recipe.name}.argosmodel"


def _metadata(bundle: Bundle) -> dict[str, str]:
    source, target = bundle.recipe.data.source_language, bundle.recipe.data.target_language
    return {
        "package_version": "1.0",
        "argos_version": "1.9",
        "from_code": source,
        "from_name": source,
        "to_code": target,
        "to_name": target,
    }


class _Pieces:
    """Text to pieces by a SentencePiece model, and pieces to text as Argos joins them."""

    def __init__(self, original: Tokenizer, model: Path) -> None:
        self._original = original
        self.vocabulary = original.vocabulary
        self._processor = sentencepiece.SentencePieceProcessor(model_file=str(model))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of the pieces, which Argos hands over as strings."""
        ids, unk = self.vocabulary.ids, self.vocabulary.unk
        found = self._processor.encode(list(texts), out_type=str)
        return [[ids.get(piece, unk) for piece in sentence] for sentence in found]

    def decode(self, ids: Sequence[int]) -> str:
        """Pieces side by side, with spaces for the marks."""
        return "".join(self.vocabulary.tokens[index] for index in ids).replace("▁", " ").removeprefix(" ")

    def starts_word(self, token: str) -> bool:
        """As the original has it."""
        return self._original.starts_word(token)

    def to_json(self) -> dict[str, Any]:
        """The original's description."""
        return self._original.to_json()


class _Reopened:
    """The package of a bundle in use."""

    compares: Compared = "log-probabilities"

    def __init__(self, bundle: Bundle, directory: Path, compute_type: str) -> None:
        with TemporaryDirectory() as temporary:
            with zipfile.ZipFile(_package(bundle, directory)) as package:
                package.extractall(temporary)
            (root,) = Path(temporary).iterdir()
            model = root / "sentencepiece.model"
            unpacked = replace(bundle, source=_Pieces(bundle.source, model), target=_Pieces(bundle.target, model))
            self._engine = ctranslate2.reopen(unpacked, root / "model", compute_type)
        self.decoding = self._engine.decoding

    def values(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Values]:
        """Log-probabilities of the target tokens and the ends."""
        return self._engine.values(sources, targets)

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translations by our search, through Argos' tokenizer."""
        return self._engine.translate(texts)


_PAGE = """# A package for Argos Translate

Install it, without a network, with `argostranslate.package.install_from_path("{file}")`, or put it where LibreTranslate
looks for packages.

Pieces and probabilities are those of dragoman (`parity.json`). Argos searches with a beam of 4 and a length penalty of
its own, and splits texts into sentences first, by a model that it downloads once, so what it says can differ from
`dragoman translate`. It shows characters that the vocabulary spells as bytes as those bytes: `<0xE2>`.
"""
