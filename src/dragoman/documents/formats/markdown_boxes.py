"""Boxes and tabs in the Markdown of MkDocs, as a rule for blocks of markdown-it."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

_START = re.compile(
    r'(?:(?:!!!|\?\?\?\+?)[ \t]+[\w-]+(?:[ \t]+[\w-]+)*(?:[ \t]+"(?P<title>[^"]*)")?'
    r'|===[!+]?[ \t]+"(?P<tab>[^"]*)")[ \t]*'
)
_INDENT = 4


def read_boxes(parser: MarkdownIt) -> None:
    """Let a parser read boxes, whose titles become inline tokens with the key "column", and whose text is indented."""
    parser.block.ruler.before("fence", "box", _read_box, {"alt": ["paragraph", "reference", "blockquote", "list"]})


def _read_box(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    match = _START.fullmatch(state.src, state.bMarks[start] + state.tShift[start], state.eMarks[start])
    indent = state.sCount[start] + _INDENT
    first = next((line for line in range(start + 1, end) if not state.isEmpty(line)), None)
    if not match or state.is_code_block(start) or first is None or state.sCount[first] < indent:
        return False
    if silent:
        return True
    last = next((n for n in range(first, end) if not state.isEmpty(n) and state.sCount[n] < indent), end)
    if title := match.lastgroup and match[match.lastgroup]:
        token = state.push("inline", "", 0)
        token.content, token.map, token.children = title, [start, start + 1], []
        token.meta = {"column": match.start(match.lastgroup or 0) - state.bMarks[start]}
    outside = state.parentType, state.lineMax, state.blkIndent
    state.parentType, state.lineMax, state.blkIndent = "box", last, indent
    state.md.block.tokenize(state, start + 1, last)
    state.parentType, state.lineMax, state.blkIndent = outside
    state.line = last
    return True
