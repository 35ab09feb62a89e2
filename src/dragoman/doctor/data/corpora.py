"""The corpora to check together: those to train on, and those that training must not see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.corpus.pair import Languages
from dragoman.corpus.references import languages_of_suffixes
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

    def readers(self, references: Sequence[CorpusReference]) -> list[ChunkedReader]:
        """A reader of each corpus."""
        return [
            ChunkedReader(reference, self.source_language, self.target_language, self.data_directory)
            for reference in references
        ]

    @property
    def file_names(self) -> tuple[str, str]:
        """Names for the files of a cleaned copy."""
        if len(self.train) == 1 and isinstance(files := self.train[0], FilePair):
            source, target = (Path(name).name.removesuffix(".gz") for name in (files.source, files.target))
            if source != target:
                return source, target
        return f"train.{self.source_language}", f"train.{self.target_language}"


def corpora_of_recipe(data: Data, data_directory: Path | None = None) -> Corpora:
    """The corpora of a recipe, given its section `data`."""
    held_out = (*data.validation, *data.test)
    return Corpora(data.source_language, data.target_language, data.train, held_out, data_directory)


def corpora_of_references(
    train: Sequence[CorpusReference],
    languages: Languages,
    test: tuple[Path, Path] | None = None,
    data_directory: Path | None = None,
) -> Corpora:
    """Corpora to train on, and perhaps two line-aligned files to test on."""
    held_out = [FilePair(source=str(test[0]), target=str(test[1]))] if test else []
    return Corpora(*languages, train, held_out, data_directory)


def corpora_of_files(source: Path, target: Path, test: tuple[Path, Path] | None) -> Corpora:
    """Two line-aligned files to train on, and perhaps two to test on. Their suffixes are the language codes."""
    files = str(source), str(target)
    return corpora_of_references([FilePair(source=files[0], target=files[1])], languages_of_suffixes(*files), test)
