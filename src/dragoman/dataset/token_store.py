"""Token ids of many sentence pairs in flat arrays: in memory, or on disk and memory-mapped."""

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
from dragoman.text.id_store import IdStore

SIDES, ARRAYS = ("source", "target"), ("ids", "offsets")
OPTIONAL: dict[str, tuple[Any, float]] = {"weights": (np.float32, 1), "directions": (np.uint16, 0)}
"""Arrays with a value for each pair that stores may have: their types, and the value of pairs without one."""

RELEASE_BYTES = 2**28
"""The mapped pages of smaller stores are never released: reading them again would only cost time."""


@dataclass(frozen=True)
class PairStore:
    """Sentence pairs as ids, without bos and eos.

    Shapes: `weights` (pairs,), how often each is seen in an epoch; None if all are seen once. `directions` (pairs,),
    the index of the direction in `data.directions`; None for models with one direction.
    """

    source: IdStore
    target: IdStore
    maps: tuple[mmap.mmap, ...] = ()  # of the files that hold the arrays; none if the arrays are in memory
    weights: NDArray[np.float32] | None = None
    directions: NDArray[np.uint16] | None = None

    def __len__(self) -> int:
        return len(self.source)

    def in_memory(self) -> PairStore:
        """The same pairs in arrays in memory, which stay valid when the files are deleted."""
        more = {name: array.copy() for name in OPTIONAL if (array := getattr(self, name)) is not None}
        return PairStore(self.source.copy(), self.target.copy(), **more)

    def of_direction(self, number: int) -> NDArray[np.int64]:
        """The indices of the pairs of a direction; those of all pairs of a model with one direction."""
        return np.arange(len(self)) if self.directions is None else np.flatnonzero(self.directions == number)

    def take(self, indices: NDArray[np.int64]) -> PairStore:
        """Some of the pairs, in arrays in memory, without weights."""
        source, target = (IdStore.of(side[index].tolist() for index in indices) for side in (self.source, self.target))
        return PairStore(source, target)

    def release_pages(self) -> None:
        """Return the mapped pages of a large store to the operating system, which keeps them cached while it can.

        Otherwise every page that was read counts as memory of this process: in the end the whole store.
        """
        if sum(map(len, self.maps)) > RELEASE_BYTES and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
            for mapped in self.maps:
                mapped.madvise(mmap.MADV_DONTNEED)


def save_shard(path: Path, pairs: PairStore, vocabulary_size: int) -> None:
    """Write some of the pairs of a store to one file; ids below `vocabulary_size` take two bytes each if they fit.

    Raises:
        UserError: The file cannot be written; then there is none.
    """
    dtype = np.uint16 if vocabulary_size <= 2**16 else np.int32
    more: dict[str, Any] = {name: array for name in OPTIONAL if (array := getattr(pairs, name)) is not None}
    with atomic_file(path, "wb") as file:
        np.savez(
            file,
            source_ids=pairs.source.ids.astype(dtype),
            source_offsets=pairs.source.offsets,
            target_ids=pairs.target.ids.astype(dtype),
            target_offsets=pairs.target.offsets,
            **more,
        )


def load_shard(path: Path) -> PairStore | None:
    """Read what `save_shard` wrote; None if the file is damaged, which the checksums of the zip format reveal."""
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            source, target = (IdStore(arrays[f"{side}_ids"], arrays[f"{side}_offsets"]) for side in SIDES)
            more = {name: arrays[name] for name in OPTIONAL if name in arrays}
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OSError):
        return None
    return PairStore(source, target, **more)


def join_shards(paths: Sequence[Path], directory: Path) -> int:
    """Write the pairs of all shards, in order, for `open_pairs`, and return their number; no files for no pairs."""
    pairs = source_tokens = target_tokens = 0
    optional = dict.fromkeys(OPTIONAL, False)
    for shard in map(_load_intact, paths):
        pairs += len(shard)
        optional = {name: found or getattr(shard, name) is not None for name, found in optional.items()}
        source_tokens += len(shard.source.ids)
        target_tokens += len(shard.target.ids)
    if pairs:
        _join_side((shard.source for shard in map(_load_intact, paths)), pairs, source_tokens, directory / SIDES[0])
        _join_side((shard.target for shard in map(_load_intact, paths)), pairs, target_tokens, directory / SIDES[1])
    for name in (name for name, found in optional.items() if pairs and found):
        _join_optional(map(_load_intact, paths), pairs, name, directory)
    return pairs


def open_pairs(directory: Path) -> PairStore:
    """Map what `join_shards` wrote into memory: only the pages that are used are read."""
    paths = (Path(f"{directory / side}.{array}.npy") for side in SIDES for array in ARRAYS)
    arrays, maps = zip(*map(_map, paths), strict=True)
    found = {name: _map(path) for name in OPTIONAL if (path := directory / f"{name}.npy").exists()}
    more = {name: array for name, (array, _) in found.items()}
    maps = (*maps, *(mapped for _, mapped in found.values()))
    return PairStore(IdStore(*arrays[:2]), IdStore(*arrays[2:]), maps, **more)


def _map(path: Path) -> tuple[NDArray[Any], mmap.mmap]:
    with path.open("rb") as file:
        assert np.lib.format.read_magic(file) == (1, 0)
        (length,), _, dtype = np.lib.format.read_array_header_1_0(file)
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, dtype, length, file.tell()), mapped


def _load_intact(path: Path) -> PairStore:
    shard = load_shard(path)
    assert shard is not None, f"{path} was checked or written by this process"
    return shard


def _join_side(sides: Iterator[IdStore], sentences: int, tokens: int, path: Path) -> None:
    """Write through files, not through a memory map: there a full disk would end the process without an error."""
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


def _join_optional(shards: Iterable[PairStore], pairs: int, name: str, directory: Path) -> None:
    dtype, usual = OPTIONAL[name]
    with (directory / f"{name}.npy").open("wb") as file:
        _write_header(file, np.dtype(dtype), pairs)
        for shard in shards:
            values = getattr(shard, name)
            file.write((np.full(len(shard), usual, dtype) if values is None else values).tobytes())


def _write_header(file: BinaryIO, dtype: np.dtype[Any], length: int) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(file, header)
