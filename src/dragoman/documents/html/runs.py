"""Runs of a document: text between two tags that end a sentence, with the inline tags in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape
from itertools import count, islice

from dragoman.documents.html.tokens import HtmlToken

_ATOM = re.compile(
    r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)"  # as in html.unescape
    r"|(?P<space>[ \t\n\r\f]+)|[^& \t\n\r\f]"
    r"|&"
)

PLACEHOLDER = re.compile(r"\{\d+\}")


@dataclass
class Run:
    """The unescaped text of a run; white space is one space, and an untouched part is a placeholder such as {1}.

    Attributes:
        parts: The text in parts.
        starts: Where each character of the text begins in the document.
        ends: Where each of them ends.
        tokens: The tags and other parts in the run.
        places: The place of each token in the text.
        placeholders: The placeholder of each untouched part, by the index of its token.
    """

    parts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    tokens: list[HtmlToken] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    placeholders: dict[int, str] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        """The text of a run that is complete."""
        return "".join(self.parts)

    def add_text(self, html: str, start: int, end: int) -> None:
        """Append a part of the document."""
        for match in _ATOM.finditer(html, start, end):
            text = " " if match["space"] else unescape(match[0])
            if text != " " or not (self.parts and self.parts[-1] == " "):
                self._append(text, match.start(), match.end())

    def add_token(self, token: HtmlToken) -> None:
        """Append a tag or another part that has no text."""
        self.tokens.append(token)
        self.places.append(len(self.starts))
        if token.name == "br":
            self._append(" ", token.start, token.end)

    def add_placeholder(self, token: HtmlToken, name: str) -> None:
        """Append an untouched part."""
        self.placeholders[len(self.tokens)] = name
        self.add_token(token)
        self._append(name, token.start, token.end)

    def _append(self, text: str, start: int, end: int) -> None:
        self.parts.append(text)
        self.starts += [start] * len(text)
        self.ends += [end] * len(text)


def read_runs(html: str, tokens: Sequence[HtmlToken]) -> Iterator[Run]:
    """The runs of a document, in order."""
    used = set(PLACEHOLDER.findall(html))
    names = (name for number in count(1) if (name := f"{{{number}}}") not in used)
    run, preformatted = Run(), False
    for index, token in enumerate(tokens):
        if token.kind == "block" or (token.name == "br" and not _continues(html, islice(tokens, index + 1, None))):
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


def _continues(html: str, tokens: Iterable[HtmlToken]) -> bool:
    """Whether the text after a line break continues a sentence: whether it begins with a lower-case letter."""
    for token in tokens:
        text = unescape(html[token.start : token.end]).strip() if token.kind == "text" else ""
        if text or token.kind == "block" or token.name == "br":
            return text[:1].islower()
    return False
