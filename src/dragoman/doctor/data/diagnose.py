"""Checks of parallel text: two readings of each corpus, a few dozen bytes of memory a pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.doctor.data.alignment import Stretch, misaligned
from dragoman.doctor.data.chunked_reader import Reader
from dragoman.doctor.data.cleaned_copy import Cleaned, cleaned
from dragoman.doctor.data.corpus_checks import Tongues, duplicates, unusual_ratios, wrong_languages, wrong_scripts
from dragoman.doctor.data.corpus_statistics import Digests, Marks, Survey, take
from dragoman.doctor.data.report import Examples, tell_languages, tell_lines, tell_overlap, tell_pairs
from dragoman.doctor.findings.finding import Finding
from dragoman.settings import CorpusReference, Data, FilePair


@dataclass(frozen=True)
class Corpora:
    """What to check: corpora to train on, and those that training must not see."""

    source_language: str
    target_language: str
    train: Sequence[CorpusReference]
    held_out: Sequence[CorpusReference] = ()
    data_directory: Path | None = None

    def readers(self, references: Sequence[CorpusReference]) -> list[Reader]:
        """A reader of each corpus."""
        return [
            Reader(reference, self.source_language, self.target_language, self.data_directory)
            for reference in references
        ]

    @property
    def names(self) -> tuple[str, str]:
        """What the files of a cleaned copy are called."""
        if len(self.train) == 1 and isinstance(files := self.train[0], FilePair):
            source, target = (Path(name).name.removesuffix(".gz") for name in (files.source, files.target))
            if source != target:
                return source, target
        return f"train.{self.source_language}", f"train.{self.target_language}"


def corpora_of(data: Data, data_directory: Path | None = None) -> Corpora:
    """The corpora of a recipe."""
    held_out = (*data.validation, *data.test)
    return Corpora(data.source_language, data.target_language, data.train, held_out, data_directory)


def corpora_of_files(source: Path, target: Path, test: tuple[Path, Path] | None) -> Corpora:
    """Two line-aligned files, and two more to test with; the ends of their names tell the languages."""
    first, second = (path.name.removesuffix(".gz").rpartition(".")[2] for path in (source, target))
    if first == second:
        first, second = "source", "target"
    held_out = [FilePair(source=str(test[0]), target=str(test[1]))] if test else []
    return Corpora(first, second, [FilePair(source=str(source), target=str(target))], held_out)


def diagnose(corpora: Corpora, write: Path | None = None) -> list[Finding]:
    """What is wrong with corpora, errors first.

    Args:
        corpora: What to read.
        write: A directory to write the training pairs to without the marked ones, with a list of those.

    Raises:
        UserError: A corpus is missing or cannot be read at all, or there is something in the directory.
    """
    held_out = [(reader, take(reader)) for reader in corpora.readers(corpora.held_out)]
    kept_out = np.concatenate([np.zeros(0, np.int64), *(survey.pair_digests for _, survey in held_out)])
    findings: list[Finding] = []
    seen = np.zeros(0, np.int64)
    with cleaned(write, corpora.names) if write else nullcontext() as copy:
        for reader in corpora.readers(corpora.train):
            survey = take(reader)
            overlap = np.isin(survey.pair_digests, kept_out) & ~survey.marks["empty-side"]
            findings += _check(reader, survey, seen, copy, overlap)
            seen = np.concatenate([seen, survey.pair_digests])
    for reader, survey in held_out:
        findings += _check(reader, survey, np.zeros(0, np.int64), None, None)
        findings += tell_overlap(reader, np.isin(survey.pair_digests, seen) & ~survey.marks["empty-side"])
    return sorted(findings, key=lambda finding: ("error", "warning", "note").index(finding.severity))


def _check(
    reader: Reader, survey: Survey, earlier: Digests, copy: Cleaned | None, overlap: Marks | None
) -> Iterator[Finding]:
    """All checks of one corpus, which is read once more for its examples and for the cleaned copy."""
    yield from tell_lines(reader)
    yield from tell_languages(reader, wrong_languages(survey, reader.source_language, reader.target_language))
    stretches = misaligned(survey.source_lengths, survey.target_lengths)
    marks = _marks(survey, stretches, earlier)
    if reader.source_language == reader.target_language or _copies(survey):
        del marks["copied-source"]
    tongues = Tongues(survey.source_words, survey.target_words)
    examples, exchanged = Examples(), [np.zeros(0, np.bool_)]
    for chunk in reader.chunks():
        place = slice(chunk.first - 1, chunk.first - 1 + len(chunk.sources))
        here = {code: values[place] for code, values in marks.items()}
        here["swapped-sides"] = tongues.exchanged(chunk.sources, chunk.targets)
        exchanged.append(here["swapped-sides"])
        examples.add(chunk, here)
        if copy is not None and overlap is not None:
            copy.add(reader.name, chunk, here | {"test-overlap": overlap[place]})
    marks["swapped-sides"] = np.concatenate(exchanged)
    yield from tell_pairs(reader, marks, stretches, examples)


def _marks(survey: Survey, stretches: Sequence[Stretch], earlier: Digests) -> dict[str, Marks]:
    """What is wrong with each pair, but for what only its words tell."""
    apart = _in_stretches(stretches, len(survey))
    return survey.marks | {
        "duplicates": duplicates(survey, earlier),
        "length-ratio": unusual_ratios(survey) & ~apart,
        "wrong-script": wrong_scripts(survey),
        "misaligned": apart,
    }


def _in_stretches(stretches: Sequence[Stretch], size: int) -> Marks:
    marks = np.zeros(size, np.bool_)
    for stretch in stretches:
        marks[stretch.first - 1 : stretch.last] = True
    return marks


def _copies(survey: Survey) -> bool:
    """Whether to copy is the task."""
    return bool((survey.source_digests == survey.target_digests).mean() > 0.9) if len(survey) else False
