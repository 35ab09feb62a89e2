"""Downloads from OPUS, a large collection of parallel text, through its API (https://opus.nlpl.eu/opusapi)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.corpus.download import download
from dragoman.corpus.pair import Languages
from dragoman.errors import UserError, nearest
from dragoman.system.cache import cache_directory

API = "https://opus.nlpl.eu/opusapi/"
PREFIX = "opus:"
_SECONDS = 30  # that the API may take to answer
_SHOWN = 20  # names in a message


class OpusCorpus(NamedTuple):
    """A corpus of OPUS on this machine: a ZIP archive with two line-aligned files, and its number of pairs."""

    path: Path
    version: str
    pairs: int


def fetch_opus(name: str, languages: Languages) -> OpusCorpus:
    """Download the newest version of a corpus of OPUS into the cache, unless it is there.

    Args:
        name: The name in OPUS, such as ``Books``.
        languages: Codes of the two languages, in any order.

    Raises:
        UserError: OPUS has no such corpus in these languages, or cannot be reached.
    """
    if not re.fullmatch(r"\w[\w.+-]*", name):
        raise UserError(f"{PREFIX}{name}: expected the name of a corpus in OPUS, such as {PREFIX}Books")
    first, second = sorted(languages)  # as in the names of its files
    found = _request(corpus=name, source=first, target=second)
    if not found:
        raise UserError(_explain_missing(name, first, second))
    newest = found[0]
    try:
        url, version, pairs = str(newest["url"]), str(newest["version"]), int(newest["alignment_pairs"] or 0)
        version = re.sub(r"[^\w.-]", "_", version)  # part of a file name
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{API}: unexpected answer: {newest!r:.200}") from None
    path = cache_directory() / "opus" / f"{name}-{version}-{first}-{second}.zip"
    if not path.is_file():
        try:
            download(url, path, None)
        except (OSError, ValueError) as error:
            raise UserError(f"cannot download {url} ({error}); download it yourself, and pass its path") from None
    return OpusCorpus(path, version, pairs)


def _explain_missing(name: str, first: str, second: str) -> str:
    names = sorted({str(each.get("corpus")) for each in _request(source=first, target=second)})
    if not names:
        return f"OPUS has no corpora in {first} and {second}; check the language codes"
    if hint := nearest(name, names):
        return f"OPUS has no corpus {name!r} in {first} and {second}{hint}"
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    return f"OPUS has no corpus {name!r} in {first} and {second}; it has {shown}"


def _request(**query: str) -> list[dict[str, Any]]:
    """The line-aligned corpora that match a query, in their newest versions."""
    import requests

    try:
        answer = requests.get(API, {**query, "preprocessing": "moses", "version": "latest"}, timeout=_SECONDS)
        answer.raise_for_status()
    except requests.RequestException as error:
        raise UserError(f"{API}: cannot be reached ({error}); download the corpus at https://opus.nlpl.eu") from None
    try:
        return [corpus for corpus in answer.json()["corpora"] if isinstance(corpus, dict)]
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{API}: unexpected answer: {answer.text:.200}") from None
