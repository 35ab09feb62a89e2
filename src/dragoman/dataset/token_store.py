"""Token ids of many sentences in two flat arrays: in memory, or on disk and memory-mapped."""

from __future__ import annotations

import mmap
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dragoman.system.files import atomic_file

Ids = NDArray[np.int32] | NDArray[np.uint16]

SIDES, PARTS = ("source", "target"), ("ids", "offsets")

MAPPED_BYTES = 2**28
"""Smaller stores stay mapped, for that is faster."""


@dataclass(frozen=True)
class IdStore:
    """Sentences as ids: sentence i is ids[offsets[i] : offsets[i + 1]]."""

    ids: Ids
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int]]) -> IdStore:
        """Store sentences given as lists of ids."""
        kept = list(sentences)
        offsets = np.zeros(len(kept) + 1, dtype=np.int64)
        np.cumsum([len(sentence) for sentence in kept], out=offsets[1:])
        ids = np.fromiter(chain.from_iterable(kept), dtype=np.int32, count=int(offsets[-1]))
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Ids:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Ids of each sentence, (sentences,)."""
        return np.diff(self.offsets).astype(np.int32)


@dataclass(frozen=True)
class PairStore:
    """Sentence pairs as ids, without bos and eos."""

    source: IdStore
    target: IdStore
    maps: tuple[mmap.mmap, ...] = ()  # of files that hold the arrays, unless they are in memory

    def __len__(self) -> int:
        return len(self.source)

    def forget(self) -> None:
        """Let the system have back what it has mapped of a large store; it keeps it in its cache if there is room.

        All that is read would else count as memory of this process, in the end the whole store.
        """
        if sum(map(len, self.maps)) > MAPPED_BYTES and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
            for mapped in self.maps:
                mapped.madvise(mmap.MADV_DONTNEED)


def save_part(path: Path, pairs: PairStore, entries: int) -> None:
    """Write some of the pairs of a store to a file that is whole or absent; `entries`: of the larger vocabulary."""
    source, target = (
        side.ids.astype(np.uint16 if entries <= 2**16 else np.int32) for side in (pairs.source, pairs.target)
    )
    with atomic_file(path, "wb") as file:
        np.savez(
            file,
            source_ids=source,
            source_offsets=pairs.source.offsets,
            target_ids=target,
            target_offsets=pairs.target.offsets,
        )


def load_part(path: Path) -> PairStore | None:
    """What `save_part` wrote; None if it is damaged, which the checksums of the zip format tell."""
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            source, target = (IdStore(arrays[f"{name}_ids"], arrays[f"{name}_offsets"]) for name in SIDES)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OSError):
        return None
    return PairStore(source, target)


def join_parts(parts: Sequence[Path], directory: Path) -> int:
    """Write all pairs of some parts, in order, for `open_pairs`; how many there are. Nothing is written for none."""
    pairs = source_tokens = target_tokens = 0
    for part in map(_whole, parts):
        pairs += len(part)
        source_tokens += len(part.source.ids)
        target_tokens += len(part.target.ids)
    if pairs:
        _join_side((part.source for part in map(_whole, parts)), pairs, source_tokens, directory / SIDES[0])
        _join_side((part.target for part in map(_whole, parts)), pairs, target_tokens, directory / SIDES[1])
    return pairs


def open_pairs(directory: Path) -> PairStore:
    """The pairs that `join_parts` wrote, memory-mapped: only what is asked for is read."""
    arrays, maps = zip(*(_map(Path(f"{directory / side}.{part}.npy")) for side in SIDES for part in PARTS), strict=True)
    return PairStore(IdStore(*arrays[:2]), IdStore(*arrays[2:]), maps)


def _map(path: Path) -> tuple[NDArray[Any], mmap.mmap]:
    with path.open("rb") as file:
        assert np.lib.format.read_magic(file) == (1, 0)
        (length,), _, kind = np.lib.format.read_array_header_1_0(file)
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, kind, length, file.tell()), mapped


def _whole(path: Path) -> PairStore:
    part = load_part(path)
    assert part is not None, f"{path} was whole a moment ago"
    return part


def _join_side(sides: Iterator[IdStore], sentences: int, tokens: int, path: Path) -> None:
    """Not through a memory map: a disk that is full would end the process there, and is an error here."""
    first = next(sides)
    with Path(f"{path}.ids.npy").open("wb") as ids, Path(f"{path}.offsets.npy").open("wb") as offsets:
        _write_header(ids, first.ids.dtype, tokens)
        _write_header(offsets, first.offsets.dtype, sentences + 1)
        offsets.write(first.offsets[:1].tobytes())
        start = 0
        for side in chain([first], sides):
            ids.write(side.ids.tobytes())
            offsets.write((side.offsets[1:] + start).tobytes())
            start += len(side.ids)


def _write_header(file: BinaryIO, kind: np.dtype[Any], length: int) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(file, header)
