"""The time for a text is proportional to its length, also for texts that were made to be slow."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from growth import assert_linear
from office_files import HEAD, W, docx
from segment_translators import assemble, translate_upper

from dragoman.documents.formats import open_document
from dragoman.documents.formats.html import HtmlText
from dragoman.documents.sentences import PlainText, divide, split_sentences
from dragoman.text.translation import Translation

LANGUAGES = ("de", "en")
CUE = "1\n00:00:01,000 --> 00:00:02,500\n"
PO_HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
PARTS = [
    *("A 1. ", "Hund Nummer 12. ", "1 ", "\n", "1. A\n", "<b>a ", "<b>a</b> ", "a<br>"),
    *("<i>A.</i> B. ", "{", "{{a ", "`a` ", "“", "![", "你好。"),
    *("\u0301", "a@b.", "\U0001f1e9", "<b> <i> ", "<a href='"),
    *("<code>", "</b>", "&amp;", "<p>a. ", "<", "<!--", "<a title='x'>"),
]


def write_icu(size: int) -> str:
    return "{n, plural, other {a " * size + "x" + "}}" * size


def write_xliff(source: str) -> str:
    unit = f'<trans-unit id="1"><source>{source}</source></trans-unit>'
    return f'<xliff><file source-language="de" target-language="en">{unit}</file></xliff>'


def write_divided(size: int) -> str:
    """A unit with many segments, of which every second one has no place yet."""
    sources = "".join(f'<mrk mtype="seg" mid="{number}">A.</mrk>' for number in range(size))
    targets = "".join(f'<mrk mtype="seg" mid="{number}">A.</mrk>' for number in range(0, size, 2))
    unit = f"<trans-unit><source>A.</source><seg-source>{sources}</seg-source><target>{targets}</target></trans-unit>"
    return f'<xliff><file source-language="de" target-language="en">{unit}</file></xliff>'


def write_docx(paragraph: str) -> bytes:
    return docx(f"{HEAD}<w:document {W}><w:body><w:p>{paragraph}</w:p></w:body></w:document>")


def run_html(html: str) -> None:
    document = HtmlText(html, "de")
    document.assemble([translate_upper(segment) for segment in document.segments])


def run_plain(text: str) -> None:
    document = PlainText(text, "de")
    document.assemble([Translation(f"{segment.text}x") for segment in document.segments])


def run_file(name: str, data: str | bytes) -> None:
    encoded = data if isinstance(data, bytes) else data.encode()
    assemble(open_document(encoded, name, LANGUAGES), translate_upper)


RUNS: dict[str, Callable[[str], object]] = {
    "sentences": lambda text: split_sentences(text, "de"),
    "division": lambda text: divide(text, lambda part: len(part) <= 100),
    "plain text": run_plain,
    "html": run_html,
    "markdown": lambda text: run_file("a.md", f"x {text}"),
    "subtitles": lambda text: run_file("a.srt", f"{CUE}x {text}"),
    "json": lambda text: run_file("a.json", json.dumps({"a": text, "b": "x"})),
    "po": lambda text: run_file("a.po", f'{PO_HEADER}msgid {json.dumps(f"x {text}", ensure_ascii=False)}\nmsgstr ""\n'),
    "csv": lambda text: run_file("a.csv", "a;b\nx;" + text.replace('"', "'")),
}
NESTED: dict[str, Callable[[int], object]] = {
    "marks": lambda size: run_html("<i>a " * size + "b" + " c</i>" * size),
    "html around": lambda size: run_html("<i>" * size + "a b" + "</i>" * size),
    "subtitles": lambda size: run_file("a.srt", CUE + "<b>a " * size + "c</b> " * size),
    "json": lambda size: run_file("a.json", json.dumps({"a": write_icu(size)})),
    "texts in xml": lambda size: run_file("a.xlf", write_xliff("a &amp; " * size)),
    "cdata": lambda size: run_file("a.xlf", write_xliff(f"<![CDATA[{'a ' * size}]]>")),
    "lines of cdata": lambda size: run_file("a.xlf", write_xliff("<![CDATA[" + "a\n" * size + "]]>")),
    "segments": lambda size: run_file("a.xlf", write_divided(size)),
    "segments of xliff 2": lambda size: run_file(
        "a.xliff",
        '<xliff srcLang="de" trgLang="en"><file><unit>'
        + "<segment><source>A.</source></segment>" * size
        + "</unit></file></xliff>",
    ),
    "messages": lambda size: run_file("a.po", 'msgid "A."\nmsgid_plural "B."\nmsgstr[0] ""\nmsgstr[1] ""\n\n' * size),
    "codes": lambda size: run_file("a.xlf", write_xliff('<bpt id="1"/>a ' * size)),
    "groups": lambda size: run_file("a.xlf", write_xliff('<g id="1">a</g> b ' * size)),
    "sentences with groups": lambda size: run_file("a.xlf", write_xliff('A <g id="1">a</g> b. ' * size)),
    "runs": lambda size: run_file(
        "a.docx", write_docx("<w:r><w:rPr><w:b/></w:rPr><w:t>A </w:t></w:r><w:r><w:t>b. </w:t></w:r>" * size)
    ),
    "fields": lambda size: run_file(
        "a.docx", write_docx('<w:r><w:fldChar w:fldCharType="begin"/><w:t>a </w:t></w:r>' * size)
    ),
    "placeholders": lambda size: run_html("Ein <code>x</code> hier " * size),
    "po without header": lambda size: run_file("a.po", f'msgid "x{"Content-Type:" * size}"\nmsgstr ""\n'),
    "markdown code": lambda size: run_file("a.md", "Ein `x` hier " * size),
}


ODD = [
    *(("<", "1", ""), ("<", "a", ""), ("<b", " class=a", ">x</b>"), ("<b", " a='", ">x</b>"), ("<1:", "1", "")),
    *(("", "<!--", ""), ("_", "_", "!"), ("", "aA", " x")),
]
"""Tags and names: a start, a part that is repeated, and an end."""


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", RUNS)
def test_time_for_repeated_parts(name: str, part: str) -> None:
    assert_linear(lambda size: RUNS[name](part * (size // len(part))), 5000)


@pytest.mark.slow
@pytest.mark.parametrize("name", NESTED)
def test_time_for_nested_and_repeated_elements(name: str) -> None:
    assert_linear(NESTED[name], 1000)


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ["html", "markdown", "subtitles", "json", "po", "csv"])
def test_time_for_odd_tags_and_names(name: str, odd: tuple[str, str, str]) -> None:
    start, part, end = odd
    assert_linear(lambda size: RUNS[name](start + part * (size // len(part)) + end), 20_000)
