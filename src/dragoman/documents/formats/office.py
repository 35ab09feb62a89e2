"""Word and PowerPoint documents, whose paragraphs have the same structure."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from dragoman.documents.formats.characters import read_xml
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.formats.package import (
    OpenMember,
    PackagedDocument,
    Relationships,
    find_by_root,
    open_properties,
    warn_of_comments,
)
from dragoman.documents.passage import to_parts
from dragoman.errors import UserError
from dragoman.markup.elements import BLOCK, DIVIDER, HIDDEN, INLINE, MAYBE_NOTE, OFFICE, WORD
from dragoman.markup.items import Fixed, Group, Inner, Item, Piece, TextItem, raw_text
from dragoman.markup.tags import CodeEdge, attribute_pieces, match_edges, read_attributes
from dragoman.markup.xml import XmlElement, XmlNode, XmlText, encode_xml, raw_xml, xml_text

_WORD_PARTS = ("footnotes", "endnotes", "header", "footer")
_WORD_ROOTS = ("document", "footnotes", "endnotes", "hdr", "ftr")
_SLIDE_ROOTS = ("sld", "notes")
_DRAWN = ("diagramData", "diagramDrawing", "chart")
"""Parts of drawings: a diagram has its texts twice, as they are edited and as they are shown."""

_DESCRIBED = ("docPr", "cNvPr", "tblCaption", "tblDescription", "listItem")
_COMMENT = re.compile(rb"<(?:\w+:)?(?:t|text)[\s>]")
_REVISION = re.compile(r'\s[\w:]*rsid\w*="[^"]*"')


def open_docx(file: DocumentFile) -> PackagedDocument:
    """The body, the notes, the headers and the footers of a document, and its diagrams and titles of charts."""
    return PackagedDocument(file, partial(_find_text, file))


def open_pptx(file: DocumentFile) -> PackagedDocument:
    """The slides of a presentation, each with its diagrams, its titles of charts, and its notes."""
    return PackagedDocument(file, partial(_find_slides, file))


def _find_text(file: DocumentFile, archive: zipfile.ZipFile) -> Mapping[str, OpenMember]:
    related = Relationships(file, archive)
    main = related.targets("", "officeDocument")
    others = [target for part in main for kind in _WORD_PARTS for target in related.targets(part, kind)]
    names = _with_drawings(related, [*main, *others]) or find_by_root(archive, _WORD_ROOTS)
    if not names:
        raise UserError(
            f"{file.name}: is not a Word document, because it contains no text; save it again in its program"
        )
    _warn_of_comments(file, archive, [each for part in main for each in related.targets(part, "comments")])
    if any(related.targets(part, "aFChunk") for part in main):
        warnings.warn(
            f"{file.name}: contains other documents (altChunk), which are not translated; open it in Word and save it "
            "again, so that they become a part of it",
            stacklevel=2,
        )
    return _openers(related, names)


def _find_slides(file: DocumentFile, archive: zipfile.ZipFile) -> Mapping[str, OpenMember]:
    related = Relationships(file, archive)
    main = related.targets("", "officeDocument")
    slides = [slide for part in main for slide in related.targets(part, "slide")]
    names = [name for slide in slides for name in (slide, *related.targets(slide, "notesSlide"))]
    names = _with_drawings(related, names) or find_by_root(archive, _SLIDE_ROOTS)
    if not main and not names:
        raise UserError(
            f"{file.name}: is not a presentation, because it contains no slides; save it again in its program"
        )
    _warn_of_comments(file, archive, [each for part in slides for each in related.targets(part, "comments")])
    return _openers(related, names)


def _openers(related: Relationships, names: Sequence[str]) -> Mapping[str, OpenMember]:
    """How to open the members with text, and the one with the title and the description of the document."""
    properties = related.targets("", "core-properties")
    return {**dict.fromkeys(names, open_office_xml), **dict.fromkeys(properties, open_properties)}


def _with_drawings(related: Relationships, names: Sequence[str]) -> list[str]:
    """Members with text, each followed by those of the drawings in it."""
    return [
        each for name in names for each in (name, *(part for kind in _DRAWN for part in related.targets(name, kind)))
    ]


def _warn_of_comments(file: DocumentFile, archive: zipfile.ZipFile, parts: Sequence[str]) -> None:
    """Say that comments are not translated, if one of these parts contains some."""
    if any(_COMMENT.search(archive.read(part)) for part in parts):
        warn_of_comments(file)


def open_office_xml(file: DocumentFile) -> PassageDocument:
    """The document in an XML member.

    Raises:
        UserError: It is not well-formed.
    """
    root, characters = read_xml(file)
    return PassageDocument(to_parts(block_items(root.children), file.writing(encode_xml)), characters.encode)


def block_items(nodes: Sequence[XmlNode]) -> list[Item]:
    """The items of nodes that contain paragraphs: what is outside of these ends sentences."""
    items: list[Item] = []
    raw: list[str] = []
    _add_blocks(nodes, items, raw)
    return [*items, Fixed(("".join(raw),), DIVIDER)]


def _add_blocks(nodes: Sequence[XmlNode], items: list[Item], raw: list[str]) -> None:
    """Add items; `raw` is what was read since the last paragraph."""
    for node in nodes:
        if isinstance(node, XmlText):
            raw.append(node.raw)
            continue
        pieces = _start_pieces(node)
        if len(pieces) > 1:
            items.append(Fixed(("".join(raw), *pieces), DIVIDER))
            raw.clear()
        else:
            raw.append(node.start)
        if OFFICE.find(node.name) is BLOCK:
            items += [Fixed(("".join(raw),), DIVIDER), *_inline_items(node.children)]
            raw.clear()
        else:
            _add_blocks(node.children, items, raw)
        raw.append(node.end)


def _start_pieces(node: XmlElement) -> tuple[Piece, ...]:
    """The start tag, with the description of a picture or a table, or a choice of a list."""
    if node.name not in _DESCRIBED:
        return (node.start,)
    attributes = read_attributes(node.start)
    return attribute_pieces(node.start, node.name, attributes, node.attributes, OFFICE) or (node.start,)


def _inline_items(nodes: Sequence[XmlNode]) -> list[Item]:
    """The items of a paragraph, or of a part of it."""
    found: list[Item | _FieldCharacter] = []
    for node in nodes:
        if isinstance(node, XmlElement) and node.name == "r":
            found += _run_items(node)
        else:
            found.append(_item(node, "", ""))
    return _fold_fields(found)


def _run_items(run: XmlElement) -> Iterator[Item | _FieldCharacter]:
    """A run as items, each of which is a run by itself."""
    contents = [node for node in run.elements() if node.name != "rPr"]
    properties = run.elements("rPr")
    start = run.start + raw_xml(properties)
    for node in contents:
        raw = f"{start}{raw_xml([node])}{run.end}" if len(contents) > 1 else raw_xml([run])
        text = xml_text(node) if node.name == "t" else OFFICE.find(node.name).text
        if text and _is_hidden(properties):
            yield Fixed((raw,), HIDDEN)
        elif text:
            item = TextItem(raw, text, _style(run, start, node))
            yield Group((), (), (item,), MAYBE_NOTE) if _is_raised(properties) else item
        elif node.name == "fldChar":
            kinds = (value for key, value in node.attributes.items() if key.endswith("fldCharType"))
            yield _FieldCharacter(raw, next(kinds, ""))
        else:
            yield _item(node, start, run.end)


def _item(node: XmlNode, start: str, end: str) -> Item:
    """Something in a paragraph, or in a run with its start and end."""
    raw = f"{start}{raw_xml([node])}{end}"
    if isinstance(node, XmlText):
        return TextItem(raw, "")
    is_link = any("HYPERLINK" in value for key, value in node.attributes.items() if key.endswith("instr"))
    element = INLINE if is_link else OFFICE.find(node.name, node.attributes)
    if node.name == "AlternateContent" and _contains(node, "oMath") and not _contains(node, "p"):
        element = WORD
    if element.lost:
        return TextItem(raw, "")
    if not (element.kept or element.apart):
        return Group((start + node.start,), (node.end + end,), tuple(_inline_items(node.children)), element)
    if not element.apart:
        return Fixed((raw,), element)
    inner = block_items(node.children)
    pieces: tuple[Piece, ...] = (raw,) if len(inner) == 1 else (start + node.start, Inner(tuple(inner)), node.end + end)
    return Fixed(pieces, element)


def _contains(node: XmlElement, name: str) -> bool:
    return any(each.name == name or _contains(each, name) for each in node.elements())


def _is_raised(properties: Sequence[XmlElement]) -> bool:
    """Whether a run has the properties of superscript, as references to notes do."""
    for each in properties:
        if each.attributes.get("baseline", "0").lstrip("0").isdecimal():
            return True
        if any("superscript" in raised.attributes.values() for raised in each.elements("vertAlign")):
            return True
    return False


def _is_hidden(properties: Sequence[XmlElement]) -> bool:
    """Whether a run has the properties of hidden text."""
    hidden = [value for each in properties for value in each.elements("vanish")]
    return any(not {"0", "false", "off"} & set(each.attributes.values()) for each in hidden)


def _style(run: XmlElement, start: str, node: XmlElement) -> tuple[str, str]:
    """What surrounds the text of a changed run, without the numbers that Word gives to each revision."""
    tag = run.start.strip("<>").split()[0].removesuffix("r") + "t"
    preserve = "" if tag == "a:t" else ' xml:space="preserve"'
    start = _REVISION.sub("", run.start) + start[len(run.start) :]
    return f"{start}<{tag}{preserve}>", f"</{tag}>{run.end}"


@dataclass(frozen=True, slots=True)
class _FieldCharacter:
    """A run with the "begin" of a field, with its "end", or with what "separate"s the instruction from the result."""

    raw: str
    kind: str


def _fold_fields(items: Sequence[Item | _FieldCharacter]) -> list[Item]:
    """Items in which each field is one item: a group with the text of a link, or else a word that is kept.

    Characters of fields that start or end elsewhere divide the text.
    """
    edges = (
        CodeEdge(index, "", item.kind == "begin")
        for index, item in enumerate(items)
        if isinstance(item, _FieldCharacter) and item.kind != "separate"
    )
    pairs = match_edges(edges)
    folded: list[Item] = []
    position = 0
    while position < len(items):
        item = items[position]
        if not isinstance(item, _FieldCharacter):
            folded.append(item)
        elif position not in pairs:
            folded.append(Fixed((item.raw,), DIVIDER))
        else:
            folded.append(_field(items[position : pairs[position] + 1]))
            position = pairs[position]
        position += 1
    return folded


def _field(field: Sequence[Item | _FieldCharacter]) -> Item:
    separators = [
        index for index, item in enumerate(field) if isinstance(item, _FieldCharacter) and item.kind == "separate"
    ]
    instruction = _raw(field[: separators[0] + 1]) if separators else ""
    if len(separators) == 1 and "HYPERLINK" in instruction:
        return Group((instruction,), (_raw(field[-1:]),), tuple(_fold_fields(field[separators[0] + 1 : -1])))
    return Fixed((_raw(field),), WORD if separators else HIDDEN)


def _raw(items: Sequence[Item | _FieldCharacter]) -> str:
    """What the file contains; texts in items that are kept are not translated."""
    return "".join(item.raw if isinstance(item, _FieldCharacter) else raw_text([item]) for item in items)
