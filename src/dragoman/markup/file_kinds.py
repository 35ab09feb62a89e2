"""Kinds of files whose lines are not sentences, by name or content: tags, keys and times would be learned as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_TABLE = "with the source in one column and the target in the other"
_COPY = f"copy the sentences to a text file with one per line, or to a table {_TABLE} (.csv or .xlsx)"
_CONVERT = "convert the files of both languages to one PO file, for example with: {}; or to a table (.csv or .xlsx)"


def _root(*names: str) -> str:
    """Matches XML with one of these names as root."""
    return rf"(?:<[?!][^>]*>\s*)*<(?:{'|'.join(names)})[\s>]"


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file.

    Attributes:
        content: What such a file is.
        remedy: What to do with it.
        suffixes: The ends of its name that mean nothing else.
        pattern: What its content starts with, after white space.
    """

    content: str
    remedy: str
    suffixes: tuple[str, ...] = ()
    pattern: str = r"(?!)"


FILE_KINDS = (
    FileKind(
        "a message catalog (PO)",
        "rename it to .po: it contains both languages",
        pattern=r'(?:#[^\n]*\n|\s)*msg(?:id|ctxt)\s*"',
    ),
    FileKind(
        "a compiled message catalog",
        "take the .po file, or run: msgunfmt FILE > NEW.po",
        pattern=r"\xde\x12\x04\x95|\x95\x04\x12\xde",
    ),
    FileKind("a translation memory (TMX)", "rename it to .tmx: it contains both languages", pattern=_root("tmx")),
    FileKind("a translation project (XLIFF)", "rename it to .xlf: it contains both languages", pattern=_root("xliff")),
    FileKind(
        "a file of subtitles, with numbers and times between the texts",
        _COPY,
        (".srt", ".vtt", ".ass", ".ssa"),
        r"WEBVTT\b|\[Script Info\]|(?:\d+\s*\n)?\d{1,2}:\d\d:\d\d[,.]\d{2,3}[ \t]*(?:-->|,)",
    ),
    FileKind(
        "a document", _COPY, (".docx", ".odt", ".doc", ".rtf", ".pptx", ".ppt", ".epub", ".pdf"), r"\{\\rtf|%PDF-"
    ),
    FileKind("a page with tags between the texts", _COPY, (".html", ".htm", ".xhtml"), f"(?i:{_root('html')})"),
    FileKind("a spreadsheet", f"save it as .xlsx or .csv, {_TABLE}", (".ods", ".xls")),
    FileKind(
        "a test set in SGML, with tags between the texts",
        r"take the text of <seg>: sed -n 's/.*<seg[^>]*> *\(.*\)<\/seg>.*/\1/p' FILE > NEW",
        (".sgm", ".sgml"),
        _root("srcset", "refset", "tstset", "mteval", "doc"),
    ),
    FileKind(
        "a file of Android's strings, with tags between the texts",
        _CONVERT.format("a2po"),
        pattern=_root("resources"),
    ),
    FileKind("a term base (TBX)", f"export its terms as .xlsx or .csv, {_TABLE}", (".tbx",), _root("martif", "tbx")),
    FileKind("a translation of a program with Qt", "convert it to PO: lconvert -i FILE -o NEW.po", pattern=_root("TS")),
    FileKind("a file of XML, with tags between the texts", _COPY, (".xml", ".resx"), r"<\?xml\s"),
    FileKind(
        "a file of Java's properties, with a key before each text",
        _CONVERT.format("prop2po -t en.properties de.properties de.po"),
        (".properties",),
    ),
    FileKind(
        "a file of strings of a program, with a key before each text",
        _CONVERT.format("prop2po --personality=strings -t en.strings de.strings de.po"),
        (".strings",),
    ),
    FileKind(
        "a file of YAML, with a key before each text",
        _CONVERT.format("yaml2po -t en.yml de.yml de.po"),
        (".yml", ".yaml"),
    ),
    FileKind(
        "a file of JSON, with a key before each text",
        _CONVERT.format("json2po -t en.json de.json de.po")
        + "; or write one object per line to a .jsonl file, for example with: jq -c '.[]'",
        (".json", ".arb"),
    ),
)
"""In the order in which they are tried."""

_KEYED = FileKind("a file of a program, with a key before each text", _CONVERT.format("prop2po, yaml2po or json2po"))
_KEY = re.compile(
    r"""[\s{,]*(?:-\s+)?(?:(?P<quote>["'])(?P<quoted>[^"'\n]+)(?P=quote)|(?P<plain>[^\W\d][\w./-]*))"""
    r"""\s*(?P<sign>:(?=\s|\Z)|=)(?P<text>.*)"""
)
_SAMPLE_LINES = 500
_LEAST_SHARE = 0.8


def find_file_kind(name: str, head: bytes) -> FileKind | None:
    """What a file is whose lines are not sentences; None for a text.

    Args:
        name: Its name.
        head: How its content starts.
    """
    lower = name.lower().removesuffix(".gz")
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").decode("latin-1")
    by_content = (kind for kind in FILE_KINDS if re.match(kind.pattern, start))
    by_name = (kind for kind in FILE_KINDS if lower.endswith(kind.suffixes))
    return next(by_content, None) or next(by_name, None)


def find_keys(source: bytes, target: bytes) -> FileKind | None:
    """What two files are that have the same key at the start of most of their lines, but no key twice.

    Speakers in dialogs are no keys: their names start with a capital letter, and repeat.

    Args:
        source: How the content of the source starts.
        target: How the content of the target starts.
    """
    sides = [_lines(each) for each in (source, target)]
    keys: list[str] = []
    lines = 0
    for pair in zip(*sides, strict=False):
        matches = [_KEY.match(line) for line in pair]
        found = [match for match in matches if match and match["text"].strip(" \"'{}[]|>&,;")]
        if not any(any(map(str.isalnum, line)) for line in pair) or (all(matches) and not found):
            continue  # a bracket, a blank line, or a key of other keys
        lines += 1
        names = {match["quoted"] or match["plain"] for match in found if _is_key(match)}
        if len(found) == 2 and len(names) == 1:
            keys += names
    enough = lines and len(keys) >= _LEAST_SHARE * lines and len(set(keys)) >= _LEAST_SHARE * len(keys)
    return _KEYED if enough else None


def _is_key(match: re.Match[str]) -> bool:
    if match["quoted"]:
        return True
    return match["sign"] == "=" or not match["plain"][0].isupper() or any(sign in match["plain"] for sign in "._/")


def _lines(head: bytes) -> Sequence[str]:
    lines = head.decode("utf-8-sig", "replace").split("\n")[:_SAMPLE_LINES]
    return [line for line in lines if not re.match(r"\s*(?:[#!]|//|/\*|---|\[[^]]*\]\s*$)", line)]
