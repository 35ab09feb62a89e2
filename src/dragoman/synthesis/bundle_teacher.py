"""A bundle on this machine as a teacher: it translates a text as `dragoman serve` does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dragoman.documents.sentences import PlainText
from dragoman.documents.translate import TextTranslator
from dragoman.synthesis.answers import Read
from dragoman.synthesis.identity import identify_translator
from dragoman.synthesis.sentence_groups import SentenceGroup
from dragoman.synthesis.teachers import Answer, TokenUsage, read_list

BUNDLE_SENTENCES = 500
"""Sentences that are translated together: some seconds of work, the most that a killed process can lose."""


@dataclass(frozen=True)
class BundleTeacher:
    """A bundle.

    Attributes:
        name: How messages call it.
        texts: Translates with the bundle.
    """

    name: str
    texts: TextTranslator
    counts_tokens: bool = False
    characters: int = 200 * BUNDLE_SENTENCES

    @property
    def size(self) -> int:
        """The most sentences of a group."""
        return BUNDLE_SENTENCES

    @property
    def identity(self) -> list[Any]:
        """The weights, the direction, and the settings of the search."""
        return ["bundle", identify_translator(self.texts.translator)]

    def ask(self, group: SentenceGroup, candidate: int) -> Answer:
        """Translate the sentences."""
        texts = self.texts
        documents = [PlainText(text, texts.source_language, texts.whole_lines) for text in group.sentences]
        translated = iter(texts.translate_segments([each for document in documents for each in document.segments]))
        found = [document.assemble([next(translated) for _ in document.segments]) for document in documents]
        return Answer(found, usage=TokenUsage(1, characters=group.characters))

    def read(self, answer: Answer, group: SentenceGroup) -> list[Read]:
        """The translations."""
        return read_list(answer, group)

    def sent_characters(self, group: SentenceGroup) -> int:
        """The length of the sentences."""
        return group.characters
