"""Pairs of corpora, streamed from their files or kept in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, compress, islice
from pathlib import Path
from typing import Any

from dragoman.corpus.corpus import find_corpora, languages_of_names
from dragoman.corpus.pair import Corpus, Languages, Pair
from dragoman.corpus.references import describe_reference
from dragoman.errors import UserError
from dragoman.languages.codes import find_language
from dragoman.settings import CorpusReference, Data, FilePair, WeightedCorpus
from dragoman.system.version import __version__
from dragoman.text.multilingual import name_direction

EVALUATION_PAIRS = 1_000_000
"""More pairs than this to validate or test on are refused: they are kept in memory, and take hours to translate."""


UNMARKED = (1.0, False, False)
"""Weight, `tagged` and `one_way` of a corpus that states none."""

CorpusDirections = tuple[Languages, list[Languages]]
"""The languages of the pairs of a corpus, and the directions of a model that it is used for."""


class CorpusChangedError(UserError):
    """A file of a corpus was changed while it was read."""


class CorpusPairs:
    """The pairs of corpora with text on both sides; each iteration reads the files again.

    In a model with several directions, each pair is followed by the same pair in the opposite direction if both are
    trained, and the corpus is not `one_way`. Tagged text is only translated from, unless it states which side is by a
    machine.

    Args:
        corpora: The corpora.
        weighted: Their weights and marks; without them, all are 1.
        directions: For each corpus, its languages and the directions that are trained; none for a model with one.

    Attributes:
        fingerprint: What identifies the content, as plain data: paths, sizes and modification times of the files.
    """

    def __init__(
        self,
        corpora: Sequence[Corpus],
        weighted: Sequence[WeightedCorpus] = (),
        directions: Sequence[CorpusDirections] = (),
    ) -> None:
        self._corpora = corpora
        marks = [(each.weight, each.tagged, each.one_way) for each in weighted]
        self._marks = marks or [UNMARKED] * len(corpora)
        self._directions: Sequence[CorpusDirections | None] = directions or [None] * len(corpora)
        self.fingerprint = self._identify()

    def __iter__(self) -> Iterator[Pair]:
        """Read all pairs.

        Raises:
            CorpusChangedError: A file is no longer the one that this object was made for.
        """
        yield from self._read()
        for now, before in zip(self._identify(), self.fingerprint, strict=True):
            if now != before:
                raise CorpusChangedError(f"{now[0]}: a file of this corpus was changed while it was read")

    def load(self, limit: int) -> list[Pair] | None:
        """All pairs in memory, or None if there are more than `limit`. Pipes can be read too, but only once."""
        pairs = list(islice(self._read(), limit + 1))
        return pairs if len(pairs) <= limit else None

    def check_files(self, reason: str = "a corpus of this size is read several times") -> None:
        """Check that all corpora can be read several times, for a reason.

        Raises:
            UserError: One is a pipe or a device.
        """
        if once := self._files_to_read_once():
            raise UserError(
                f"{once[0]}: not a regular file; {reason}, so it cannot come from a pipe; save it to a file first"
            )

    @property
    def can_be_read_again(self) -> bool:
        """Whether no corpus is a pipe or a device."""
        return not self._files_to_read_once()

    def _files_to_read_once(self) -> list[Path]:
        return [file for corpus in self._corpora for file in corpus.files if not file.is_file()]

    def _read(self) -> Iterator[Pair]:
        for corpus, marks, directions in zip(self._corpora, self._marks, self._directions, strict=True):
            complete = (pair for pair in corpus.read() if pair.complete)
            weight, tagged, one_way = marks
            marked = (pair._replace(weight=weight, tagged=tagged, one_way=one_way) for pair in complete)
            marked = complete if marks == UNMARKED else marked
            if directions is None:
                yield from marked
                continue
            both = corpus.machine_made or not (tagged or one_way)
            yield from chain.from_iterable(_turn(directions, pair, both) for pair in marked)

    def _identify(self) -> list[Any]:
        """Names and files of the corpora, weights other than 1, and whether they are tagged or one-way.

        The text of a built-in corpus depends on the version of dragoman.
        """
        found: list[Any] = []
        for corpus, marks, directions in zip(self._corpora, self._marks, self._directions, strict=True):
            weight, *flags = marks
            status = [(file.resolve(), file.stat()) for file in corpus.files]
            files = [[str(path), about.st_size, about.st_mtime_ns] for path, about in status]
            names = compress(("tagged", "one_way"), flags)
            found.append([corpus.name, files or __version__, *[weight] * (weight != 1), *names])
            if directions:
                found[-1].append(directions)
        return found


def find_training_corpora(data: Data, data_directory: Path | None) -> CorpusPairs:
    """The training corpora of a recipe, looked up but not read.

    Raises:
        UserError: A corpus is missing, or validation or test text is machine-translated.
    """
    data = mark_machine_made(data, data_directory)
    return _open([each.corpus for each in data.weighted], data, data_directory, data.weighted)


def mark_machine_made(data: Data, data_directory: Path | None) -> Data:
    """The data with training corpora tagged that state that a machine has translated one side.

    Raises:
        UserError: A corpus is missing, or such a corpus is validation or test text.
    """
    for key, references in (("validation", data.validation), ("test", data.test)):
        for reference, corpus in zip(references, _find(references, data, data_directory), strict=True):
            if corpus.machine_made:
                raise UserError(
                    f"data.{key}: {describe_reference(reference)} is machine-translated, so scores on it would only "
                    "show how similar the translator is to that machine; name text that people have translated"
                )
    found = _find([each.corpus for each in data.weighted], data, data_directory)
    if not any(corpus.machine_made for corpus in found):
        return data
    train = [
        each.model_copy(update={"tagged": True}) if corpus.machine_made else each
        for each, corpus in zip(data.weighted, found, strict=True)
    ]
    return data.model_copy(update={"train": tuple(train)})


def read_pairs(references: Sequence[CorpusReference], data: Data, data_directory: Path | None) -> list[Pair]:
    """All pairs of some corpora to validate or test on that have text on both sides.

    Raises:
        UserError: A corpus is missing or broken, or named after other languages, or there are more than
            `EVALUATION_PAIRS`.
    """
    for reference in references:
        _refuse_other_names(reference, data)
    pairs = _open(references, data, data_directory).load(EVALUATION_PAIRS)
    if pairs is None:
        names = ", ".join(map(describe_reference, references))
        raise UserError(f"{names}: more than {EVALUATION_PAIRS:,} pairs, which are too many to validate or test on")
    return pairs


def _refuse_other_names(reference: CorpusReference, data: Data) -> None:
    """Check that two files whose languages follow from the recipe of several pairs do not end with others."""
    if not data.has_several_pairs or not isinstance(reference, FilePair) or reference.languages:
        return
    named = languages_of_names(reference.source, reference.target)
    if named and tuple(find_language(code, data.languages) for code in named) != data.languages:
        raise UserError(
            f"{describe_reference(reference)}: the languages are not known; add those of one direction "
            f"({', '.join(map(name_direction, data.directions))}), as in {{file = FILE, languages = ['de', 'hsb']}}"
        )


def _open(
    references: Sequence[CorpusReference],
    data: Data,
    data_directory: Path | None,
    weighted: Sequence[WeightedCorpus] = (),
) -> CorpusPairs:
    directions = [(data.languages_of(each), data.directions_of(each)) for each in references if data.directions]
    return CorpusPairs(_find(references, data, data_directory), weighted, directions)


def _find(references: Sequence[CorpusReference], data: Data, data_directory: Path | None) -> list[Corpus]:
    found = list[Corpus]()
    for reference in references:
        source, target = data.languages_of(reference)
        found += find_corpora(
            [reference], source_language=source, target_language=target, data_directory=data_directory
        )
    return found


def _turn(directions: CorpusDirections, pair: Pair, both: bool) -> Iterator[Pair]:
    """A pair in each of its directions that is trained; only in its own, if not `both`."""
    languages, trained = directions
    pair = pair._replace(direction=languages)
    if languages in trained:
        yield pair
    if languages[::-1] in trained and both:
        yield pair.reversed


def check_first_pairs(references: Sequence[CorpusReference], languages: Languages, data_directory: Path | None) -> None:
    """Read the first pair of each corpus, except from pipes, whose text would then be missing.

    Raises:
        UserError: A file is missing, or is not what its reference declares.
    """
    source, target = languages
    corpora = find_corpora(references, source_language=source, target_language=target, data_directory=data_directory)
    for corpus in corpora:
        if all(file.is_file() for file in corpus.files):
            next(corpus.read(), None)
