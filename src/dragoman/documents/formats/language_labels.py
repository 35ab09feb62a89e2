"""The labels that state the language of a document, such as lang="de" in HTML, after its text was translated."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.corpus.pair import Languages
from dragoman.documents.formats.characters import find_mark
from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.segment import Segment, SegmentedDocument
from dragoman.languages.codes import primary_language, same_language
from dragoman.languages.scripts import HAN_OR_KANA, is_right_to_left, usual_script
from dragoman.markup.po import header_end
from dragoman.text.translation import Translation

_CODE = rb"(?P<code>[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*)(?![\w@\x80-\xff-])"
_COMMENT = rb"<!--(?s:.*?)(?:-->|\Z)"
_ROOT = re.compile(_COMMENT + rb"|(?P<tag><(?P<name>html|package|ncx|body|spine)\b[^<>]*>)", re.IGNORECASE)
"""What may state a language or a direction for all of a page or book."""
_LANG = re.compile(rb"(\s(?:xml:)?lang\s*=\s*[\"']?)" + _CODE, re.IGNORECASE)
_TAG = re.compile(
    _COMMENT + rb"|<(?P<raw>script|style)\b(?s:.*?)(?:</(?P=raw)|\Z)|(?P<tag><[A-Za-z][^<>]*>)", re.IGNORECASE
)
_DIRECTION = re.compile(rb"(\s(?:dir|page-progression-direction)\s*=\s*[\"']?)(?:ltr|rtl)\b", re.IGNORECASE)
_STYLE = re.compile(rb"<style:text-properties\b[^<>]*>")
_REGION = re.compile(r"(?<=-)(?:[A-Za-z]{2}|\d{3})(?![^-])")
_PO_LABEL = re.compile(rb"((?:\"|\\n)Language:[ \t]*+)(?:" + _CODE + rb")?(?=[ \t]*+\\n)")
_BOOK_LABEL = re.compile(_COMMENT + rb"|(<dc:language\b[^<>]*>\s*)" + _CODE)
_LABELS = (
    ((".vtt",), re.compile(rb"(\A[^\r\n]*+(?:\r?\n(?![^\r\n]*-->)[^\r\n]++)*?\r?\nLanguage:[ \t]*+)" + _CODE)),
    ((".opf", ".xml"), _BOOK_LABEL),
    ((".xml",), re.compile(_COMMENT + rb"|(<a:(?:rPr|endParaRPr|defRPr)\b[^<>]*?\slang=\")" + _CODE)),
)
"""Labels by the ends of the names of files; a group precedes the code."""

_WORD_LABEL = re.compile(rb"<w:(?:lang|themeFontLang)\b[^<>]*>")
_WORD_ATTRIBUTES = ("w:val", "w:eastAsia", "w:bidi")
_STYLE_ATTRIBUTES = ("fo:{}", "style:{}-asian", "style:{}-complex")
"""The attributes for text in Latin and most other scripts, East Asian text, and text from right to left."""
_ARB_LABEL = re.compile(rb"(\"@@locale\"\s*:\s*\")" + _CODE)
_MARKUP = (".html", ".htm", ".xhtml", ".opf", ".ncx")
_TEXTS = (*_MARKUP, ".po", ".pot", ".arb", ".vtt", ".xml")


def set_language(name: str, content: bytes, languages: Languages) -> bytes:
    """A translated file, or a member of an archive, whose labels state the target language.

    Args:
        name: Its name, whose suffix is that of its format.
        content: What it contains.
        languages: Codes of the source and the target.
    """
    name, tag = name.lower(), (languages[0], languages[1].replace("_", "-"))
    locale = (languages[0], languages[1].replace("-", "_"))  # as programs write it
    mark, encoding = find_mark(content)
    if encoding != "utf-8" and name.endswith(_TEXTS):  # labels are found as ASCII
        text = content[len(mark) :].decode(encoding)
        return mark + set_language(name, text.encode(), languages).decode().encode(encoding)
    if name.endswith((".po", ".pot")):
        end = header_end(content)
        return _change(_PO_LABEL, content[:end], locale, count=1) + content[end:]
    if name.endswith(".arb"):
        return _change(_ARB_LABEL, content, locale)
    if name.endswith(_MARKUP) and _is_in_source(content, tag):
        content = _ROOT.sub(lambda match: _set_direction(match, tag), content)
    for names, label in _LABELS:
        if name.endswith(names):
            content = _change(label, content, tag)
    if name.endswith(_MARKUP):
        content = _TAG.sub(lambda match: _change(_LANG, match[0], tag) if match["tag"] else match[0], content)
    if name.endswith(".xml"):
        content = _WORD_LABEL.sub(lambda match: _set_attributes(match[0], tag, _WORD_ATTRIBUTES), content)
        content = _STYLE.sub(lambda match: _set_style(match[0], tag), content)
    return content


def _change(label: re.Pattern[bytes], content: bytes, languages: Languages, count: int = 0) -> bytes:
    """The content with the target language in labels that state the source language, or none."""

    def write(match: re.Match[bytes]) -> bytes:
        if match[1] is None:  # a comment
            return match[0]
        return match[1] + languages[1].encode() if _is_source(match, languages) else match[0]

    return label.sub(write, content, count=count)


def _is_source(label: re.Match[bytes], languages: Languages) -> bool:
    """Whether a label states the source language, or none."""
    return not label["code"] or same_language(label["code"].decode(), languages[0])


class LabeledDocument:
    """A document whose labels state the target language once a sentence was changed."""

    def __init__(self, document: SegmentedDocument[bytes], file: DocumentFile) -> None:
        self._document, self._file = document, file
        self.segments: Sequence[Segment] = document.segments

    def assemble(self, translations: Sequence[Translation]) -> bytes:
        """The file with the translation of each segment."""
        content = self._document.assemble(translations)
        if [each.text for each in translations] == [segment.text for segment in self.segments]:
            return content
        return set_language(self._file.name, content, self._file.languages)


def _is_in_source(content: bytes, languages: Languages) -> bool:
    """Whether a page or a book states the source language for all of its text."""
    root = next((match["tag"] for match in _ROOT.finditer(content) if match["tag"]), b"")
    stated = [*_LANG.finditer(root), *(match for match in _BOOK_LABEL.finditer(content) if match[1])]
    return any(_is_source(match, languages) for match in stated)


def _set_direction(match: re.Match[bytes], languages: Languages) -> bytes:
    """The start of a document or of its text, with the direction of the target."""
    if match["tag"] is None:  # a comment
        return match[0]
    tag, direction = match["tag"], b"rtl" if is_right_to_left(languages[1]) else b"ltr"
    directed, count = _DIRECTION.subn(lambda found: found[1] + direction, tag)
    is_html = match["name"].lower() == b"html"
    return tag[:5] + b' dir="rtl"' + tag[5:] if is_html and direction == b"rtl" and not count else directed


def _set_attributes(tag: bytes, languages: Languages, names: Sequence[str]) -> bytes:
    """A label of an office program, which has an attribute for the texts of each kind of scripts.

    If the one for the source states that language, the first one and that for the target state the target language.
    """
    if not _states_source(tag, languages, names):
        return tag
    for kind in (0, _kind_of_script(languages[1])):
        tag = _attribute(names[kind]).sub(lambda match: match[1] + languages[1].encode(), tag)
    return tag


def _states_source(tag: bytes, languages: Languages, names: Sequence[str]) -> bool:
    stated = (_attribute(names[kind]).search(tag) for kind in (0, _kind_of_script(languages[0])))
    return any(match and _is_source(match, languages) for match in stated)


def _attribute(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"(\s%b=\")" % name.encode() + _CODE)


def _kind_of_script(language: str) -> int:
    """The place of the attribute for a language."""
    return 2 if is_right_to_left(language) else 1 if usual_script(language) in (HAN_OR_KANA, "Hangul") else 0


def _set_style(tag: bytes, languages: Languages) -> bytes:
    """A style of ODT, whose language and country are two attributes."""
    names = [each.format("language") for each in _STYLE_ATTRIBUTES]
    if not _states_source(tag, languages, names):
        return tag
    changed = _set_attributes(tag, (languages[0], primary_language(languages[1])), names)
    region = _REGION.search(languages[1])
    for kind in (0, _kind_of_script(languages[1])):
        country = re.compile(rb"(\s%b=\")[^\"<>]*" % _STYLE_ATTRIBUTES[kind].format("country").encode())
        changed = country.sub(lambda match: match[1] + (region[0] if region else "none").encode(), changed)
    return changed
