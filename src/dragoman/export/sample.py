"""The sentences whose translations are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.corpus.corpus import read_texts
from dragoman.corpus.lines import read_lines
from dragoman.errors import UserError


@dataclass(frozen=True)
class Sample:
    """Sentences to translate, and a reference translation of each or none at all."""

    texts: Sequence[str] = ()
    references: Sequence[str] = ()

    def without_blanks(self) -> Sample:
        """The sample without blank sentences, which need no translation."""
        kept = [index for index, text in enumerate(self.texts) if text.strip()]
        references = [self.references[index] for index in kept] if self.references else []
        return Sample([self.texts[index] for index in kept], references)


def read_sample(source: Path | None, reference: Path | None) -> Sample:
    """Read a sample from a file of sentences and, if given, a file of their reference translations.

    Raises:
        UserError: A file cannot be read or has no text, the files have different numbers of lines, or only references
            are given.
    """
    if source is None:
        if reference:
            raise UserError(f"--reference {reference}: also give the sentences, with --source")
        return Sample()
    sample = Sample(list(read_lines(source))) if reference is None else Sample(*read_texts(source, reference))
    if not any(text.strip() for text in sample.texts):
        raise UserError(f"{source}: contains no text")
    return sample
