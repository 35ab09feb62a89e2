"""Checks that apply to every corpus format."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

from dragoman.corpus.pair import Pair
from dragoman.errors import OtherLanguagesError, UserError, nearest


def existing_file(name: str) -> Path:
    """The path of a file or pipe.

    Raises:
        UserError: It does not exist (with the most similar name in that directory), or is a directory.
    """
    path = Path(os.path.expanduser(name))  # the method of Path fails for unknown users
    if os.path.isdir(path):
        raise UserError(f"{path}: is a directory, not a file")
    if os.path.islink(path) and not os.path.exists(path):
        raise UserError(f"{path}: is a link to {os.readlink(path)!r}, which does not exist or leads back to the link")
    if not os.path.exists(path):
        parent = path.parent if path.parent.is_dir() else None
        siblings = [entry.name for entry in parent.iterdir() if not entry.is_dir()] if parent else []
        raise UserError(f"{path}: no such file{nearest(path.name, siblings)}")
    return path


def require_text(pairs: Iterator[Pair], name: str, sides: tuple[str, str] | None = None) -> Iterator[Pair]:
    """Yield the pairs unchanged.

    Args:
        pairs: The pairs of a corpus.
        name: What the message calls the corpus if it has no pairs.
        sides: What the message calls each side, if it is a separate file.

    Raises:
        UserError: After the last pair, if one side had no text at all; an `OtherLanguagesError` if the other one had.
    """
    number = 0
    source_has_text = target_has_text = False
    for pair in pairs:
        number += 1
        source_has_text = source_has_text or bool(pair.source.strip())
        target_has_text = target_has_text or bool(pair.target.strip())
        yield pair
    if not number:
        raise UserError(f"{name}: {'empty file' if sides else 'contains no sentence pairs'}")
    names = sides or (f"source side of {name}", f"target side of {name}")
    for has_text, side in zip((source_has_text, target_has_text), names, strict=True):
        if not has_text:
            has_other = source_has_text or target_has_text
            raise (OtherLanguagesError if has_other else UserError)(f"{side}: only empty lines ({number:,})")


def warn_of_unused(name: str, unused: int, total: int, what: str) -> None:
    """Warn that a part of a file is not used.

    Args:
        name: What the message calls the file.
        unused: How many units of the file are concerned; no warning if 0.
        total: Of how many.
        what: What the units are, and what they lack.
    """
    if unused:
        warnings.warn(f"{name}: {unused:,} of {total:,} {what}", stacklevel=2)
