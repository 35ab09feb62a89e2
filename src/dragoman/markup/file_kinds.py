"""Kinds of files whose lines are not sentences, by name or content: tags, keys and times would be learned as text."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from dragoman.markup.elements import HTML

_TABLE = "with the source in one column and the target in the other"
_COPY = f"copy the sentences to a text file with one per line, or to a table {_TABLE} (.csv or .xlsx)"
_CONVERT = "convert the files of both languages to one PO file, for example with: {}; or to a table (.csv or .xlsx)"
_THERE_AND_BACK = "convert it with {} to .po, and the translation back with {}"


def _root(*names: str) -> str:
    """Matches XML with one of these names as root."""
    return rf"(?:<!--(?:[^-]|-(?!->))*-->\s*|<[?!](?!--)[^>]*>\s*)*<(?:{'|'.join(names)})[\s>]"


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file.

    Attributes:
        content: What such a file is.
        remedy: What to do with it as a part of a corpus.
        document: What to do with it as a document to translate.
        suffixes: The ends of its name that mean nothing else.
        document_suffixes: Ends of documents that mean something else in corpora, such as the code of a language.
        pattern: What its content starts with, after white space.
    """

    content: str
    remedy: str
    document: str
    suffixes: tuple[str, ...] = ()
    pattern: str = r"(?!)"
    document_suffixes: tuple[str, ...] = ()


