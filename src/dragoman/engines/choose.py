"""Which engine translates; bundles are converted for CTranslate2 when they first need it."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from dragoman import __version__
from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.settings import Decoding
from dragoman.system.cache import cache_directory
from dragoman.system.files import atomic_directory, read_json, sha256, write_json
from dragoman.translator import Translator

_MADE_OF = "converted.json"


def open_translator(
    bundle: Bundle,
    path: Path,
    decoding: Decoding,
    engine: str | None = None,
    compute_type: str | None = None,
    *,
    token_scores: bool = True,
) -> Translator:
    """The translator of a bundle, with the engine asked for, or else with the first that can do what is asked.

    Args:
        bundle: What translates.
        path: Its directory.
        decoding: Settings of the search.
        engine: None for CTranslate2 where it is installed and can do it, else torch.
        compute_type: Arithmetic of CTranslate2, float32 unless told otherwise; int8 is smaller and a little less exact.
        token_scores: Whether translations have log-probabilities, which CTranslate2 finds in a second pass.

    Raises:
        UserError: The engine asked for is not installed or cannot do what is asked.
    """
    if compute_type and engine == "torch":
        raise UserError(f"--compute-type {compute_type} is for --engine ctranslate2; torch computes in float32")
    asked = engine == "ctranslate2" or compute_type is not None
    if engine == "torch" or not (asked or find_spec("ctranslate2")):
        return Translator(bundle, decoding)
    try:
        return _open_ctranslate2(bundle, path, decoding, compute_type or "float32", token_scores)
    except UserError:
        if asked:
            raise
        return Translator(bundle, decoding)


def _open_ctranslate2(
    bundle: Bundle, path: Path, decoding: Decoding, compute_type: str, token_scores: bool
) -> Translator:
    try:
        from dragoman.engines.ctranslate2.engine import CTranslate2Translator, impossible
    except ImportError:
        raise UserError("the engine ctranslate2 is not installed: pip install dragoman[ctranslate2]") from None
    if reasons := impossible(decoding):
        raise UserError(f"the engine ctranslate2 cannot translate with {', '.join(reasons)}; torch can")
    place = converted(bundle, path, compute_type)
    return CTranslate2Translator(bundle, place, decoding, compute_type, token_scores=token_scores)


def converted(bundle: Bundle, path: Path, compute_type: str) -> Path:
    """The directory of a bundle as CTranslate2 reads it; made if it is not there, or of another bundle.

    It lies in the bundle, or if that cannot be written to, in the user's cache directory.

    Args:
        bundle: What to convert.
        path: Its directory.
        compute_type: 'float32' or 'int8'.

    Raises:
        UserError: It can be written to neither place.
    """
    origin = sha256(path / "bundle.json")  # which has the SHA-256 of the weights and tokenizers
    name = f"ctranslate2-{compute_type}"
    places = [path / name, cache_directory() / "converted" / origin[:16] / name]
    made_of = {"bundle": origin, "dragoman": __version__}
    for place in places:
        if (place / _MADE_OF).is_file() and read_json(place / _MADE_OF) == made_of:
            return place
    if not os.access(path, os.W_OK):
        del places[0]
    for place in places:
        try:
            _convert(bundle, place, compute_type, made_of)
        except UserError:
            if place == places[-1]:
                raise
        else:
            return place
    raise AssertionError("the last place is returned or raises")


def _convert(bundle: Bundle, place: Path, compute_type: str, made_of: dict[str, str]) -> None:
    from dragoman.export.ctranslate2.exporter import refusals, write

    if reasons := refusals(bundle):
        raise UserError(f"CTranslate2 cannot express this bundle: {'; '.join(reasons)}")
    with atomic_directory(place) as directory:
        write(bundle, directory, compute_type)
        write_json(directory / _MADE_OF, made_of)
