"""Each kind of damage is found on its lines, and clean text has no findings."""

from __future__ import annotations

from pathlib import Path

import pytest
from damaged_corpora import PAIRS, SIZE, STRETCHES, Damage, check_lines, clean_lines, only_finding, write_files

from dragoman.doctor.data.check import check_corpora
from dragoman.doctor.data.corpora import Corpora, corpora_of_files
from dragoman.doctor.findings.data import DATA_FINDINGS


def test_clean_text_has_no_findings(tmp_path: Path) -> None:
    assert not check_lines(tmp_path, *clean_lines())


@pytest.mark.parametrize("code", PAIRS)
def test_damage_leads_to_one_finding_with_its_lines(code: str, tmp_path: Path) -> None:
    sources, targets = clean_lines()
    indices = PAIRS[code](sources, targets)
    finding = only_finding(check_lines(tmp_path, sources, targets), code)
    assert finding.measured["count"] == len(indices)
    assert finding.measured["lines"] == [index + 1 for index in indices][:20]
    assert finding.measured["examples"][0]["line"] == indices[0] + 1


@pytest.mark.parametrize("damage", STRETCHES, ids=lambda damage: damage.__name__)
def test_misaligned_stretches_are_found(damage: Damage, tmp_path: Path) -> None:
    sources, targets = clean_lines()
    indices = damage(sources, targets)
    finding = only_finding(check_lines(tmp_path, sources, targets), "misaligned")
    (stretch,) = finding.measured["stretches"]
    assert abs(stretch["first"] - indices[0] - 1) <= 8
    assert abs(stretch["last"] - indices[-1] - 1) <= 8
    if damage.__name__ == "shift_stretch":
        assert stretch["shift"] == -1
        assert finding.severity == "error"
        assert "1 line further up" in finding.message


def test_a_missing_line_misaligns_the_rest_of_the_file(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    del targets[2000]
    findings = {finding.code: finding for finding in check_lines(tmp_path, sources, targets)}
    assert findings.keys() == {"line-counts-differ", "misaligned"}
    assert findings["line-counts-differ"].measured["target_lines"] == SIZE - 1
    (stretch,) = findings["misaligned"].measured["stretches"]
    assert stretch["shift"] == -1
    assert SIZE - 1 - stretch["last"] <= 8
    assert abs(stretch["first"] - 2001) <= 8


def test_unrelated_files_are_misaligned_as_a_whole(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    finding = only_finding(check_lines(tmp_path, sources, targets[1500:] + targets[:1500]), "misaligned")
    assert finding.measured["share"] == 1.0


def test_swapped_files_are_an_error(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    finding = only_finding(check_lines(tmp_path, targets, sources), "swapped-sides")
    assert finding.severity == "error"
    assert finding.measured["share"] == 1.0


def test_a_whole_side_in_the_wrong_script_is_an_error(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    paths = write_files(tmp_path, sources, targets)
    paths[0].rename(tmp_path / "train.ru")
    finding = only_finding(check_corpora(corpora_of_files(tmp_path / "train.ru", paths[1], None)), "wrong-script")
    assert finding.severity == "error"
    assert finding.measured["share"] == 1.0


def test_test_pairs_in_the_training_text_are_found(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    test = write_files(tmp_path, [*sources[:5], b"Neu."], [*targets[:5], b"New."], "test")
    finding = only_finding(check_lines(tmp_path, sources, targets, test=test), "test-overlap")
    assert finding.severity == "error"
    assert finding.measured["lines"] == [1, 2, 3, 4, 5]


def test_duplicates_in_several_corpora_are_found(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    write_files(tmp_path, sources[:200], targets[:200], "one")
    write_files(tmp_path, [b"Neu ist das.", sources[7]], [b"That is new.", targets[7]], "two")
    corpora = Corpora("de", "en", [f"{tmp_path}/{name}.{{lang}}" for name in ("one", "two")])
    finding = only_finding(check_corpora(corpora), "duplicates")
    assert finding.measured["lines"] == [2]
    assert "two" in finding.measured["corpus"]


def test_copies_are_no_problem_if_copying_is_the_task(tmp_path: Path) -> None:
    sources, _ = clean_lines()
    codes = {finding.code for finding in check_lines(tmp_path, sources, sources)}
    assert "copied-source" not in codes


def test_every_code_is_tested() -> None:
    assert PAIRS.keys() | {"misaligned", "line-counts-differ", "test-overlap"} == DATA_FINDINGS.keys()


@pytest.mark.parametrize("name", ["multi30k:train", "tatoeba-hi-en:train", "wmt-news-de-en:train"])
def test_published_corpora_have_at_most_notes(name: str, data_directory: Path) -> None:
    languages = ("hi", "en") if "hi" in name else ("de", "en")
    findings = check_corpora(Corpora(*languages, [name], data_directory=data_directory))
    assert all(finding.severity == "note" for finding in findings), findings
