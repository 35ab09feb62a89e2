"""Runs of a document: text between two tags that end a sentence, with the inline tags in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape

from dragoman.documents.html.tokens import HtmlToken
from dragoman.documents.placeholder_names import new_names

_ATOM = re.compile(
    r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)"  # as in html.unescape
    r"|(?P<space>[ \t\n\r\f]+)|[^& \t\n\r\f]"
    r"|&"
)


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
        spaced: The indices of visible tokens, such as pictures, with a space on both sides. The text has only one.
    """

    parts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    tokens: list[HtmlToken] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    placeholders: dict[int, str] = field(default_factory=dict)
    spaced: set[int] = field(default_factory=set)
    _visible: int | None = None
    """The index of the last visible token, if no text follows it."""

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
            elif self._visible is not None:
                self.spaced.add(self._visible)
                self._visible = None

    def add_token(self, token: HtmlToken) -> None:
        """Append a tag or another part that has no text."""
        self.tokens.append(token)
        self.places.append(len(self.starts))
        if token.name == "br":
            if self.parts[-1:] != [" "]:
                self._append(" ", token.start, token.end)
        elif token.kind == "void":
            self._visible = len(self.tokens) - 1

    def add_placeholder(self, token: HtmlToken, name: str) -> None:
        """Append an untouched part."""
        self.placeholders[len(self.tokens)] = name
        self.add_token(token)
        self._append(name, token.start, token.end)

    def _append(self, text: str, start: int, end: int) -> None:
        self.parts.append(text)
        self.starts += [start] * len(text)
        self.ends += [end] * len(text)
        self._visible = None


def read_runs(html: str, tokens: Sequence[HtmlToken]) -> Iterator[Run]:
    """The runs of a document, in order."""
    texts = [unescape(html[token.start : token.end]) if token.kind == "text" else "" for token in tokens]
    names, sentence_ends = new_names("".join(texts)), _find_sentence_ends(tokens, texts)
    run, preformatted = Run(), False
    for index, token in enumerate(tokens):
        if token.kind == "block" or index in sentence_ends:
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


def _find_sentence_ends(tokens: Sequence[HtmlToken], texts: Sequence[str]) -> set[int]:
    """The indices of the line breaks that end a sentence: those before text that begins with no lower-case letter."""
    ends, continues = set(), False
    for index in range(len(tokens) - 1, -1, -1):
        if tokens[index].name == "br" and not continues:
            ends.add(index)
        text = texts[index].strip()
        if text or tokens[index].kind == "block" or tokens[index].name == "br":
            continues = text[:1].islower()
    return ends
