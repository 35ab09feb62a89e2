"""Export to Argos Translate and LibreTranslate: a package with model, tokenizer and sentence splitter."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sentencepiece

from dragoman.bundle import Bundle, each_direction, languages_of
from dragoman.export.argos.sentence_splitter import sentence_splitter
from dragoman.export.argos.sentencepiece_model import sentencepiece_model, unsupported_tokenizer
from dragoman.export.ctranslate2 import exporter as ctranslate2
from dragoman.export.protocol import ExportedModel, OutputKind, Outputs, list_other_settings, write_readme
from dragoman.languages.codes import language_name
from dragoman.settings import Decoding
from dragoman.system.files import read_json, write_json
from dragoman.system.version import __version__
from dragoman.text.multilingual import name_direction, without_language
from dragoman.text.sentencepiece import SentencePieceTokenizer
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.tokenizer import Tokenizer

COMPUTE_TYPES = ctranslate2.COMPUTE_TYPES

README = Path(__file__).with_name("README.md.j2")

MODEL_FILES = (
    "model.bin",
    "config.json",
    "shared_vocabulary.json",
    "source_vocabulary.json",
    "target_vocabulary.json",
)
"""The files of a CTranslate2 model; the vocabularies are in one file or in two."""


def unsupported(bundle: Bundle) -> list[str]:
    """What Argos cannot express, see `Exporter.unsupported`."""
    if bundle.target.language_ids:
        return ["several languages, of which translations begin with one: Argos puts no language in front of them"]
    reasons = ctranslate2.unsupported(bundle) + unsupported_tokenizer(without_language(bundle.source))
    if bundle.source.masking:
        reasons.append(
            "text.placeholders = true: Argos does not replace numbers and placeholders by reserved tokens, and would "
            "translate them wrongly; train with --set text.placeholders=false --set text.terms=false --set "
            "training.augmentation.terms=0"
        )
    if reasons or _marks_spaces(without_language(bundle.target)):
        return reasons
    return ["the target's tokenizer: Argos concatenates tokens and cannot put spaces between words"]


def write(bundle: Bundle, directory: Path, compute_type: str) -> None:
    """Write the package, or one for each direction, and a README into an existing directory."""
    views = each_direction(bundle)
    names = [_write_package(each, directory, compute_type) for each in views]
    values = {
        "name": bundle.recipe.name,
        "files": [package_file(each, directory).name for each in views],
        "data": views[0].recipe.data,
        "directory": names[0],
        "settings": list_other_settings(bundle.recipe.decoding, ()),
    }
    write_readme(directory, README, values)


def _write_package(bundle: Bundle, directory: Path, compute_type: str) -> str:
    """Write the package of one direction; returns the name of the directory in it."""
    data = bundle.recipe.data
    name = f"translate-{data.source_language}_{data.target_language}-1_0"  # packages contain one directory
    package_path = package_file(bundle, directory)
    with TemporaryDirectory() as temporary, zipfile.ZipFile(package_path, "w") as package:
        model = Path(temporary)
        ctranslate2.write(bundle, model, compute_type)
        if bundle.source.language_ids:
            _begin_sources_with_language(bundle, model / "config.json")
        for file in MODEL_FILES:
            if (model / file).exists():
                package.write(model / file, f"{name}/model/{file}", zipfile.ZIP_DEFLATED)
        package.writestr(f"{name}/sentencepiece.model", sentencepiece_model(bundle.source))
        package.writestr(f"{name}/minisbd/rules.onnx", sentence_splitter(), zipfile.ZIP_DEFLATED)
        package.writestr(f"{name}/metadata.json", json.dumps(_metadata(bundle), indent=2))
        package.writestr(f"{name}/README.md", f"# {bundle.recipe.name}\n\nTrained with dragoman {__version__}.\n")
    return name


def _begin_sources_with_language(bundle: Bundle, config: Path) -> None:
    """Let CTranslate2 put the token of the target language in front of each source, which Argos cannot do.

    It puts the start token there if the configuration says so. The decoder has another start token.
    """
    (language,) = bundle.source.language_ids
    changes = {"bos_token": bundle.source.vocabulary.tokens[language], "add_source_bos": True}
    write_json(config, read_json(config) | changes)


def load(bundle: Bundle, directory: Path, compute_type: str) -> ExportedModel:
    """Unpack what `write` wrote, and load it with CTranslate2 and SentencePiece."""
    return ArgosModel(bundle, directory, compute_type)


def _marks_spaces(tokenizer: Tokenizer) -> bool:
    """Whether tokens contain the spaces between words as U+2581, so that joining tokens restores the text."""
    if isinstance(tokenizer, SubwordTokenizer):
        return tokenizer.pre_tokenizer == "metaspace"
    return isinstance(tokenizer, SentencePieceTokenizer)


def _metadata(bundle: Bundle) -> dict[str, str]:
    source, target = bundle.recipe.data.source_language, bundle.recipe.data.target_language
    return {
        "package_version": "1.0",
        "argos_version": "1.9",
        "from_code": source,
        "from_name": language_name(source),
        "to_code": target,
        "to_name": language_name(target),
    }


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
            added = len(bundle.source.language_ids)
            self._model = ctranslate2.CTranslate2Model(unpacked, root / "model", compute_type, added)
        self.decoding = self._model.decoding

    def outputs(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Outputs]:
        """Log-probabilities of the target tokens and eos."""
        return self._model.outputs(sources, targets)

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translations, tokenized and joined as Argos does."""
        return self._model.translate(texts)


def package_file(bundle: Bundle, directory: Path) -> Path:
    """The package of a bundle in one direction, in the directory of its export."""
    direction = f"-{name_direction(bundle.recipe.data.languages)}" if languages_of(bundle) else ""
    return directory / f"{bundle.recipe.name}{direction}.argosmodel"


class _ArgosTokenizer(Tokenizer):
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
        """The ids of the SentencePiece model's tokens, which Argos passes to CTranslate2 as strings.

        The token of a language comes first, which the package adds itself.
        """
        ids, unk = self.vocabulary.ids, self.vocabulary.unk
        tokenized = self._processor.encode(list(texts), out_type=str)
        encoded = [[ids.get(token, unk) for token in tokens] for tokens in tokenized]
        return [[*self._original.language_ids, *each] if each else [] for each in encoded]

    def decode(self, ids: Sequence[int]) -> str:
        """The tokens joined by the SentencePiece model, with spaces in place of U+2581 and of underscores."""
        text: str = self._processor.decode_pieces([self.vocabulary.tokens[index] for index in ids])
        return text.replace("▁", " ").replace("_", " ").removeprefix(" ")

    @property
    def forbidden_ids(self) -> list[int]:
        """The ids that never occur in translations, according to the original tokenizer."""
        return self._original.forbidden_ids

    def starts_word(self, token: str) -> bool:
        """Whether this token begins a word, according to the original tokenizer."""
        return self._original.starts_word(token)

    def to_json(self) -> dict[str, Any]:
        """The data of the original tokenizer."""
        return self._original.to_json()
