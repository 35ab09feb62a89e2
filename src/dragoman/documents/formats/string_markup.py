"""Tags of HTML in the strings of programs, such as "Click <b>here</b>"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from dragoman.documents.formats.codes import Code, fold_codes
from dragoman.documents.formats.items import Fixed, Item
from dragoman.documents.html.tokens import BLOCKS, INVISIBLE, UNTOUCHED, VOID, HtmlToken, is_excluded, read_attributes
from dragoman.documents.pairs import CodeEdge, match_edges

_TAG = re.compile(
    r"""<!--(?:-?>|(?s:.*?)(?:-->|\Z))|<(/?)([A-Za-z][\w.:-]*+|\d++)([^<>"']*+(?:(?:"[^"<>]*+"|'[^'<>]*+')[^<>"']*+)*)>"""
    r"""|<[A-Za-z][^<>]{0,1000}+<[^<>]{0,1000}+>"""  # a tag that browsers read, with < in it
)
_SINGLE = frozenset(("br", "hr", "img", "li", "p", "wbr"))
"""Elements that need no closing tag; others without one are placeholders, such as <file>."""

_INLINE = frozenset(
    (
        *("a", "abbr", "b", "bdi", "bdo", "big", "cite", "del", "dfn", "em", "font", "i", "ins", "label", "mark", "q"),
        *("s", "small", "span", "strike", "strong", "sub", "sup", "tt", "u"),
    )
)
"""Elements that are no word of the sentence if their other tag is missing."""

_BREAKS = (BLOCKS - VOID) | {"br", "hr"}

ReadText = Callable[[str], Iterator[Item]]


def markup_items(
    text: str, read_text: ReadText, is_html: bool = False, encode: Callable[[str], str] = str
) -> list[Item]:
    """The items of a string: pairs of tags are groups, and other tags are kept.

    A pair may have any name, because programs define other tags, such as `<0>` and `<link>`. A `<` of no tag is
    text, and so is a tag such as `<file>` that is not closed, unless the string is HTML.

    Args:
        text: The string.
        read_text: The items of a text between tags.
        is_html: Whether tags that are not closed are also tags.
        encode: What the file contains for a tag.
    """
    tags = list(_TAG.finditer(text))
    edges = (CodeEdge(index, tag[2].lower(), not tag[1]) for index, tag in enumerate(tags) if _is_edge(tag))
    closings = match_edges(edges)
    paired = {*closings, *closings.values()}
    items: list[Item | Code] = []
    position = after = 0
    for index, tag in enumerate(tags):
        if index < after or not (is_html or index in paired or _is_single(tag)):
            continue
        items += read_text(text[position : tag.start()])
        if index in closings and _is_untouched(tag):
            after = closings[index] + 1
            raw = encode(text[tag.start() : tags[after - 1].end()])
            items.append(Fixed((raw,), is_word=_name(tag) not in INVISIBLE))
            position = tags[after - 1].end()
            continue
        items.append(_tag_item(tag, encode(tag[0]), index in paired))
        position = tag.end()
    return fold_codes([*items, *read_text(text[position:])])


def _name(tag: re.Match[str]) -> str:
    return (tag[2] or "").lower()


def _is_edge(tag: re.Match[str]) -> bool:
    return tag[2] is not None and not tag[3].endswith("/")


def _is_single(tag: re.Match[str]) -> bool:
    """Whether a tag is markup without another tag that closes it; also a comment, and a tag that contains another."""
    return not _is_edge(tag) or _name(tag) in _SINGLE


def _is_untouched(tag: re.Match[str]) -> bool:
    attributes = tuple(read_attributes(tag.string, tag.start(), tag.end()))
    token = HtmlToken("opening", tag.start(), tag.end(), _name(tag), attributes)
    return _name(tag) in UNTOUCHED | INVISIBLE or is_excluded(tag.string, token)


def _tag_item(tag: re.Match[str], raw: str, is_paired: bool) -> Item | Code:
    name = _name(tag)
    if name in _BREAKS:
        return Fixed((raw,), divides=True)
    if is_paired:
        return Code(raw, name, not tag[1])
    return Fixed((raw,), is_word=bool(name) and not tag[1] and name not in VOID | _INLINE)
