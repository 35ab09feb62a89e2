"""Clean parallel text, and the ways to damage it that the checks of data must find."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor import Finding
from dragoman.doctor.data.check import check_corpora
from dragoman.doctor.data.corpora import Corpora
from dragoman.settings import FilePair

SIZE = 3000
Lines = list[bytes]
Damage = Callable[[Lines, Lines], list[int]]
"""Damages both sides in place and returns the indices of the pairs that a check should flag."""


def clean_lines() -> tuple[Lines, Lines]:
    sources, targets = zip(*captions("train")[:SIZE], strict=True)
    return [text.encode() for text in sources], [text.encode() for text in targets]


def write_files(directory: Path, sources: Lines, targets: Lines, name: str = "train") -> tuple[Path, Path]:
    paths = directory / f"{name}.de", directory / f"{name}.en"
    for path, lines in zip(paths, (sources, targets), strict=True):
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    return paths


def check_lines(
    directory: Path,
    sources: Lines,
    targets: Lines,
    *,
    test: tuple[Path, Path] | None = None,
    write_to: Path | None = None,
) -> list[Finding]:
    return check_corpora(two_files(*write_files(directory, sources, targets), test), write_to)


def two_files(source: Path, target: Path, test: tuple[Path, Path] | None = None) -> Corpora:
    """Line-aligned files; their suffixes are the languages."""
    pairs = [FilePair(source=str(files[0]), target=str(files[1])) for files in ((source, target), test) if files]
    return Corpora(source.suffix[1:], target.suffix[1:], pairs[:1], pairs[1:])


def only_finding(findings: list[Finding], code: str) -> Finding:
    assert [finding.code for finding in findings] == [code], findings
    return findings[0]


def shift_stretch(sources: Lines, targets: Lines) -> list[int]:
    targets[1000:1200] = targets[1001:1200] + targets[1000:1001]
    return list(range(1000, 1200))


def shuffle_stretch(sources: Lines, targets: Lines) -> list[int]:
    targets[1000:1300] = targets[1150:1300] + targets[1000:1150]
    return list(range(1000, 1300))


def swap_sides(sources: Lines, targets: Lines) -> list[int]:
    indices = [7, 800, *range(2000, 2020)]
    for index in indices:
        sources[index], targets[index] = targets[index], sources[index]
    return indices


def repeat_pair(sources: Lines, targets: Lines) -> list[int]:
    indices = [500, 1500, 1501]
    for index in indices:
        sources[index], targets[index] = sources[3].upper(), b"  " + targets[3]
    return indices


def write_in_cyrillic(sources: Lines, targets: Lines) -> list[int]:
    targets[40] = "Маленький мальчик играет в парке с собакой.".encode()
    return [40]


def keep_language(sources: Lines, targets: Lines) -> list[int]:
    targets[44] = sources[2000]
    sources[45] = b"Une femme est dans le jardin avec des enfants."
    return [44, 45]


def add_markup(sources: Lines, targets: Lines) -> list[int]:
    sources[70] = b"<p>" + sources[70] + b"</p>"
    targets[71] += b"&nbsp;"
    sources[72], targets[72] = (b"<b>" + side[72] + b"</b>" for side in (sources, targets))
    targets[73] += b" & quot ;"
    return [70, 71, 73]


def copy_source(sources: Lines, targets: Lines) -> list[int]:
    targets[12] = sources[12]
    targets[13] = sources[13].upper()
    sources[14] = targets[14].replace(b".", b" !").replace(b" ", b"  ")
    targets[2999] = sources[2999]
    return [12, 13, 14, 2999]


def shorten_and_join(sources: Lines, targets: Lines) -> list[int]:
    targets[100] = b"A."
    targets[101] = b" ".join(targets[101:110])
    return [100, 101]


def decode_wrongly(sources: Lines, targets: Lines) -> list[int]:
    sources[55] = "Ein schönes Mädchen trägt einen grünen Hut.".encode().decode("cp1252").encode()
    sources[56] = "Ein sch\ufffdnes Kind schläft.".encode()
    sources[46] = b"Ein sch?nes M?dchen tr?gt einen gr?nen Hut."
    sources[47] = rb"Ein M\u00e4dchen steht auf der Stra\u00dfe."
    sources[48] = b"Ein M%C3%A4dchen steht im Park."
    sources[49] = b"Das Mdchen steht auf der Strae."
    return [46, 47, 48, 49, 55, 56]


def insert_latin_1(sources: Lines, targets: Lines) -> list[int]:
    sources[77] = "Ein schönes Mädchen schläft im Park.".encode("latin-1")
    return [77]


def insert_control_characters(sources: Lines, targets: Lines) -> list[int]:
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
    targets[63] = "\u200b\u00a0\ufeff".encode()
    return [60, 61, 62, 63]


def cut_off(sources: Lines, targets: Lines) -> list[int]:
    indices = [index for index in range(200, 400) if len(targets[index].split()) >= 10][:5]
    for index in indices:
        words = targets[index].split()
        targets[index] = b" ".join(words[: len(words) // 2])
    return indices


def repeat_side(sources: Lines, targets: Lines) -> list[int]:
    targets[300] += b" " + targets[300]
    sources[301] += b" " + sources[301]
    sources[302], targets[302] = (side[302] + b" " + side[302] for side in (sources, targets))
    return [300, 301]


STRETCHES: list[Damage] = [shift_stretch, shuffle_stretch]
PAIRS: dict[str, Damage] = {
    "swapped-sides": swap_sides,
    "duplicates": repeat_pair,
    "wrong-script": write_in_cyrillic,
    "wrong-language": keep_language,
    "markup": add_markup,
    "copied-source": copy_source,
    "length-ratio": shorten_and_join,
    "cut-off": cut_off,
    "repeated-side": repeat_side,
    "encoding-damage": decode_wrongly,
    "invalid-utf8": insert_latin_1,
    "control-characters": insert_control_characters,
    "over-long": join_lines,
    "empty-side": empty_sides,
}
