"""Rules for markdown-it: boxes and tabs of MkDocs, containers, and formulas, also those with backslashes."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_block_dollar

_BOX = re.compile(
    r'(?:!!!|\?\?\?\+?)[ \t]*(?:[\w-]+(?:[ \t]+[\w-]+)*)?(?:[ \t]*"(?P<title>.*)")?[ \t]*'
    r'|===[!+]?[ \t]+"(?P<tab>.*)"[ \t]*'
)
_INDENT = 4  # of what is in a box
_CONTAINER = re.compile(
    r":{3,}[ \t]*(?:\{[^{}]*\}|[\w-]+)?(?:\[(?P<label>[^\[\]]*)\].*|[ \t]+(?P<title>[^\s\[{].*)|[ \t]*\{.*|[ \t]*)"
    r"|/{3,}[ \t]*[\w-]*[ \t]*(?:\|[ \t]*(?P<heading>.*))?"
)
_PARENTHESES = re.compile(r"\\\((.{1,500}?)\\\)")
_FORMULA = re.compile(r"[\\^_={}<>+]|^\s*\w\s*$")  # but not words in parentheses that are written with backslashes

_BRACKETS = re.compile(r"\\([\[\]])[ \t]*")
_INTERRUPTS: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list", "footnote_def"]}


def add_rules(parser: MarkdownIt) -> None:
    """Let a parser read formulas, and boxes and containers, whose titles are inline tokens with their "column"."""
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    parser.block.ruler.at("math_block", math_block_dollar(), _INTERRUPTS)
    parser.block.ruler.before("fence", "box", _read_box, _INTERRUPTS)
    parser.block.ruler.before("fence", "container", _read_container, _INTERRUPTS)
    parser.block.ruler.before("fence", "brackets", _read_brackets, _INTERRUPTS)
    parser.inline.ruler.before("escape", "math_parentheses", _read_formula)


def _line(state: StateBlock, line: int, pattern: re.Pattern[str]) -> re.Match[str] | None:
    if state.is_code_block(line):
        return None
    return pattern.fullmatch(state.src, state.bMarks[line] + state.tShift[line], state.eMarks[line])


def _push_title(state: StateBlock, line: int, match: re.Match[str]) -> None:
    name = match.lastgroup
    if name and match[name]:
        token = state.push("inline", "", 0)
        token.content, token.map, token.children = match[name], [line, line + 1], []
        token.meta = {"column": match.start(name) - state.bMarks[line]}


def _read_box(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    match = _line(state, start, _BOX)
    indent = state.sCount[start] + _INDENT
    first = next((line for line in range(start + 1, end) if not state.isEmpty(line)), None)
    if not match or first is None or state.sCount[first] < indent:
        return False
    if silent:
        return True
    last = next((n for n in range(first, end) if not state.isEmpty(n) and state.sCount[n] < indent), end)
    _push_title(state, start, match)
    outside = state.parentType, state.lineMax, state.blkIndent
    state.parentType, state.lineMax, state.blkIndent = "box", last, indent
    state.md.block.tokenize(state, start + 1, last)
    state.parentType, state.lineMax, state.blkIndent = outside
    state.line = last
    return True


def _read_container(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The first or the last line of a container; what is between them is read as if they were not there."""
    match = _line(state, start, _CONTAINER)
    if match and not silent:
        _push_title(state, start, match)
        state.line = start + 1
    return match is not None


def _read_brackets(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A formula between lines that contain only the brackets."""
    opening = _line(state, start, _BRACKETS)
    if not opening or opening[1] != "[":
        return False
    for line in range(start + 1, end):
        if found := _line(state, line, _BRACKETS):
            if found[1] == "]" and not silent:
                state.line = line + 1
            return found[1] == "]"
    return False


def _read_formula(state: StateInline, silent: bool) -> bool:
    match = _PARENTHESES.match(state.src, state.pos, state.posMax)
    if not match or not _FORMULA.search(match[1]):
        return False
    if not silent:
        state.push("math_inline", "math", 0).content = match[0]
    state.pos = match.end()
    return True
