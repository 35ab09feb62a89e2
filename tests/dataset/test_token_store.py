"""Ids on disk: what is mapped is what was in memory, and what is damaged is known to be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.dataset import token_store as store
from dragoman.dataset.token_store import IdStore, PairStore, join_parts, load_part, open_pairs, save_part


def random_pairs(number: int, entries: int, seed: int = 1) -> PairStore:
    generator = np.random.default_rng(seed)
    sides = [[generator.integers(0, entries, size).tolist() for size in generator.integers(1, 9, number)] for _ in "st"]
    return PairStore(IdStore.of(sides[0]), IdStore.of(sides[1]))


def sentences(pairs: PairStore) -> list[tuple[list[int], list[int]]]:
    return [(pairs.source[index].tolist(), pairs.target[index].tolist()) for index in range(len(pairs))]


@pytest.mark.parametrize(("entries", "kind"), [(2**16, np.uint16), (2**16 + 1, np.int32)])
def test_mapped_pairs_are_those_in_memory(entries: int, kind: type, tmp_path: Path) -> None:
    parts = [random_pairs(size, entries, seed) for seed, size in enumerate((30, 1, 0, 12))]
    paths = [tmp_path / f"{number}.npz" for number in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        save_part(path, part, entries)
    assert join_parts(paths, tmp_path) == 43
    mapped = open_pairs(tmp_path)
    assert sentences(mapped) == [pair for part in parts for pair in sentences(part)]
    assert len(mapped) == 43
    assert {side.ids.dtype for side in (mapped.source, mapped.target)} == {np.dtype(kind)}
    assert not mapped.source.ids.flags.writeable
    assert mapped.source.lengths.tolist() == [len(source) for source, _ in sentences(mapped)]


def test_no_pairs_make_no_files(tmp_path: Path) -> None:
    save_part(tmp_path / "0.npz", random_pairs(0, 10), 10)
    assert join_parts([tmp_path / "0.npz"], tmp_path) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["0.npz"]


def test_forgotten_pairs_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = Path("/proc/self/smaps")
    if not status.exists():
        pytest.skip("the system does not tell what is mapped")

    def resident() -> int:
        """Bytes of the store that count as this process's memory."""
        text = status.read_text().split(str(tmp_path / "source.ids.npy"), 1)[1]
        return int(text.split("Rss:")[1].split()[0]) * 1024

    save_part(tmp_path / "0.npz", random_pairs(5_000, 100), 100)
    join_parts([tmp_path / "0.npz"], tmp_path)
    pairs = open_pairs(tmp_path)
    before = sentences(pairs)
    assert resident() >= pairs.source.ids.nbytes
    pairs.forget()
    assert resident() >= pairs.source.ids.nbytes, "a small store stays"
    monkeypatch.setattr(store, "MAPPED_BYTES", 0)
    pairs.forget()
    assert resident() == 0
    assert sentences(pairs) == before


@pytest.mark.parametrize("size", [0, 1, 100, -1])
def test_a_truncated_part_is_known(size: int, tmp_path: Path) -> None:
    path = tmp_path / "0.npz"
    save_part(path, random_pairs(50, 100), 100)
    path.write_bytes(path.read_bytes()[:size])
    assert load_part(path) is None


def test_a_changed_bit_anywhere_in_the_ids_of_a_part_is_known(tmp_path: Path) -> None:
    path, pairs = tmp_path / "0.npz", random_pairs(50, 100)
    save_part(path, pairs, 100)
    whole = path.read_bytes()
    start = whole.index(pairs.target.ids.astype(np.uint16).tobytes())
    for position in range(start, start + 2 * len(pairs.target.ids), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 4]) + whole[position + 1 :])
        assert load_part(path) is None
