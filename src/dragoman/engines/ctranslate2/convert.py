"""Bundles in CTranslate2's format, converted on first use and stored."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.system.cache import cache_directory
from dragoman.system.files import atomic_directory, read_json, remove_leftovers, sha256, write_json
from dragoman.system.locks import wait_for_lock
from dragoman.system.version import __version__
from dragoman.text.registry import save_tokenizers

ORIGIN_FILE = "converted.json"
MODEL_FILE = "model.bin"

COMPUTE_TYPES = ("float32", "int8")

FORMAT = 3
"""Of converted bundles; those of older formats return the attention of another layer than the one that aligns words."""


def unsupported_settings(bundle: Bundle) -> list[str]:
    """The settings of a bundle that CTranslate2 does not support."""
    source, target = bundle.source.vocabulary.specials, bundle.target.vocabulary.specials
    positions = bundle.recipe.model.positions
    reasons = {
        "text.specials: source and target must be the same": source != target,
        f"model.positions = {positions!r}": positions not in ("sinusoidal", "fairseq", "learned", "rotary"),
    }
    return [reason for reason, met in reasons.items() if met]


def write_model(bundle: Bundle, directory: Path, compute_type: str) -> None:
    """Write model, vocabularies and tokenizers into an existing directory."""
    from dragoman.engines.ctranslate2.spec import specify

    spec = specify(bundle)
    spec.optimize(quantization=None if compute_type == "float32" else compute_type)
    spec.save(str(directory))
    save_tokenizers(directory, bundle.source, bundle.target)


def conversion_directory(path: Path, compute_type: str) -> Path | None:
    """Where the converted bundle is or can be written: in the bundle, otherwise in the user's cache directory.

    Args:
        path: The bundle's directory.
        compute_type: 'float32' or 'int8'.

    Returns:
        The directory; None if the converted bundle does not exist and neither place is writable.
    """
    origin = _origin(path)
    if _is_current(place := _place(path, compute_type), origin):
        return place
    cached = _cached_place(origin, compute_type)
    return cached if _is_current(cached, origin) else next(filter(_is_writable, (place, cached)), None)


def convert(bundle: Bundle, path: Path, compute_type: str) -> Path:
    """Convert a bundle to CTranslate2's format unless that was done before; returns the directory.

    Raises:
        UserError: It cannot be written, or another bundle is in its place now.
    """
    origin = _origin(path)
    _require_origin(bundle, path, origin)
    if _is_intact(inside := _place(path, compute_type), origin):
        return inside
    cached = _cached_place(origin, compute_type)
    if _is_intact(cached, origin):
        return cached
    place = next(filter(_is_writable, (inside, cached)), None)
    if place is None:
        raise UserError(f"{path}: neither the bundle's directory nor the cache directory is writable")
    _ = bundle.model  # whose errors are those of every engine
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with wait_for_lock(_lock_file(place), "converts the same bundle", warnings.warn):
            _require_origin(bundle, path, _origin(path))  # waiting can take long
            if not _is_intact(place, origin):  # the other process may have converted it
                remove_leftovers(place.parent, place.name)
                with atomic_directory(place) as directory:
                    write_model(bundle, directory, compute_type)
                    checksums = {file.name: sha256(file) for file in sorted(directory.iterdir())}
                    write_json(directory / ORIGIN_FILE, origin | {"sha256": checksums})
    except (OSError, UserError) as error:
        raise UserError(f"{error}; the engine torch needs no converted bundle") from error
    return place


def _require_origin(bundle: Bundle, path: Path, origin: dict[str, Any]) -> None:
    """Check that the bundle in memory is the one that is at its place."""
    if bundle.json_sha256 and bundle.json_sha256 != origin["bundle"]:
        raise UserError(f"{path}: the bundle was replaced while it was read; try again")


def _origin(path: Path) -> dict[str, Any]:
    """Identifies what a converted bundle was made from; bundle.json contains the SHA-256 of weights and tokenizers."""
    return {"bundle": sha256(path / "bundle.json"), "dragoman": __version__, "format": FORMAT}


def _place(path: Path, compute_type: str) -> Path:
    """Where a converted bundle is if its directory is writable."""
    return path / f"ctranslate2-{compute_type}"


def _cached_place(origin: dict[str, Any], compute_type: str) -> Path:
    """Where it is otherwise."""
    name: str = origin["bundle"][:16]
    return cache_directory() / "converted" / name / f"ctranslate2-{compute_type}"


def _is_current(place: Path, origin: dict[str, Any]) -> bool:
    """Whether a converted bundle exists, and was made from this one, see `_origin`."""
    try:
        about = read_json(place / ORIGIN_FILE)
    except UserError:  # it does not exist, or it is damaged
        return False
    return {name: about.get(name) for name in origin} == origin


def _is_intact(place: Path, origin: dict[str, Any]) -> bool:
    """Whether a current converted bundle has no damaged files."""
    if not _is_current(place, origin):
        return False
    try:
        checksums = read_json(place / ORIGIN_FILE)["sha256"]
        files = {each.name: each for each in place.iterdir() if each.is_file() and not each.is_symlink()}
        return MODEL_FILE in checksums and all(sha256(files[name]) == value for name, value in checksums.items())
    except (UserError, OSError, KeyError, TypeError, AttributeError):
        return False


def _lock_file(place: Path) -> Path:
    return place.with_name(f".{place.name}.lock")


def _is_writable(place: Path) -> bool:
    """Whether a converted bundle can be written there; what another user has written cannot always be replaced."""
    existing = next(parent for parent in place.parents if parent.exists())
    return all(os.access(each, os.W_OK) for each in (existing, place, _lock_file(place)) if each.exists())
