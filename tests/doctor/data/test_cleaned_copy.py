"""The cleaned copy has the pairs without problems, and dropped.tsv lists the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from damaged_corpora import PAIRS, check_lines, clean_lines, write_files

from dragoman.doctor.data.check import check_corpora
from dragoman.doctor.data.corpora import Corpora
from dragoman.errors import UserError


def test_the_copy_has_all_pairs_without_problems(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    damages = {code: damage for code, damage in PAIRS.items() if code not in ("swapped-sides", "duplicates")}
    reasons = {index: code for code, damage in damages.items() for index in damage(sources, targets)}
    check_lines(tmp_path, sources, targets, write_to=tmp_path / "clean")
    for name, lines in (("train.de", sources), ("train.en", targets)):
        kept = b"".join(line + b"\n" for index, line in enumerate(lines) if index not in reasons)
        assert (tmp_path / "clean" / name).read_bytes() == kept
    rows = [row.split("\t") for row in (tmp_path / "clean" / "dropped.tsv").read_text("utf-8").splitlines()[1:]]
    assert {int(row[1]) - 1 for row in rows} == reasons.keys()
    assert all(reasons[int(row[1]) - 1] in row[2].split(",") for row in rows)
    assert not check_corpora(Corpora("de", "en", [f"{tmp_path}/clean/train.{{lang}}"]))


def test_test_pairs_are_dropped(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    test = write_files(tmp_path, sources[:2], targets[:2], "test")
    check_lines(tmp_path, sources, targets, test=test, write_to=tmp_path / "clean")
    assert (tmp_path / "clean" / "train.de").read_bytes() == b"".join(line + b"\n" for line in sources[2:])
    rows = (tmp_path / "clean" / "dropped.tsv").read_text("utf-8").splitlines()[1:]
    assert [row.split("\t")[2] for row in rows] == ["test-overlap", "test-overlap"]


def test_a_directory_with_files_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "clean").mkdir()
    (tmp_path / "clean" / "train.de").write_text("precious")
    with pytest.raises(UserError, match="not empty"):
        check_lines(tmp_path, *clean_lines(), write_to=tmp_path / "clean")
    assert (tmp_path / "clean" / "train.de").read_text() == "precious"
