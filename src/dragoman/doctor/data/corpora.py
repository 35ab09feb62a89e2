"""The corpora to check together: those to train on, and those that training must not see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.corpus.pair import Languages
from dragoman.doctor.data.chunked_reader import ChunkedReader
from dragoman.settings import CorpusReference, Data, FilePair


@dataclass(frozen=True)
class Corpora:
    """The corpora to check together.

    Attributes:
        source_language: Code of the source language.
        target_language: Code of the target language.
        train: Corpora to train on.
        held_out: Corpora for validation and test.
        data_directory: Mirror of the dataset catalog.
    """

    source_language: str
    target_language: str
    train: Sequence[CorpusReference]
    held_out: Sequence[CorpusReference] = ()
    data_directory: Path | None = None

    def readers(
        self, references: Sequence[CorpusReference], on_read: Callable[[int], None] = lambda number: None
    ) -> list[ChunkedReader]:
        """A reader of each corpus, which calls `on_read` with the numbers of pairs that have been read."""
        return [
            ChunkedReader(reference, self.source_language, self.target_language, self.data_directory, on_read)
            for reference in references
        ]

    @property
    def file_names(self) -> tuple[str, str]:
        """Names for the files of a cleaned copy."""
        if len(self.train) == 1 and isinstance(files := self.train[0], FilePair):
            source, target = (Path(name).name.removesuffix(".gz") for name in (files.source, files.target))
            if source != target:
                return source, target
        if self.source_language == self.target_language:  # as in corpora of corrections
            return f"source.{self.source_language}", f"target.{self.target_language}"
        return f"train.{self.source_language}", f"train.{self.target_language}"


def corpora_of_recipe(data: Data, data_directory: Path | None = None) -> list[Corpora]:
    """The corpora of a recipe in each pair of languages, given its section `data`; one for most recipes."""
    train, held_out = [each.corpus for each in data.weighted], [*data.validation, *data.test]
    if not data.directions:
        return [Corpora(*data.languages, train, held_out, data_directory)]
    return group_corpora(data.languages, train, held_out, data_directory)


def group_corpora(
    languages: Languages,
    train: Sequence[CorpusReference],
    held_out: Sequence[CorpusReference],
    data_directory: Path | None,
) -> list[Corpora]:
    """Corpora in each pair of languages, in the order of the training corpora; held-out text may be in the other order.

    Args:
        languages: Those of corpora that state none.
        train: Corpora to train on.
        held_out: Corpora for validation and test.
        data_directory: Mirror of the dataset catalog.
    """
    pairs = dict.fromkeys(stated_languages(each) or languages for each in train)
    return [
        Corpora(
            *pair,
            train=[each for each in train if (stated_languages(each) or languages) == pair],
            held_out=[each for each in held_out if set(stated_languages(each) or languages) == set(pair)],
            data_directory=data_directory,
        )
        for pair in pairs
    ]


def stated_languages(reference: CorpusReference) -> Languages | None:
    """The languages that a reference states."""
    return None if isinstance(reference, str) else reference.languages
