"""The same sentence pairs in every corpus format that consists of files."""

from __future__ import annotations

import csv
import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import openpyxl

from dragoman.corpus.pair import Pair
from dragoman.settings import CorpusFile, CorpusReference, FilePair

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


def write_csv(directory: Path, pairs: list[Pair], **options: Any) -> CorpusReference:
    path = directory / "t.csv"
    with path.open("w", encoding=options.pop("encoding", "utf-8"), newline="") as file:
        csv.writer(file, **options).writerows((pair.source, pair.target) for pair in pairs)
    return str(path)


def _write_chosen_columns(directory: Path, pairs: list[Pair]) -> CorpusReference:
    path = directory / "t.csv"
    with path.open("w", encoding="utf-16", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["id", "English", "Kommentar", "Deutsch"])
        writer.writerows((number, pair.target, "", pair.source) for number, pair in enumerate(pairs))
    return CorpusFile(file=str(path), encoding="utf-16", columns=("Deutsch", "English"))


def _write_excel_tsv(directory: Path, pairs: list[Pair]) -> CorpusReference:
    reference = write_csv(directory, pairs, delimiter="\t", quoting=csv.QUOTE_ALL)
    assert isinstance(reference, str)
    path = Path(reference).rename(directory / "t.tsv")
    return CorpusFile(file=str(path), quotes=True)


def write_xlsx(directory: Path, pairs: list[Pair], header: tuple[str, ...] = ("de", "en")) -> CorpusReference:
    path = directory / "t.xlsx"
    workbook = openpyxl.Workbook()
    assert workbook.active is not None
    for row in (header, *((pair.source, pair.target) for pair in pairs)):
        workbook.active.append(row)
    workbook.save(path)
    return CorpusFile(file=str(path), header=True)


def write_tmx(directory: Path, pairs: list[Pair], languages: tuple[str, str] = ("de-DE", "EN")) -> CorpusReference:
    def variant(language: str, text: str) -> str:
        return f'<tuv xml:lang="{language}"><seg>{escape(text)}</seg></tuv>'

    units = (f"<tu>{variant(languages[0], pair.source)}{variant(languages[1], pair.target)}</tu>\n" for pair in pairs)
    path = directory / "t.tmx"
    path.write_bytes(
        f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n'
        f'<header srclang="{languages[0]}"/>\n<body>\n{"".join(units)}</body>\n</tmx>\n'.encode()
    )
    return str(path)


def _write_utf16_tmx(directory: Path, pairs: list[Pair]) -> CorpusReference:
    path = Path(str(write_tmx(directory, pairs)))
    path.write_bytes(path.read_text("utf-8").replace("utf-8", "UTF-16", 1).encode("utf-16"))
    return str(path)


def _write_xliff_1(directory: Path, pairs: list[Pair]) -> CorpusReference:
    units = "".join(
        f'<trans-unit id="{number}"><source>{escape(pair.source)}</source><target>{escape(pair.target)}</target>'
        "</trans-unit>\n"
        for number, pair in enumerate(pairs)
    )
    path = directory / "t.xlf"
    path.write_bytes(
        '<?xml version="1.0"?>\n<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">\n'
        '<file original="x" source-language="de" target-language="en"><body>\n'
        f"{units}</body></file></xliff>".encode()
    )
    return str(path)


def _write_xliff_2(directory: Path, pairs: list[Pair]) -> CorpusReference:
    segments = (
        f"<segment><source>{escape(pair.source)}</source><target>{escape(pair.target)}</target></segment>\n"
        for pair in pairs
    )
    path = directory / "t.xliff"
    path.write_bytes(
        '<?xml version="1.0"?>\n<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="de" '
        f'trgLang="en"><file id="f"><unit id="u">\n{"".join(segments)}</unit></file></xliff>'.encode()
    )
    return str(path)


def write_po(directory: Path, pairs: list[Pair]) -> CorpusReference:
    """Messages in German, translated into English; those without a side cannot be written."""

    def quote(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    header = "Language: en\\nContent-Type: text/plain; charset=UTF-8\\n"
    messages = (
        f"#: main.c:{number}\nmsgid {quote(pair.source)}\nmsgstr {quote(pair.target)}\n\n"
        for number, pair in enumerate(pairs)
        if pair.complete
    )
    path = directory / "t.po"
    path.write_bytes(f'msgid ""\nmsgstr "{header}"\n\n{"".join(messages)}'.encode())
    return str(path)


def _write_zip(write: Writer) -> Writer:
    """The files of another format in a directory of a ZIP archive, with other files."""

    def write_archive(directory: Path, pairs: list[Pair]) -> CorpusReference:
        write(directory, pairs)
        files = list(directory.iterdir())
        with zipfile.ZipFile(directory / "t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("README", "de en")
            for file in files:
                archive.write(file, f"corpus/{file.name}")
        return str(directory / "t.zip")

    return write_archive


def _compressed(write: Writer) -> Writer:
    def write_compressed(directory: Path, pairs: list[Pair]) -> CorpusReference:
        reference = write(directory, pairs)
        for path in list(directory.iterdir()):
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        if isinstance(reference, FilePair):
            return FilePair(source=f"{reference.source}.gz", target=f"{reference.target}.gz")
        if isinstance(reference, CorpusFile):
            return reference.model_copy(update={"file": f"{reference.file}.gz"})
        return f"{reference}.gz"

    return write_compressed


_PLAIN: dict[str, Writer] = {
    "aligned": write_aligned,
    "aligned file pair": _write_file_pair,
    "aligned windows": _write_windows,
    "tsv": write_tsv,
    "tsv of Excel": _write_excel_tsv,
    "csv": write_csv,
    "csv with semicolons": lambda directory, pairs: write_csv(directory, pairs, delimiter=";"),
    "csv with chosen columns": _write_chosen_columns,
    "tmx": write_tmx,
    "tmx in UTF-16": _write_utf16_tmx,
    "xliff 1.2": _write_xliff_1,
    "xliff 2": _write_xliff_2,
    "po": write_po,
    "jsonl": _write_jsonl(lambda pair: {"en": pair.target, "id": 7, "de": pair.source}, True),
    "jsonl nested": _write_jsonl(lambda pair: {"translation": {"de": pair.source, "en": pair.target}}, False),
    "jsonl source": _write_jsonl(lambda pair: {"source": pair.source, "target": pair.target}, False),
}
_ARCHIVES: dict[str, Writer] = {
    "xlsx": write_xlsx,
    "zip of two files": _write_zip(write_aligned),
    "zip of a tmx": _write_zip(write_tmx),
}
WRITERS = _PLAIN | {f"{name} gz": _compressed(write) for name, write in _PLAIN.items()} | _ARCHIVES
"""By format and variant."""


def expected_pairs(name: str) -> list[Pair]:
    """What a reader returns for `PAIRS`: in PO files, an empty message is the header."""
    return [pair for pair in PAIRS if pair.complete] if name.startswith("po") else PAIRS
