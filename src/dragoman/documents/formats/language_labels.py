"""The labels that state the language of a document, such as lang="de" in HTML, after its text was translated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.corpus.pair import Languages
from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.segment import Segment, SegmentedDocument, TranslatedSegment
from dragoman.documents.sentences import primary_language

RIGHT_TO_LEFT = frozenset(("ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"))

_CODE = rb"(?P<code>[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*)"
_ROOT = re.compile(rb"<(?:html|package|ncx)\b[^<>]*>", re.IGNORECASE)
_LANG = re.compile(rb"(\s(?:xml:)?lang\s*=\s*[\"']?)" + _CODE, re.IGNORECASE)
_DIRECTION = re.compile(rb"(\sdir\s*=\s*[\"']?)(?:ltr|rtl)\b", re.IGNORECASE)
_STYLE = re.compile(rb"<style:text-properties\b[^<>]*>")
_STYLE_LANGUAGE = re.compile(rb"(\sfo:language=\")" + _CODE)
_STYLE_COUNTRY = re.compile(rb"(\sfo:country=\")[^\"<>]*")


@dataclass(frozen=True)
class _Label:
    """A label: a group of its pattern precedes the code.

    Attributes:
        files: The files that have it, by the end of their names.
        pattern: The label.
        of_document: Whether the first one states the language of the whole document. Others are only changed if they
            state the source language, or none.
    """

    files: tuple[str, ...]
    pattern: re.Pattern[bytes]
    of_document: bool = False

    def set(self, content: bytes, languages: Languages) -> bytes:
        """A file with the target language in its labels."""
        source, target = languages

        def change(match: re.Match[bytes]) -> bytes:
            stated = (match["code"] or b"").decode()
            is_source = not stated or primary_language(stated) == primary_language(source)
            return match[1] + target.encode() if self.of_document or is_source else match[0]

        return self.pattern.sub(change, content, count=int(self.of_document))


_LABELS = (
    _Label((".arb",), re.compile(rb"(\"@@locale\"\s*:\s*\")" + _CODE), of_document=True),
    _Label((".vtt",), re.compile(rb"(\A[^\r\n]*(?:\r?\n[^\r\n]+)*?\r?\nLanguage:[ \t]*)" + _CODE), of_document=True),
    _Label((".po", ".pot"), re.compile(rb"^(\"Language: *)" + _CODE + rb"?(?=\\n\")", re.MULTILINE)),
    _Label((".opf", "meta.xml"), re.compile(rb"(<dc:language\b[^<>]*>\s*)" + _CODE), of_document=True),
    _Label((".xml",), re.compile(rb"(<w:(?:lang|themeFontLang)\b[^<>]*?\sw:val=\")" + _CODE)),
    _Label((".xml",), re.compile(rb"(<a:(?:rPr|endParaRPr|defRPr)\b[^<>]*?\slang=\")" + _CODE)),
)
_MARKUP = (".html", ".htm", ".xhtml", ".opf", ".ncx")


def set_language(name: str, content: bytes, languages: Languages) -> bytes:
    """A translated file, or a member of an archive, whose labels state the target language.

    Args:
        name: Its name, whose suffix is that of its format.
        content: What it contains.
        languages: Codes of the source and the target.
    """
    name = name.lower()
    for label in _LABELS:
        if name.endswith(label.files):
            content = label.set(content, languages)
    if name.endswith(_MARKUP):
        content = _ROOT.sub(lambda match: _set_root(match[0], languages[1]), content, count=1)
    if name.endswith(".xml"):
        content = _STYLE.sub(lambda match: _set_style(match[0], languages), content)
    return content


class LabeledDocument:
    """A document whose labels state the target language once a sentence was changed."""

    def __init__(self, document: SegmentedDocument[bytes], file: DocumentFile) -> None:
        self._document, self._file = document, file
        self.segments: Sequence[Segment] = document.segments

    def assemble(self, translations: Sequence[TranslatedSegment]) -> bytes:
        """The file with the translation of each segment."""
        content = self._document.assemble(translations)
        if [each.text for each in translations] == [segment.text for segment in self.segments]:
            return content
        return set_language(self._file.name, content, self._file.languages)


def _set_root(tag: bytes, target: str) -> bytes:
    """The start of a document, and its direction if it states its language."""
    if not _LANG.search(tag):
        return tag
    tag = _LANG.sub(lambda match: match[1] + target.encode(), tag)
    direction = b"rtl" if primary_language(target) in RIGHT_TO_LEFT else b"ltr"
    changed, count = _DIRECTION.subn(lambda match: match[1] + direction, tag)
    is_html = tag[:5].lower() == b"<html"
    return tag[:5] + b' dir="rtl"' + tag[5:] if is_html and direction == b"rtl" and not count else changed


def _set_style(tag: bytes, languages: Languages) -> bytes:
    """A style of ODT, whose language and country are two attributes."""
    stated = _STYLE_LANGUAGE.search(tag)
    if not stated or primary_language(stated["code"].decode()) != primary_language(languages[0]):
        return tag
    _, _, country = languages[1].replace("_", "-").partition("-")
    tag = _STYLE_LANGUAGE.sub(lambda match: match[1] + primary_language(languages[1]).encode(), tag)
    return _STYLE_COUNTRY.sub(lambda match: match[1] + (country or "none").encode(), tag)