FILE_KINDS = (
    FileKind(
        "a message catalog (PO)",
        "rename it to .po: it contains both languages",
        "rename it to .po",
        pattern=r'(?:#[^\n]*\n|\s)*msg(?:id|ctxt)\s*"',
    ),
    FileKind(
        "a compiled message catalog",
        "take the .po file, or run: msgunfmt FILE > NEW.po",
        "translate the .po file",
        (".gmo",),
        r"\xde\x12\x04\x95|\x95\x04\x12\xde",
        (".mo",),
    ),
    FileKind(
        "a translation memory (TMX)",
        "rename it to .tmx: it contains both languages",
        "rename it to .tmx",
        pattern=_root("tmx"),
    ),
    FileKind(
        "a translation project (XLIFF)",
        "rename it to .xlf: it contains both languages",
        "rename it to .xlf",
        pattern=_root(r"(?:\w+:)?xliff"),
    ),
    FileKind("a file of subtitles (WebVTT)", _COPY, "rename it to .vtt", (".vtt",), r"WEBVTT[^\n]*\n[\s\S]*?-->"),
    FileKind(
        "a file of subtitles, with numbers and times between the texts",
        _COPY,
        "rename it to .srt",
        (".srt",),
        r"(?:\d+\s*\n)?(?:\d{1,3}:)?\d\d:\d\d[,.]\d{2,3}[ \t]*-->",
    ),
    FileKind(
        "a file of subtitles, with times between the texts",
        _COPY,
        "save it as .srt, for example with: ffmpeg -i FILE NEW.srt",
        (".ass", ".ssa", ".sbv", ".ttml", ".dfxp"),
        r"\[Script Info\]|\[INFORMATION\]|(?:\[\d+\]\[\d+\][^\n]*(?:\n|$)){2}"
        r"|(?:\d+\s*\n)?\d{1,2}:\d\d:\d\d[,.]\d{2,3}[ \t]*,[ \t]*\d{1,2}:\d\d:\d\d|\{\d+\}\{\d+\}"
        r"|(?:\[[a-z]+:[^\]\n]*\]\s*)*(?:\[\d\d:\d\d\.\d\d\d?\][^\n]*(?:\n|$)){2}|" + _root("tt", "SAMI"),
        (".sub", ".smi", ".lrc"),
    ),
    FileKind("a text in RTF", _COPY, "save it as .docx", (".rtf",), r"\{\\rtf"),
    FileKind("a PDF document", _COPY, "convert it to .docx, or extract its text", (".pdf",), "%PDF-"),
    FileKind("a text document", _COPY, "save it as .docx", (".doc", ".docm", ".dotx")),
    FileKind("a presentation", _COPY, "save it as .pptx", (".ppt", ".pptm", ".odp"), document_suffixes=(".key",)),
    FileKind(
        "a package of a translation program",
        _COPY,
        "extract it, for example with 7-Zip, and translate the .sdlxliff, .mqxliff or .xlf files in it",
        document_suffixes=(".sdlppx", ".sdlrpx", ".mqout", ".mqback", ".wsxz", ".tipp", ".xlz"),
    ),
    FileKind(
        "a document of a publishing program",
        _COPY,
        "convert it to .xlf with a translation program such as OmegaT or Okapi, and the translation back",
        document_suffixes=(".idml", ".indd", ".mif"),
    ),
    FileKind("a text document of LibreOffice", _COPY, "save it as .odt", (".fodt", ".ott", ".sxw")),
    FileKind("a document", _COPY, "choose another document", (".docx", ".odt", ".pptx", ".epub")),
    FileKind("a book", _COPY, "convert it to .epub, for example with Calibre", (".mobi", ".azw3", ".fb2")),
    FileKind(
        "a page with tags between the texts",
        _COPY,
        "rename it to .html",
        (".html", ".htm", ".xhtml"),
        f"(?i:{_root('html')})",
    ),
    FileKind(
        "a text in LaTeX",
        _COPY,
        "convert it with po4a to .po, and the translation back",
        (".tex", ".latex"),
        r"(?:%[^\n]*\n\s*)*\\(?:documentclass|begin\{document\})",
    ),
    FileKind(
        "a text with marks of USFM before the verses",
        r"take the verses: sed -n 's/^\\v [0-9-]* *//p' FILE > NEW; check that the same verses are in both files",
        r"take the verses: sed -n 's/^\\v [0-9-]* *//p' FILE > NEW.txt",
        (".usfm", ".sfm"),
        r"\\id [A-Z0-9]{3}\b",
    ),
    FileKind(
        "a text with markup",
        _COPY,
        "convert it with pandoc to .md, or with po4a to .po, and the translation back",
        (".rst", ".adoc", ".asciidoc", ".textile"),
        document_suffixes=(".org", ".wiki"),
    ),
    FileKind(
        "a spreadsheet",
        f"save it as .xlsx or .csv, {_TABLE}",
        "save it as .csv",
        (".ods", ".xls"),
        document_suffixes=(".xlsx", ".xlsm"),
    ),
    FileKind(
        "an archive", "extract it", "extract it, and translate its files one by one", document_suffixes=(".zip", ".7z")
    ),
    FileKind(
        "a compressed file",
        "decompress it",
        "decompress it, for example with: gunzip FILE",
        document_suffixes=(".gz", ".bz2", ".xz"),
    ),
    FileKind(
        "a test set in SGML, with tags between the texts",
        r"take the text of <seg>: sed -n 's/.*<seg[^>]*> *\(.*\)<\/seg>.*/\1/p' FILE > NEW",
        r"take the text of <seg>: sed -n 's/.*<seg[^>]*> *\(.*\)<\/seg>.*/\1/p' FILE > NEW.txt",
        (".sgm", ".sgml"),
        _root("srcset", "refset", "tstset", "mteval", "doc"),
    ),
    FileKind(
        "a file of Android's strings, with tags between the texts",
        _CONVERT.format("a2po"),
        _THERE_AND_BACK.format("a2po", "a2po"),
        pattern=_root("resources"),
    ),
    FileKind(
        "a term base (TBX)",
        f"export its terms as .xlsx or .csv, {_TABLE}",
        "export its terms as .csv",
        (".tbx",),
        _root("martif", "tbx"),
    ),
    FileKind(
        "a translation of a program with Qt",
        "convert it to PO: lconvert -i FILE -o NEW.po",
        "convert it to .xlf: lconvert -i FILE -o NEW.xlf; and the translation back",
        (".qm",),
        _root("TS") + r"|\x3c\xb8\x64\x18",
        (".ts",),
    ),
    FileKind(
        "a file of strings of an Apple program",
        "export its localizations in Xcode, which gives .xliff files",
        "export its localizations in Xcode, which gives .xliff files",
        (".stringsdict", ".xcstrings"),
        r'\{\s*"sourceLanguage"\s*:',
    ),
    FileKind(
        "a file of XML, with tags between the texts",
        _COPY,
        "convert it to a format that is supported, such as .po with po4a or resx2po",
        (".xml", ".resx", ".dita", ".ditamap", ".docbook", ".dbk", ".svg"),
        r"<\?xml\s",
    ),
    FileKind(
        "a file of resources of a Windows program, with a key before each text",
        _CONVERT.format("rc2po -t en.rc de.rc de.po"),
        _THERE_AND_BACK.format("rc2po", "po2rc"),
        (".rc",),
        r"(?:(?://|#)[^\n]*\n\s*)*STRINGTABLE\b",
    ),
    FileKind("an e-mail", _COPY, "copy its text to a .txt file", (".eml", ".msg")),
    FileKind("a calendar or an address book", _COPY, "copy its texts to a .csv file", (".ics", ".vcf")),
    FileKind("a notebook", _COPY, "convert it to .md, for example with: jupytext --to md FILE", (".ipynb",)),
    FileKind(
        "a file of Java's properties, with a key before each text",
        _CONVERT.format("prop2po -t en.properties de.properties de.po"),
        _THERE_AND_BACK.format("prop2po", "po2prop"),
        (".properties",),
    ),
    FileKind(
        "a file of strings of a program, with a key before each text",
        _CONVERT.format("prop2po --personality=strings -t en.strings de.strings de.po"),
        _THERE_AND_BACK.format("prop2po --personality=strings", "po2prop"),
        (".strings",),
        r"(?:(?:(?:/\*(?:[^*]|\*(?!/))*+\*/|//[^\n]*+)\s*+)*+"
        r'"(?:[^"\\\n]|\\.)*+"\s*=\s*"(?:[^"\\]|\\.)*+"\s*;\s*+){2}',
    ),
    FileKind(
        "a file of YAML, with a key before each text",
        _CONVERT.format("yaml2po -t en.yml de.yml de.po"),
        _THERE_AND_BACK.format("yaml2po", "po2yaml"),
        (".yml", ".yaml"),
    ),
    FileKind(
        "a file of PHP, with a key before each text",
        _CONVERT.format("php2po -t en.php de.php de.po"),
        _THERE_AND_BACK.format("php2po", "po2php"),
        (".php",),
        r"<\?php\b",
    ),
    FileKind(
        "a file of Fluent, with a key before each text",
        _CONVERT.format("fluent2po -t en.ftl de.ftl de.po"),
        _THERE_AND_BACK.format("fluent2po", "po2fluent"),
        (".ftl",),
    ),
    FileKind(
        "a file of settings, with a key before each text",
        _CONVERT.format("ini2po -t en.ini de.ini de.po"),
        _THERE_AND_BACK.format("ini2po", "po2ini"),
        (".ini", ".toml"),
    ),
    FileKind(
        "a file of JSON, with a key before each text",
        _CONVERT.format("json2po -t en.json de.json de.po")
        + "; or write one object per line to a .jsonl file, for example with: jq -c '.[]'",
        "rename it to .json",
        (".json", ".arb"),
        r'\{\s*"[^"\n]*"\s*:|\[\s*\{\s*"',
    ),
    FileKind(
        "a table of words (CoNLL)",
        "take its sentences: sed -n 's/^# text = //p' FILE > NEW",
        "take its sentences: sed -n 's/^# text = //p' FILE > NEW.txt",
        (".conllu", ".conll"),
        r"(?:#[^\n]*\n)*1(?:\t[^\t\n]+){4,9}\r?\n2\t",
    ),
)
"""In the order in which they are tried."""

