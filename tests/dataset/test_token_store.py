"""Ids on disk equal those in memory, and damage is detected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.dataset import token_store as store
from dragoman.dataset.token_store import PairStore, join_shards, load_shard, open_pairs, save_shard
from dragoman.text.id_store import IdStore


def random_pairs(number: int, entries: int, seed: int = 1) -> PairStore:
    generator = np.random.default_rng(seed)
    sides = [[generator.integers(0, entries, size).tolist() for size in generator.integers(1, 9, number)] for _ in "st"]
    return PairStore(IdStore.of(sides[0]), IdStore.of(sides[1]))


def sentences(pairs: PairStore) -> list[tuple[list[int], list[int]]]:
    return [(pairs.source[index].tolist(), pairs.target[index].tolist()) for index in range(len(pairs))]


@pytest.mark.parametrize(("entries", "kind"), [(2**16, np.uint16), (2**16 + 1, np.int32)])
def test_mapped_pairs_equal_those_in_memory(entries: int, kind: type, tmp_path: Path) -> None:
    shards = [random_pairs(size, entries, seed) for seed, size in enumerate((30, 1, 0, 12))]
    paths = [tmp_path / f"{number}.npz" for number in range(len(shards))]
    for path, shard in zip(paths, shards, strict=True):
        save_shard(path, shard, entries)
    assert join_shards(paths, tmp_path) == 43
    mapped = open_pairs(tmp_path)
    assert sentences(mapped) == [pair for shard in shards for pair in sentences(shard)]
    assert len(mapped) == 43
    assert {side.ids.dtype for side in (mapped.source, mapped.target)} == {np.dtype(kind)}
    assert not mapped.source.ids.flags.writeable
    assert mapped.source.lengths.tolist() == [len(source) for source, _ in sentences(mapped)]


def test_a_copy_in_memory_does_not_need_the_files(tmp_path: Path) -> None:
    save_shard(tmp_path / "0.npz", random_pairs(30, 100), 100)
    join_shards([tmp_path / "0.npz"], tmp_path)
    mapped = open_pairs(tmp_path)
    copy = mapped.in_memory()
    assert mapped.maps
    assert not copy.maps
    assert sentences(copy) == sentences(mapped)
    for side, other in ((copy.source, mapped.source), (copy.target, mapped.target)):
        assert not np.shares_memory(side.ids, other.ids)
        assert not np.shares_memory(side.offsets, other.offsets)


def test_no_files_are_written_for_no_pairs(tmp_path: Path) -> None:
    save_shard(tmp_path / "0.npz", random_pairs(0, 10), 10)
    assert join_shards([tmp_path / "0.npz"], tmp_path) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["0.npz"]


def test_released_pages_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = Path("/proc/self/smaps")
    if not status.exists():
        pytest.skip("the system does not show what is mapped")

    def resident() -> int:
        """Bytes of the store that count as this process's memory."""
        text = status.read_text().split(str(tmp_path / "source.ids.npy"), 1)[1]
        return int(text.split("Rss:")[1].split()[0]) * 1024

    save_shard(tmp_path / "0.npz", random_pairs(5_000, 100), 100)
    join_shards([tmp_path / "0.npz"], tmp_path)
    pairs = open_pairs(tmp_path)
    before = sentences(pairs)
    assert resident() >= pairs.source.ids.nbytes
    pairs.release_pages()
    assert resident() >= pairs.source.ids.nbytes, "a small store stays mapped"
    monkeypatch.setattr(store, "RELEASE_BYTES", 0)
    pairs.release_pages()
    assert resident() == 0
    assert sentences(pairs) == before


@pytest.mark.parametrize("size", [0, 1, 100, -1])
def test_a_truncated_shard_is_detected(size: int, tmp_path: Path) -> None:
    path = tmp_path / "0.npz"
    save_shard(path, random_pairs(50, 100), 100)
    path.write_bytes(path.read_bytes()[:size])
    assert load_shard(path) is None


def test_a_changed_bit_anywhere_in_the_ids_of_a_shard_is_detected(tmp_path: Path) -> None:
    path, pairs = tmp_path / "0.npz", random_pairs(50, 100)
    save_shard(path, pairs, 100)
    whole = path.read_bytes()
    start = whole.index(pairs.target.ids.astype(np.uint16).tobytes())
    for position in range(start, start + 2 * len(pairs.target.ids), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 4]) + whole[position + 1 :])
        assert load_shard(path) is None
