"""Runs of a document: text between two tags that end a sentence, with the inline tags in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import count

from dragoman.documents.html.tokens import HtmlToken

_ATOM = re.compile(
    r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)"  # as in html.unescape
    r"|(?P<space>[ \t\n\r\f]+)|[^& \t\n\r\f]"
    r"|&"
)


@dataclass
class Run:
    """The unescaped text of a run; white space is one space, and an untouched part is a placeholder such as {1}.

    Attributes:
        text: The text.
        starts: Where each character of the text begins in the document.
        ends: Where each of them ends.
        tokens: The tags and other parts in the run, each with its place in the text.
        placeholders: The untouched part of each placeholder.
    """

    text: str = ""
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    tokens: list[tuple[int, HtmlToken]] = field(default_factory=list)
    placeholders: dict[str, HtmlToken] = field(default_factory=dict)

    def add_text(self, html: str, start: int, end: int) -> None:
        """Append a part of the document."""
        parts: list[str] = []
        for match in _ATOM.finditer(html, start, end):
            text = " " if match["space"] else unescape(match[0])
            if text != " " or not (parts or [self.text])[-1].endswith(" "):
                parts.append(text)
                self.starts += [match.start()] * len(text)
                self.ends += [match.end()] * len(text)
        self.text += "".join(parts)

    def add_token(self, token: HtmlToken) -> None:
        """Append a tag or another part that has no text."""
        self.tokens.append((len(self.text), token))
        if token.name == "br":
            self._append(" ", token)

    def add_placeholder(self, token: HtmlToken, name: str) -> None:
        """Append an untouched part."""
        self.tokens.append((len(self.text), token))
        self.placeholders[name] = token
        self._append(name, token)

    def _append(self, text: str, token: HtmlToken) -> None:
        self.text += text
        self.starts += [token.start] * len(text)
        self.ends += [token.end] * len(text)


def read_runs(html: str, tokens: Sequence[HtmlToken]) -> Iterator[Run]:
    """The runs of a document, in order."""
    names = (name for number in count(1) if (name := f"{{{number}}}") not in html)
    run, preformatted = Run(), False
    for index, token in enumerate(tokens):
        if token.kind == "block" or (token.name == "br" and not _continues(html, tokens[index + 1 :])):
            yield run
            run = Run()
            if token.name == "pre":
                preformatted = not html.startswith("</", token.start)
        elif token.kind == "untouched":
            run.add_placeholder(token, next(names))
        elif token.kind != "text":
            run.add_token(token)
        elif preformatted:
            for line in re.finditer(r"[^\n]*\n?", html[token.start : token.end]):
                run.add_text(html, token.start + line.start(), token.start + line.end())
                if line[0].endswith("\n"):
                    yield run
                    run = Run()
        else:
            run.add_text(html, token.start, token.end)
    yield run


def _continues(html: str, tokens: Sequence[HtmlToken]) -> bool:
    """Whether the text after a line break continues a sentence: whether it begins with a lower-case letter."""
    for token in tokens:
        text = unescape(html[token.start : token.end]).strip() if token.kind == "text" else ""
        if text or token.kind == "block" or token.name == "br":
            return text[:1].islower()
    return False
