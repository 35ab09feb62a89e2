"""The same sentence pairs in every corpus format that consists of files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dragoman.corpus.pair import Pair
from dragoman.settings import CorpusReference, FilePair

PAIRS = [
    Pair("Ein Hund läuft.", "A dog is running."),
    Pair("", "A side may be blank."),
    Pair("Trenner: a\u2028b\u2029c", "\ufeffnot only at the start, and a\xa0hard space"),
    Pair("हिन्दी 𝄞", "  kept spaces  "),
]

Writer = Callable[[Path, list[Pair]], CorpusReference]
"""Writes pairs into a directory and returns the reference that reads them."""


def write_aligned(directory: Path, pairs: list[Pair], end: str = "\n") -> CorpusReference:
    directory.joinpath("t.de").write_bytes("".join(pair.source + end for pair in pairs).encode())
    directory.joinpath("t.en").write_bytes("".join(pair.target + end for pair in pairs).encode())
    return f"{directory}/t.{{lang}}"


def write_tsv(directory: Path, pairs: list[Pair]) -> CorpusReference:
    path = directory / "t.tsv"
    path.write_bytes("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs).encode())
    return str(path)


def _write_file_pair(directory: Path, pairs: list[Pair]) -> CorpusReference:
    write_aligned(directory, pairs)
    return FilePair(source=f"{directory}/t.de", target=f"{directory}/t.en")


def _write_windows(directory: Path, pairs: list[Pair]) -> CorpusReference:
    reference = write_aligned(directory, pairs, "\r\n")
    for name in ("t.de", "t.en"):
        path = directory / name
        path.write_bytes("\ufeff".encode() + path.read_bytes().removesuffix(b"\r\n"))
    return reference


def _write_jsonl(record: Callable[[Pair], dict[str, Any]], ascii_only: bool) -> Writer:
    def write(directory: Path, pairs: list[Pair]) -> CorpusReference:
        path = directory / "t.jsonl"
        rows = [json.dumps(record(pair), ensure_ascii=ascii_only) + "\n" for pair in pairs]
        path.write_bytes("".join(rows).encode())
        return str(path)

    return write


def _compressed(write: Writer) -> Writer:
    def write_compressed(directory: Path, pairs: list[Pair]) -> CorpusReference:
        reference = write(directory, pairs)
        for path in list(directory.iterdir()):
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        if isinstance(reference, FilePair):
            return FilePair(source=f"{reference.source}.gz", target=f"{reference.target}.gz")
        return f"{reference}.gz"

    return write_compressed


_PLAIN: dict[str, Writer] = {
    "aligned": write_aligned,
    "aligned file pair": _write_file_pair,
    "aligned windows": _write_windows,
    "tsv": write_tsv,
    "jsonl": _write_jsonl(lambda pair: {"en": pair.target, "id": 7, "de": pair.source}, True),
    "jsonl nested": _write_jsonl(lambda pair: {"translation": {"de": pair.source, "en": pair.target}}, False),
    "jsonl source": _write_jsonl(lambda pair: {"source": pair.source, "target": pair.target}, False),
}
WRITERS = _PLAIN | {f"{name} gz": _compressed(write) for name, write in _PLAIN.items()}
"""By format and variant."""
