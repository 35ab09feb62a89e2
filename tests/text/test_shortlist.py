"""Shortlists of bundles: stored exactly, and refused if they are damaged or do not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from dragoman.bundle import Bundle, bundle_digest
from dragoman.errors import UserError
from dragoman.text.shortlist import SHORTLIST_FILE, Shortlist


def int32(*values: int) -> Any:
    return np.array(values, np.int32)


SHORTLIST = Shortlist(int32(0, 1, 2), int32(0, 2, 2, 3), int32(4, 3, 5))


def test_it_is_stored_exactly(tmp_path: Path) -> None:
    SHORTLIST.save(tmp_path)
    loaded = Shortlist.load(tmp_path, source_size=3, target_size=6)
    assert [loaded.of(token) for token in range(3)] == [[4, 3], [], [5]]
    assert loaded.always.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "change",
    [
        {"always": int32(0, -1)},
        {"always": int32()},
        {"candidates": int32(4, 3, 6)},
        {"candidates": int32(4, 3)},
        {"bounds": int32(0, 2, 3)},
        {"bounds": int32(0, 3, 2, 3)},
        {"bounds": int32(1, 2, 2, 3)},
        {"bounds": np.array([0, 2, 2, 3], np.float32)},
        {"bounds": int32()},
        {"bounds": np.zeros((2, 2), np.int32)},
        {"always": np.zeros((1, 1), np.int32), "candidates": np.array([[4], [3], [5]], np.int32)},
        {"candidates": np.array(["4"], np.bytes_).view(np.uint8)},
        {"more": int32(1)},
    ],
    ids=str,
)
def test_damage_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    save_file(vars(SHORTLIST) | change, tmp_path / SHORTLIST_FILE)
    with pytest.raises(UserError, match=r"shortlist\.safetensors: .*copy the bundle again"):
        Shortlist.load(tmp_path, source_size=3, target_size=6)


def test_a_bundle_contains_it(finished_run: Path, tmp_path: Path) -> None:
    bundle = Bundle.load(finished_run)
    size = len(bundle.source.vocabulary)
    shortlist = Shortlist(int32(0, 1, 2, 3), np.arange(size + 1, dtype=np.int32), np.arange(size, dtype=np.int32))
    replace(bundle, shortlist=shortlist).save(tmp_path / "bundle")
    loaded = Bundle.load(tmp_path / "bundle").shortlist
    assert loaded is not None
    assert loaded.of(7) == [7]
    assert bundle_digest(tmp_path / "bundle") != bundle_digest(finished_run)
    path = tmp_path / "bundle" / SHORTLIST_FILE
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match="shortlist"):
        Bundle.load(tmp_path / "bundle")
    path.unlink()
    with pytest.raises(UserError, match=r"shortlist\.safetensors: missing"):
        Bundle.load(tmp_path / "bundle")
