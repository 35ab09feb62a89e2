"""Each kind of damage done to clean text is found with its lines, and the clean text is not accused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor.data.diagnose import Corpora, corpora_of_files, diagnose
from dragoman.doctor.findings.explanations import DATA
from dragoman.doctor.findings.finding import Finding
from dragoman.errors import UserError

if TYPE_CHECKING:
    from conftest import Command

SIZE = 3000
Lines = list[bytes]
Damage = Callable[[Lines, Lines], list[int]]
"""Damages both sides in place and returns the places, from 0, that should be told of."""


def clean() -> tuple[Lines, Lines]:
    sources, targets = zip(*captions("train")[:SIZE], strict=True)
    return [text.encode() for text in sources], [text.encode() for text in targets]


def write(directory: Path, sources: Lines, targets: Lines, name: str = "train") -> tuple[Path, Path]:
    paths = directory / f"{name}.de", directory / f"{name}.en"
    for path, lines in zip(paths, (sources, targets), strict=True):
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    return paths


def check(directory: Path, sources: Lines, targets: Lines, **options: Any) -> list[Finding]:
    return diagnose(corpora_of_files(*write(directory, sources, targets), options.pop("test", None)), **options)


def only(findings: list[Finding], code: str) -> Finding:
    assert [finding.code for finding in findings] == [code], findings
    return findings[0]


def shift_stretch(sources: Lines, targets: Lines) -> list[int]:
    targets[1000:1200] = targets[1001:1200] + targets[1000:1001]
    return list(range(1000, 1200))


def shuffle_stretch(sources: Lines, targets: Lines) -> list[int]:
    targets[1000:1300] = targets[1150:1300] + targets[1000:1150]
    return list(range(1000, 1300))


def exchange(sources: Lines, targets: Lines) -> list[int]:
    places = [7, 800, *range(2000, 2020)]
    for place in places:
        sources[place], targets[place] = targets[place], sources[place]
    return places


def repeat(sources: Lines, targets: Lines) -> list[int]:
    places = [500, 1500, 1501]
    for place in places:
        sources[place], targets[place] = sources[3].upper(), b"  " + targets[3]
    return places


def write_in_cyrillic(sources: Lines, targets: Lines) -> list[int]:
    targets[40] = "Маленький мальчик играет в парке с собакой.".encode()
    return [40]


def copy_source(sources: Lines, targets: Lines) -> list[int]:
    targets[12] = sources[12]
    targets[2999] = sources[2999]
    return [12, 2999]


def cut_target(sources: Lines, targets: Lines) -> list[int]:
    targets[100] = b"A."
    targets[101] = b" ".join(targets[101:110])
    return [100, 101]


def decode_wrongly(sources: Lines, targets: Lines) -> list[int]:
    sources[55] = "Ein schönes Mädchen trägt einen grünen Hut.".encode().decode("cp1252").encode()
    sources[56] = "Ein sch\ufffdnes Kind schläft.".encode()
    return [55, 56]


def append_latin_1(sources: Lines, targets: Lines) -> list[int]:
    sources[77] = "Ein schönes Mädchen schläft im Park.".encode("latin-1")
    return [77]


def put_control_characters(sources: Lines, targets: Lines) -> list[int]:
    sources[5] += b"\x00"
    targets[9] = b"\x1b" + targets[9]
    return [5, 9]


def join_lines(sources: Lines, targets: Lines) -> list[int]:
    sources[30], targets[30] = (b" ".join(side[30:80]) for side in (sources, targets))
    return [30]


def empty_sides(sources: Lines, targets: Lines) -> list[int]:
    sources[60] = b" \t"
    targets[61] = b""
    sources[62] = targets[62] = b""
    return [60, 61, 62]


DAMAGE: dict[str, list[Damage]] = {
    "misaligned": [shift_stretch, shuffle_stretch],
    "swapped-sides": [exchange],
    "duplicates": [repeat],
    "wrong-script": [write_in_cyrillic],
    "copied-source": [copy_source],
    "length-ratio": [cut_target],
    "encoding-damage": [decode_wrongly],
    "invalid-utf8": [append_latin_1],
    "control-characters": [put_control_characters],
    "over-long": [join_lines],
    "empty-side": [empty_sides],
}
EXACT = [(code, damage) for code, kinds in DAMAGE.items() for damage in kinds if code != "misaligned"]


def test_clean_text_is_not_accused(tmp_path: Path) -> None:
    assert not check(tmp_path, *clean())


@pytest.mark.parametrize(("code", "damage"), EXACT, ids=lambda value: getattr(value, "__name__", value))
def test_damage_is_found_in_its_lines_by_its_code_alone(code: str, damage: Damage, tmp_path: Path) -> None:
    sources, targets = clean()
    places = damage(sources, targets)
    finding = only(check(tmp_path, sources, targets), code)
    assert finding.measured["count"] == len(places)
    assert finding.measured["lines"] == [place + 1 for place in places][:20]
    assert finding.measured["examples"][0]["line"] == places[0] + 1


@pytest.mark.parametrize("damage", DAMAGE["misaligned"], ids=lambda damage: damage.__name__)
def test_stretches_that_have_come_apart_are_found(damage: Damage, tmp_path: Path) -> None:
    sources, targets = clean()
    places = damage(sources, targets)
    finding = only(check(tmp_path, sources, targets), "misaligned")
    (stretch,) = finding.measured["stretches"]
    assert abs(stretch["first"] - places[0] - 1) <= 8
    assert abs(stretch["last"] - places[-1] - 1) <= 8
    if damage is shift_stretch:
        assert stretch["shift"] == -1
        assert finding.severity == "error"


def test_files_of_different_length_part_where_the_stretch_begins(tmp_path: Path) -> None:
    sources, targets = clean()
    del targets[2000]
    findings = {finding.code: finding for finding in check(tmp_path, sources, targets)}
    assert findings.keys() == {"line-counts-differ", "misaligned"}
    assert findings["line-counts-differ"].measured["target_lines"] == SIZE - 1
    (stretch,) = findings["misaligned"].measured["stretches"]
    assert stretch["shift"] == -1
    assert SIZE - 1 - stretch["last"] <= 8
    assert abs(stretch["first"] - 2001) <= 8


def test_unrelated_files_are_told_as_such(tmp_path: Path) -> None:
    sources, targets = clean()
    finding = only(check(tmp_path, sources, targets[1500:] + targets[:1500]), "misaligned")
    assert finding.measured["share"] == 1.0


def test_exchanged_files_are_told_as_such(tmp_path: Path) -> None:
    sources, targets = clean()
    finding = only(check(tmp_path, targets, sources), "swapped-sides")
    assert finding.severity == "error"


def test_overlap_with_the_test_text_is_found(tmp_path: Path) -> None:
    sources, targets = clean()
    test = write(tmp_path, [*sources[:5], b"Neu."], [*targets[:5], b"New."], "test")
    finding = only(check(tmp_path, sources, targets, test=test), "test-overlap")
    assert finding.severity == "error"
    assert finding.measured["lines"] == [1, 2, 3, 4, 5]


def test_duplicates_between_corpora_are_found(tmp_path: Path) -> None:
    sources, targets = clean()
    write(tmp_path, sources[:200], targets[:200], "one")
    write(tmp_path, [b"Neu ist das.", sources[7]], [b"That is new.", targets[7]], "two")
    finding = only(
        diagnose(Corpora("de", "en", [f"{tmp_path}/{name}.{{lang}}" for name in ("one", "two")])), "duplicates"
    )
    assert finding.measured["lines"] == [2]
    assert "two" in finding.measured["corpus"]


def test_a_cleaned_copy_holds_what_is_right_and_says_what_was_left_out(tmp_path: Path) -> None:
    sources, targets = clean()
    damaged = {code: damage(sources, targets) for code, damage in EXACT if code not in ("swapped-sides", "duplicates")}
    check(tmp_path, sources, targets, write=tmp_path / "clean")
    wrong = {place: code for code, places in damaged.items() for place in places}
    for name, lines in (("train.de", sources), ("train.en", targets)):
        kept = b"".join(line + b"\n" for place, line in enumerate(lines) if place not in wrong)
        assert (tmp_path / "clean" / name).read_bytes() == kept
    rows = [row.split("\t") for row in (tmp_path / "clean" / "dropped.tsv").read_text("utf-8").splitlines()[1:]]
    assert {int(row[1]) - 1 for row in rows} == wrong.keys()
    assert all(wrong[int(row[1]) - 1] in row[2].split(",") for row in rows)
    with pytest.raises(UserError, match="not empty"):
        check(tmp_path, sources, targets, write=tmp_path / "clean")
    assert not diagnose(Corpora("de", "en", [f"{tmp_path}/clean/train.{{lang}}"]))


def test_every_code_is_tested() -> None:
    assert DAMAGE.keys() | {"line-counts-differ", "test-overlap"} == DATA.keys()


@pytest.mark.parametrize("name", ["multi30k:train", "tatoeba-hi-en:train", "wmt-news-de-en:train"])
def test_real_text_is_hardly_accused(name: str, data_directory: Path) -> None:
    languages = ("hi", "en") if "hi" in name else ("de", "en")
    findings = diagnose(Corpora(*languages, [name], data_directory=data_directory))
    assert all(finding.severity == "note" for finding in findings), findings


def test_commands(command: Command, tmp_path: Path, corpus: Path, recipe_document: dict[str, Any]) -> None:
    import tomli_w

    files = corpus / "train.de", corpus / "train.en"
    outcome = command("doctor", "data", *files, "--test", corpus / "test.de", corpus / "test.en")
    assert (outcome.code, outcome.out) == (0, "healthy: nothing was found\n"), outcome.error
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(tomli_w.dumps(recipe_document), encoding="utf-8")
    assert command("doctor", "data", recipe).code == 0
    overlapping = command("doctor", "data", *files, "--test", *files)
    assert overlapping.code == 1
    assert "test-overlap" in overlapping.out
    assert command("doctor", "data", recipe, "--test", *files).code == 2
    assert "no such file" in command("doctor", "data", tmp_path / "none.de", files[1]).error


def test_checking_data_loads_no_torch() -> None:
    code = "import sys, dragoman.doctor.data.diagnose; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
