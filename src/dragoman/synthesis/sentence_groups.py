"""Text divided into requests: sentences that a teacher translates together, and the sentences around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.corpus.lines import MAX_LINE_CHARACTERS
from dragoman.text.normalization import collapse_spaces

CONTEXT = 2
"""How many sentences of the same paragraph are shown before and after those to translate."""

MAX_CHARACTERS = 6000
"""Of the sentences of a request to a server."""

LONGEST_SENTENCE = MAX_LINE_CHARACTERS // 2 - 2
"""Characters of a sentence or a translation at most: both must fit into one line, with what separates them."""


@dataclass(frozen=True)
class SentenceGroup:
    """Sentences that are translated together.

    Attributes:
        sentences: The sentences, at least one.
        before: The sentences before them in the same paragraph.
        after: Those after them.
        paragraphs: The indices of sentences that begin a paragraph, without the first one.
    """

    sentences: tuple[str, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    paragraphs: tuple[int, ...] = ()

    @property
    def characters(self) -> int:
        """The number of characters to translate."""
        return sum(map(len, self.sentences))


def group_sentences(lines: Iterable[str], size: int, characters: int = MAX_CHARACTERS) -> Iterator[SentenceGroup]:
    """Divide lines into groups of at most `size` sentences.

    A blank line ends a paragraph. Paragraphs stay together where they fit. If one is divided, each part has the
    sentences around it as context. Lines without letters are left out.

    Args:
        lines: One sentence per line.
        size: The most sentences of a group.
        characters: The most characters of a group; a longer sentence is alone in one.
    """
    sentences: list[str] = []
    starts: list[int] = []
    for paragraph in _paragraphs(lines):
        if sentences and not _fits([*sentences, *paragraph], size, characters):
            yield SentenceGroup(tuple(sentences), paragraphs=tuple(starts))
            sentences, starts = [], []
        if not sentences and not _fits(paragraph, size, characters):
            yield from _divide_paragraph(paragraph, size, characters)
            continue
        if sentences:
            starts.append(len(sentences))
        sentences += paragraph
    if sentences:
        yield SentenceGroup(tuple(sentences), paragraphs=tuple(starts))


_LONGEST_PARAGRAPH = 5000
"""Lines of a paragraph that are in memory together; text without blank lines is divided after so many."""


def _paragraphs(lines: Iterable[str]) -> Iterator[list[str]]:
    paragraph: list[str] = []
    for line in lines:
        sentence = collapse_spaces(line)
        if any(map(str.isalpha, sentence)):
            paragraph.append(sentence)
        if paragraph and (not sentence or len(paragraph) == _LONGEST_PARAGRAPH):
            yield paragraph
            paragraph = []
    if paragraph:
        yield paragraph


def _fits(sentences: Sequence[str], size: int, characters: int) -> bool:
    return len(sentences) <= size and sum(map(len, sentences)) <= characters


def _divide_paragraph(paragraph: Sequence[str], size: int, characters: int) -> Iterator[SentenceGroup]:
    begin = 0
    while begin < len(paragraph):
        end = begin + 1
        while end < len(paragraph) and _fits(paragraph[begin : end + 1], size, characters):
            end += 1
        yield SentenceGroup(
            tuple(paragraph[begin:end]),
            before=tuple(paragraph[max(0, begin - CONTEXT) : begin]),
            after=tuple(paragraph[end : end + CONTEXT]),
        )
        begin = end