_KEYED = FileKind(
    "a file of a program, with a key before each text",
    _CONVERT.format("prop2po, yaml2po or json2po"),
    _THERE_AND_BACK.format("prop2po or yaml2po", "po2prop or po2yaml"),
)
_NUMBERED = FileKind(
    "a table with a name or a number before each text",
    "take its second column: cut -f 2- FILE > NEW",
    "rename it to .tsv",
)
_VERSES = FileKind(
    "a list of verses with the place before each text",
    "take the texts: sed -E 's/^[A-Z0-9]{3}[ ._][0-9]+[:.][0-9]+[[:space:]]+//' FILE > NEW",
    "rename it to .tsv",
)
_TAGGED = FileKind("a file with a tag around each text", _COPY, "rename it to .html")
_DELIMITED = FileKind("a table", f"save it as .xlsx or .csv, {_TABLE}", "rename it to .csv")
_KEY = re.compile(
    r"""[\s{,]*(?:-\s+|\#define\s+)?(?:\[?(?P<quote>["'])(?P<quoted>[^"'\n]+)(?P=quote)\]?"""
    r"""|(?P<plain>[^\W\d][\w./-]*))\s*(?:(?P<sign>:(?=\s|\Z)|=)|(?<=[A-Z0-9_])[\s,]+(?="))(?P<text>.*)"""
)
_PROGRAM_KEY = re.compile(r"""\s*["'\w-]*(?:[._/][\w./-]+["']?\s*[:=]|["']\s*[:=]|\s*=)|\s*[\w-]+:$""", re.ASCII)
"""A key as programs write it, unlike "flour: 200 g": with a point, quotation marks, an equals sign, or others in it."""
_ROW = re.compile(r"\w+(?:[-_.]\w+)*\t.*[^\W\d]")
"""A row with a number or name and a text, unlike an item of a list and a line of a table of contents."""
_FIRST_CELL = re.compile(r"[^\t]{1,40}(?=\t)")
_VERSE = re.compile(r"(?:[A-Z]|[1-4](?=[A-Z]))[A-Z]{2}[ ._]\d+[:.]\d+(?=\s)")
"""The place of a verse: GEN 1:1."""
_FIRST_TAG = re.compile(r"\s*</?[A-Za-z][\w:.-]*(?=[\s/>])")
_ELEMENT = re.compile(r"\s*(?:<([A-Za-z][\w:.-]*)[^<>]*>(?:.*</\1>)?|</[^<>]*>)\s*")
"""A line that is an element, or only a tag."""
_ROOT = re.compile(rb"\s*<[A-Za-z][\w:.-]*(?:\s[^<>]*)?>[^\S\n]*\n\s*+<[A-Za-z!?][^<>]*>")
"""The start of XML without a declaration: in its first line is only a tag, and a tag follows."""
_SAMPLE_LINES = 500
_SAMPLE_CHARACTERS = 65_536
_LEAST_ROWS, _LEAST_COLUMNS = 3, 3
"""Of a table; one or two lines with a colon or commas may be anything."""
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


