"""Bundles: directories with everything needed to translate, which are weights, tokenizers and settings."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch
from pydantic import BaseModel, ValidationError
from torch import Tensor

from dragoman.errors import UserError, shortened
from dragoman.model.build import build_model
from dragoman.model.transformer import Transformer, parameter_counts
from dragoman.recipe import build_recipe
from dragoman.settings import Model, Recipe
from dragoman.settings.deleted import remove_deleted
from dragoman.system.files import atomic_directory, is_unused, parse_json, read_bytes, require_size, sha256
from dragoman.system.leftovers import restore_replaced
from dragoman.system.run_paths import explain_no_bundle
from dragoman.system.tensors import check_header, open_tensors, read_parameters, write_tensors
from dragoman.system.uninitialized import WithoutInitialWeights
from dragoman.system.version import __version__
from dragoman.text.registry import SOURCE_FILE, TARGET_FILE, describe_vocabularies, load_tokenizers, save_tokenizers
from dragoman.text.tokenizer import Tokenizer

ABOUT = "bundle.json"
FORMAT = "dragoman-bundle"
VERSION = 1
WEIGHTS = "model.safetensors"
FILES = (WEIGHTS, SOURCE_FILE, TARGET_FILE)
MAX_ABOUT_BYTES = 10_000_000  # of bundle.json, which has about 100 kB
MAX_READS = 5  # of a bundle that is replaced meanwhile
Table = TypeVar("Table", bound=BaseModel)
TABLES = ("scores", "training_text", "alignment", "confidence")
"""Keys of bundle.json that are fields of a bundle; bundles of older versions lack some."""


@dataclass(frozen=True)
class Bundle:
    """A trained model with its recipe and tokenizers; `scores` are the test scores of its training run.

    `training_text` describes the training text, see `dragoman.doctor.input.training_text`; `alignment` names attention
    that aligns words, see `dragoman.explanation.alignment.AttentionRows`; and `confidence` has the numbers of
    `dragoman.evaluation.confidence.Confidence`. All three are empty in imported bundles and in those of older versions.
    Messages name `origin`. `json_sha256` is that of bundle.json; see `bundle_digest`, too.
    """

    recipe: Recipe
    model: Transformer
    source: Tokenizer
    target: Tokenizer
    scores: dict[str, Any] = field(default_factory=dict)
    training_text: dict[str, Any] = field(default_factory=dict)
    alignment: dict[str, Any] = field(default_factory=dict)
    confidence: dict[str, Any] = field(default_factory=dict)
    origin: str = ABOUT
    json_sha256: str = ""
    digest: str = ""

    def table(self, name: str, kind: type[Table]) -> Table | None:
        """What training stored in bundle.json; None in imported bundles and in those of older versions.

        Args:
            name: One of `TABLES`.
            kind: What the table describes.

        Raises:
            UserError: The table is damaged.
        """
        stored = getattr(self, name)
        try:
            return kind.model_validate(stored) if stored else None
        except ValidationError as error:
            place = ".".join(map(str, (name, *error.errors()[0]["loc"])))
            raise UserError(f"{self.origin}: damaged ({shortened(place)})") from None

    def save(self, path: Path) -> None:
        """Write the bundle completely or not at all; an existing bundle is replaced, also if files are missing.

        Raises:
            UserError: The bundle cannot be written, or there is something else at this path; nothing is changed.
        """
        if not is_unused(path) and not _is_bundle(path):
            raise UserError(f"{path}: is not a bundle; move or delete it, or choose another directory")
        with atomic_directory(path) as directory:
            write_tensors(directory / WEIGHTS, _unshared(self.model))
            save_tokenizers(directory, self.source, self.target)
            (directory / "README.md").write_text(self._card(), encoding="utf-8")
            about = {
                "format": FORMAT,
                "version": VERSION,
                "dragoman": __version__,
                "recipe": self.recipe.to_dict(),
                "scores": self.scores,
                "training_text": self.training_text,
                "alignment": self.alignment,
                "confidence": self.confidence,
                "sha256": {name: sha256(directory / name) for name in FILES},
            }
            (directory / ABOUT).write_text(json.dumps(about, ensure_ascii=False, indent=2), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Bundle:
        """Read a bundle, or the bundle of a run directory.

        Raises:
            UserError: There is no bundle, or it is damaged, of another program, or of a newer format.
        """
        for _ in range(MAX_READS):
            directory, stored = _find_stored(path)
            try:
                bundle = cls._read(directory, stored)
            except UserError:
                if _read_stored(directory) == stored:
                    raise
            else:
                if _read_stored(directory) == stored:
                    return bundle
        raise _replaced(path)

    @classmethod
    def _read(cls, directory: Path, stored: bytes) -> Bundle:
        """Read the files, given bundle.json; if they are replaced meanwhile, they may be those of two bundles."""
        about = _parse_stored(directory, stored)
        _check_files(directory, about["sha256"])
        remove_deleted(about["recipe"])  # with any value: the model is finished
        recipe = build_recipe(about["recipe"], origin=str(directory / ABOUT))
        source, target = load_tokenizers(directory)
        if recipe.model.tie == "all" and len(source.vocabulary) != len(target.vocabulary):
            raise UserError(f"{directory}: model.tie = 'all', but the vocabularies of the tokenizers differ in size")
        sizes = len(source.vocabulary), len(target.vocabulary)
        model = _read_model(directory / WEIGHTS, recipe.model, (*sizes, source.vocabulary.pad))
        return cls(
            recipe,
            model.eval(),
            source,
            target,
            **{key: about[key] for key in TABLES},
            origin=str(directory / ABOUT),
            json_sha256=hashlib.sha256(stored).hexdigest(),
            digest=_digest(about),
        )

    def _card(self) -> str:
        data, parameters = self.recipe.data, parameter_counts(self.model)["total"]
        vocabularies = describe_vocabularies(self.source, self.target, self.recipe.text.joint)
        reports = [(name, each) for name, each in self.scores.items() if isinstance(each, dict) and "chrf" in each]
        scores = "".join(f"* {name}: BLEU {each['bleu']:.2f}, chrF {each['chrf']:.2f}\n" for name, each in reports)
        return (
            f"# {self.recipe.name}\n\nA translator from {data.source_language} to {data.target_language}, "
            f"trained with dragoman {__version__}: a Transformer of {parameters:,} parameters with {vocabularies}.\n\n"
            f'```\ndragoman translate PATH/TO/THIS/DIRECTORY "…"\n```\n\n{scores}'
        )


def find_bundle(path: str | Path) -> Path:
    """The directory of the bundle at `path`, which is a bundle or a run directory.

    Raises:
        UserError: There is no bundle; the message names the run that is probably meant.
    """
    if not isinstance(path, str | Path):
        raise UserError(f"{path!r}: must be the path of a bundle or of a run directory")
    path = Path(path)
    for directory in (path, path / "bundle"):
        with suppress(OSError):  # a bundle in a directory that cannot be written to
            restore_replaced(directory)
        if os.path.isfile(directory / ABOUT):  # the method of Path raises OSError for names that are too long
            return directory
    raise explain_no_bundle(path)


def _is_bundle(directory: Path) -> bool:
    """Whether a directory is a bundle, or was one: it has the bundle.json of one, or all other files."""
    with suppress(UserError):
        if parse_json(read_bytes(directory / ABOUT, MAX_ABOUT_BYTES), directory / ABOUT).get("format") == FORMAT:
            return True
    return all((directory / name).is_file() for name in FILES)


def bundle_digest(path: str | Path) -> str:
    """SHA-256 of the weights and the tokenizers of a bundle, or of the bundle of a run directory.

    Raises:
        UserError: There is no bundle, or its bundle.json is damaged.
    """
    return _digest(_parse_stored(*_find_stored(path)))


def _digest(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about["sha256"], sort_keys=True).encode()).hexdigest()


def _find_stored(path: str | Path) -> tuple[Path, bytes]:
    """The directory of a bundle, and the content of its bundle.json."""
    for _ in range(MAX_READS):
        directory = find_bundle(path)
        if (stored := _read_stored(directory)) is not None:
            return directory, stored
    raise _replaced(path)


def _read_stored(directory: Path) -> bytes | None:
    """The content of bundle.json; None if it is missing at this moment, because the directory is being replaced."""
    try:
        return read_bytes(directory / ABOUT, MAX_ABOUT_BYTES)
    except UserError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


def _replaced(path: str | Path) -> UserError:
    return UserError(f"{path}: the bundle was replaced {MAX_READS} times while it was read")


def _parse_stored(directory: Path, stored: bytes) -> dict[str, Any]:
    """What bundle.json describes, given its content."""
    path = directory / ABOUT
    about = parse_json(stored, path)
    if about.get("format") != FORMAT:
        raise UserError(f"{path}: not a dragoman bundle (its format is {shortened(repr(about.get('format')))})")
    version = about.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise UserError(
            f"{path}: bundle format {shortened(str(version))} is newer than the {VERSION} that dragoman {__version__} "
            "reads; upgrade dragoman"
        )
    about = {key: {} for key in TABLES} | about
    for key in ("recipe", "sha256", *TABLES):
        if not isinstance(about.get(key), dict):
            raise UserError(f"{path}: damaged (the table {key!r} is missing)")
    return about


def _check_files(directory: Path, expected: dict[str, str]) -> None:
    for name in FILES:
        path = directory / name
        if not path.is_file():
            raise UserError(f"{path}: missing; the bundle is incomplete")
        if name == WEIGHTS:  # hashing a file that is too large would take minutes
            with open_tensors(path):  # compares the size with the header
                pass
        else:
            require_size(path)
        if sha256(path) != expected.get(name):
            raise UserError(f"{path}: damaged (its SHA-256 differs from the one in bundle.json); copy the bundle again")


def _unshared(model: Transformer) -> dict[str, Tensor]:
    """Every parameter once, in float32; a shared parameter has its first name."""
    return {name: parameter.detach().float().contiguous() for name, parameter in model.named_parameters()}


def _read_model(path: Path, settings: Model, sizes: tuple[int, int, int]) -> Transformer:
    """The model with the weights in a file, whose header is checked before any memory is allocated for the model."""
    with open_tensors(path) as file:
        # a model has more tensors than layers; thousands of layers are not even built without weights
        if settings.encoder_layers + settings.decoder_layers > len(file.keys()):
            raise UserError(f"{path}: its weights do not fit the recipe in bundle.json")
        with torch.device("meta"), WithoutInitialWeights():
            check_header(path, file, dict(build_model(settings, *sizes, seed=0).named_parameters()))
        with WithoutInitialWeights():
            model = build_model(settings, *sizes, seed=0)
        read_parameters(path, file, dict(model.named_parameters()))
    return model