def find_document_kind(name: str, head: bytes) -> FileKind | None:
    """What a document is that has no format of which the text can be translated, or another one than its name says.

    Args:
        name: Its name.
        head: How its content starts.
    """
    stated = next((kind for kind in FILE_KINDS if name.lower().endswith(kind.document_suffixes)), None)
    return stated or find_file_kind(name, head)


def find_similar_kind(text: str) -> FileKind | None:
    """What a text may be whose lines begin like those of another kind of file, or have as many columns.

    A list of words may look like that, too.

    Args:
        text: The text; its first lines are examined.
    """
    lines = [line.rstrip() for line in text[:_SAMPLE_CHARACTERS].split("\n")[:_SAMPLE_LINES] if line.strip()]
    if len(text) > _SAMPLE_CHARACTERS:
        lines = lines[:-1]  # which may be incomplete
    if len(lines) < _LEAST_ROWS:
        return None
    head = "\n".join(lines).encode("utf-8", "replace")
    kind = find_keys(head, head)
    is_other = (kind is _NUMBERED and not all(map(_ROW.match, lines))) or (
        kind is _KEYED and not any(map(_PROGRAM_KEY.match, lines))
    )
    if kind and not is_other:
        return kind
    return _DELIMITED if any(_has_columns(lines, each) for each in ";,") else None


def _has_columns(lines: Sequence[str], delimiter: str) -> bool:
    """Whether lines are rows with the same number of cells, with no space before a cell, as sentences have it."""
    try:
        rows = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return False
    numbers = {len(row) for row in rows}
    has_spaces = any(cell.startswith(" ") for row in rows for cell in row[1:])
    return len(numbers) == 1 and numbers.pop() >= _LEAST_COLUMNS and not has_spaces


def find_keys(source: bytes, target: bytes) -> FileKind | None:
    """What two files are that have the same key, number, place or tag at the start of most of their lines.

    No key occurs twice, and no number. Speakers in dialogs are no keys: their names start with a capital letter, and
    repeat.

    Args:
        source: How the content of the source starts.
        target: How the content of the target starts.
    """
    lines = [
        pair
        for pair in zip(*map(_lines, (source, target)), strict=False)
        if any(any(map(str.isalnum, line)) for line in pair)
    ]
    tags = _same_starts(_FIRST_TAG, [pair for pair in lines if _are_tagged(pair)])
    if _are_most(tags, len(lines)) or all(map(_ROOT.match, (source, target))):
        return _TAGGED
    verses = _same_starts(_VERSE, lines)
    if _are_most(verses, len(lines)) and _are_most(set(verses), len(verses)):
        return _VERSES
    numbers = _same_starts(_FIRST_CELL, lines)
    if _are_most(numbers, len(lines)) and _are_most(set(numbers), len(numbers)):
        return _NUMBERED
    keys: list[str] = []
    texts = 0
    for pair in lines:
        matches = [_KEY.match(line) for line in pair]
        found = [match for match in matches if match and match["text"].strip(" \"'{}[]|>&,;")]
        if all(matches) and not found:
            continue  # a key of other keys
        texts += 1
        names = {match["quoted"] or match["plain"] for match in found if _is_key(match)}
        if len(found) == 2 and len(names) == 1:
            keys += names
    return _KEYED if _are_most(keys, texts) and _are_most(set(keys), len(keys)) else None


def _are_most(found: Collection[str], number: int) -> bool:
    return number > 0 and len(found) >= _LEAST_SHARE * number


def _same_starts(pattern: re.Pattern[str], lines: Iterable[tuple[str, ...]]) -> list[str]:
    """What the two lines of a pair begin with, if it is the same."""
    starts = ({match[0] if (match := pattern.match(line)) else "" for line in pair} for pair in lines)
    return [start for each in starts if len(each) == 1 and (start := each.pop())]


def _are_tagged(pair: Iterable[str]) -> bool:
    """Whether lines begin with a tag of a block, or consist of an element that HTML does not have: not <b>."""
    for line in pair:
        name = tag[0].strip().strip("</").lower() if (tag := _FIRST_TAG.match(line)) else ""
        if not name or not (HTML.find(name).ends or (name not in HTML.rows and _ELEMENT.fullmatch(line))):
            return False
    return True


def _is_key(match: re.Match[str]) -> bool:
    if match["quoted"]:
        return True
    return match["sign"] == "=" or not match["plain"][0].isupper() or any(sign in match["plain"] for sign in "._/")


def _lines(head: bytes) -> Sequence[str]:
    lines = head.decode("utf-8-sig", "replace").split("\n")[:_SAMPLE_LINES]
    return [line for line in lines if not re.match(r"\s*(?:#(?!define\s)|!|//|/\*|---|\[[^]]*\]\s*$)", line)]
