"""The synthetic corpora of a run: what they are made of, and by which teacher."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import chain, compress
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.lines import read_lines
from dragoman.corpus.pair import Languages, Pair
from dragoman.dataset.pairs import find_training_corpora
from dragoman.dataset.split import HeldOutText
from dragoman.doctor.input import OTHER_LANGUAGE
from dragoman.settings import CorpusReference, Data, Distillation, Recipe, WeightedCorpus
from dragoman.synthesis.back_translator import METHODS, NOISED, BackTranslator, RoundTrip
from dragoman.synthesis.block import BlockMaker, PairBlock
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.synthesis.distiller import Distiller, open_distiller
from dragoman.synthesis.write import Synthesized, write_synthetic
from dragoman.system.files import write_json
from dragoman.system.progress import Meter, ProgressLine
from dragoman.system.resumable import delete_unfinished, digest
from dragoman.text.multilingual import name_direction
from dragoman.training.run.directory import are_intact, read_made, write_checksums
from dragoman.training.stages.recipes import Direction, mono_language, mono_to_translate
from dragoman.training.stages.text import SIDES, file_pair
from dragoman.translator import Translator


@dataclass(frozen=True)
class RunTeachers:
    """The teachers of a run, each of which is opened when it is needed.

    Attributes:
        recipe: The recipe of the run.
        directory: Where the teachers are that the run trains.
        device: Where they translate.
    """

    recipe: Recipe
    directory: Path
    device: torch.device

    def path(self, direction: Direction) -> Path:
        """The run directory of a teacher."""
        return self.directory / direction

    def open_backward(
        self, method: str = "beam", minimum_chrf: float = 0.0, languages: Languages | None = None
    ) -> BackTranslator:
        """The teacher that makes sources.

        Args:
            languages: Source and target of the pairs to make; those of the recipe by default.
            method: How it translates.
            minimum_chrf: Of a source that the forward teacher translates back; 0 accepts every source.
        """
        languages = languages or self.recipe.data.languages
        back = RoundTrip(self._open("forward", languages), minimum_chrf) if minimum_chrf else None
        return BackTranslator(self._open("backward", languages[::-1], method), method == NOISED, back)

    def open_forward(self) -> Distiller:
        """The teacher that makes targets."""
        settings = Distillation(teachers=(str(self.path("forward")),))
        return open_distiller(settings, self.recipe.data.languages, self.device)

    def open_given(self, languages: Languages) -> Distiller:
        """The finished teachers that the recipe names, which make targets in these languages."""
        return open_distiller(self.recipe.distillation, languages, self.device)

    def _open(self, direction: Direction, languages: Languages, method: str = "beam") -> Translator:
        teacher = BundleEnsemble.load([str(self.path(direction))], languages)
        return teacher.open_in_int8_if_possible(self.device, **METHODS[method])


SORTED_PAIRS = 250_000
"""How many pairs are in memory when text is read in a random order. Longer text is read several times."""


OpenMaker = Callable[[], BlockMaker]


@dataclass(frozen=True)
class OtherThanHeldOut:
    """Makes the pairs that another maker makes, except those with held-out text.

    Held-out text in one language is not translated. For pairs, their new translations decide.
    """

    maker: BlockMaker
    held_out: HeldOutText

    @property
    def identity(self) -> dict[str, Any]:
        """That of the maker, and the text to leave out."""
        texts = [[pair.source, pair.target] for pair in self.held_out.pairs]
        return {**self.maker.identity, "held_out": digest([texts, self.held_out.ignore_punctuation])}

    def make(self, pairs: Sequence[Pair]) -> PairBlock:
        """The pairs, and how many were left out for each reason."""
        others = [pair for pair in pairs if pair.complete or pair not in self.held_out]
        block = self.maker.make(others)
        kept = [pair for pair in block.pairs if pair not in self.held_out]
        held_out = Counter({"held-out text": len(pairs) - len(others) + len(block.pairs) - len(kept)})
        return replace(block, pairs=kept, left_out=block.left_out + held_out)

    def compared_with(self, made: Sequence[Pair]) -> Callable[[Pair], Pair | str]:
        """That of the maker."""
        return self.maker.compared_with(made)


@dataclass(frozen=True)
class SyntheticCorpus:
    """A corpus that a teacher makes.

    Attributes:
        name: What the log and the report call it.
        path: Its files without suffixes; a third file has the numbers of a complete corpus.
        read: Reads what it is made of.
        open_maker: Opens the teacher that makes it.
        weight: How often each pair is seen in an epoch.
        tagged: Whether the sources are marked.
        seed: Chooses the random order in which the text is translated, so that what there is time for is a sample of
            all its parts; None if all of it is translated, in the order of the text.
        languages: Those of its pairs, in a model with several directions.
        one_way: Whether such a model does not learn the opposite direction from it: its targets are text of a machine.
    """

    name: str
    path: Path
    read: Callable[[], Iterator[Pair]]
    open_maker: OpenMaker
    weight: float
    tagged: bool = False
    seed: int | None = None
    languages: Languages | None = None
    one_way: bool = False

    @property
    def result(self) -> Synthesized | None:
        """The numbers of the corpus, or None if it is not complete.

        Raises:
            UserError: The file with the numbers is damaged, or another version of dragoman has written it.
        """
        if not self._facts.is_file():
            return None
        result = read_made(self._facts, Synthesized)
        complete = not result.pairs or (all(map(Path.is_file, self._sides)) and are_intact(self._checksums))
        return result if complete else None

    @property
    def reference(self) -> WeightedCorpus:
        """The corpus to train on."""
        files = file_pair(self.path, self.languages)
        return WeightedCorpus(corpus=files, weight=self.weight, tagged=self.tagged, one_way=self.one_way)

    def make(self, line: ProgressLine, limit: float | None, check: Callable[[], None]) -> Synthesized:
        """Make the corpus, or continue to make it.

        Args:
            line: Shows progress.
            limit: Seconds in total.
            check: Raises UserError if the sources of the run were changed, see `check_sources`.
        """
        count = sum(1 for _ in self.read())
        meter = Meter(line.update, f"translating the {self.name}", count, limit, unit="lines")
        for path in self._sides:  # of a process that was killed between the last two files
            path.unlink(missing_ok=True)
        maker = self.open_maker()
        check()
        made = write_synthetic(self.pairs(count), maker, self.output, SIDES, meter, limit)
        made = replace(made, share=made.lines / count if count else 1.0)
        check()  # if this raises an error, the corpus stays incomplete
        if made.pairs:
            write_checksums(self._checksums, self._sides)
        write_json(self._facts, asdict(made))
        line.log(f"synthetic pairs, {self.name}: {made}")
        if made.left_out.get(OTHER_LANGUAGE, 0) > made.lines / 2:
            line.log(f"warning: most of the {self.name} is not in the source language of the teacher")
        elif made.lines and not made.pairs:
            line.log(f"warning: the {self.name} has no effect, because the teacher translates none of it well enough")
        return made

    def pairs(self, count: int) -> Iterator[Pair]:
        """What it is made of, about `count` pairs, in the order in which it is translated."""
        return self.read() if self.seed is None else read_in_random_order(self.read, count, self.seed)

    @property
    def output(self) -> str:
        """The pattern of the two files."""
        return f"{self.path}.{{lang}}"

    @property
    def _sides(self) -> list[Path]:
        return [Path(f"{self.path}.{side}") for side in SIDES]

    @property
    def _checksums(self) -> Path:
        return Path(f"{self.path}.checksums.json")

    @property
    def _facts(self) -> Path:
        return Path(f"{self.path}.json")


def synthetic_corpora(
    teachers: RunTeachers, data: Data, directory: Path, held_out: Sequence[Pair]
) -> list[SyntheticCorpus]:
    """The corpora that the teachers of a run make.

    Args:
        teachers: The teachers, and the recipe of the run.
        data: Its text as files; pairs with the mark of machines are not translated once more.
        directory: Where the corpora are written.
        held_out: The pairs to validate and test on; no pair with a sentence of them is made.
    """
    text = HeldOutText(held_out, data.held_out_ignores_punctuation)
    corpora = [
        *_back_translated(teachers, directory),
        *_diversified(teachers, data, directory),
        *_distilled(teachers, data, directory),
    ]
    return [replace(each, open_maker=partial(_open_other_than_held_out, each.open_maker, text)) for each in corpora]


def _open_other_than_held_out(open_maker: OpenMaker, held_out: HeldOutText) -> BlockMaker:
    return OtherThanHeldOut(open_maker(), held_out)


def _back_translated(teachers: RunTeachers, directory: Path) -> Iterator[SyntheticCorpus]:
    """Of text in the target language."""
    back, data = teachers.recipe.backtranslation, teachers.recipe.data
    if data.directions:
        for language in dict.fromkeys(mono_language(file, data.all_languages) for file in back.mono):
            files = [file for file in back.mono if mono_language(file, data.all_languages) == language]
            for direction in (each for each in data.directions if each[1] == language):
                if direction[::-1] not in data.directions:
                    continue
                name = name_direction(direction)
                opener = partial(teachers.open_backward, back.method, languages=direction)
                yield SyntheticCorpus(
                    f"monolingual text, {name}",
                    directory / f"backtranslation-{name}",
                    partial(_read_mono, files, SIDES[1], direction),
                    opener,
                    back.weight,
                    back.tagged,
                    _seed(teachers.recipe),
                    direction,
                )
    elif back.mono:
        read = partial(_read_mono, back.mono, SIDES[1])
        opener = partial(teachers.open_backward, back.method, back.minimum_chrf)
        path = directory / "backtranslation"
        yield SyntheticCorpus("monolingual text", path, read, opener, back.weight, back.tagged, _seed(teachers.recipe))


def _diversified(teachers: RunTeachers, data: Data, directory: Path) -> Iterator[SyntheticCorpus]:
    """Of the training text, in both directions."""
    if not (weight := teachers.recipe.diversification.weight):
        return
    openers: dict[str, OpenMaker] = {"backward": teachers.open_backward, "forward": teachers.open_forward}
    for number, corpus in _untagged(data):
        for direction, opener in openers.items():
            name = f"{_training_text(data, number)}, {direction} teacher"
            path, read = directory / f"diversification-{direction}-{number}", partial(_read_pairs, corpus.corpus)
            yield SyntheticCorpus(name, path, read, opener, weight * corpus.weight, seed=_seed(teachers.recipe))


def _distilled(teachers: RunTeachers, data: Data, directory: Path) -> Iterator[SyntheticCorpus]:
    """Of the training text, and of text in the source language, by finished teachers."""
    given, seed = teachers.recipe.distillation, _seed(teachers.recipe)
    if not given.teachers:
        return
    if data.directions:
        mono = mono_to_translate(given.mono, data)
        for direction in mono:
            yield from _distilled_pairs(direction, teachers, data, directory)
        for direction, files in mono.items():  # if the time is short, each direction has its own text
            yield from _distilled_sources(direction, files, teachers, data, directory)
        return
    opener = partial(teachers.open_given, data.languages)
    for number, corpus in _untagged(data):
        name, path = _training_text(data, number), directory / f"distillation-{number}"
        yield SyntheticCorpus(name, path, partial(_read_pairs, corpus.corpus), opener, corpus.weight, seed=seed)
    if given.mono:
        read, path = OtherSources(given.mono, data, data.languages).read, directory / "distillation-mono"
        yield SyntheticCorpus("monolingual text", path, read, opener, 1.0, seed=seed)


def _distilled_pairs(
    direction: Languages, teachers: RunTeachers, data: Data, directory: Path
) -> Iterator[SyntheticCorpus]:
    """Of the training text of one of several directions."""
    name = name_direction(direction)
    for number, corpus in _untagged_in(direction, data):
        yield SyntheticCorpus(
            f"{_training_text(data, number)}, {name}",
            directory / f"distillation-{name}-{number}",
            partial(_read_direction, corpus, data, direction),
            partial(teachers.open_given, direction),
            corpus.weight,
            seed=_seed(teachers.recipe),
            languages=direction,
            one_way=True,
        )


def _distilled_sources(
    direction: Languages, files: Sequence[str], teachers: RunTeachers, data: Data, directory: Path
) -> Iterator[SyntheticCorpus]:
    """Of monolingual text in the source language of one of several directions, and of pairs with other languages."""
    others = _corpora_with_other_languages(direction, data)
    if files or others:
        name = name_direction(direction)
        yield SyntheticCorpus(
            f"other text in {direction[0]}, {name}",
            directory / f"distillation-{name}-mono",
            OtherSources(files, data, direction).read,
            partial(teachers.open_given, direction),
            1.0,
            seed=_seed(teachers.recipe),
            languages=direction,
            one_way=True,
        )


def _corpora_with_other_languages(direction: Languages, data: Data) -> list[WeightedCorpus]:
    """Those with text by people in the source language of a direction, but not in its target language."""
    others = []
    for _, corpus in _untagged(data):
        languages = data.languages_of(corpus.corpus)
        by_people = languages[:1] if corpus.one_way else languages
        if direction[0] in by_people and direction[1] not in languages:
            others.append(corpus)
    return others


def _untagged(data: Data) -> list[tuple[int, WeightedCorpus]]:
    """The corpora that teachers translate, with their numbers."""
    return [(number, corpus) for number, corpus in enumerate(data.weighted) if not corpus.tagged]


def _untagged_in(direction: Languages, data: Data) -> list[tuple[int, WeightedCorpus]]:
    """Those that are learned from in a direction."""
    untagged = _untagged(data)
    if not data.directions:
        return untagged
    return [each for each in untagged if direction in data.directions_of(each[1].corpus, each[1].one_way)]


def _seed(recipe: Recipe) -> int | None:
    """The seed of the order of the text if the time is limited."""
    return None if recipe.training.minutes is None else recipe.training.seed


def _training_text(data: Data, number: int) -> str:
    """What a corpus of the training text is called; the first one has the number 0."""
    count = len(data.weighted)
    return f"training text {number + 1} of {count}" if count > 1 else "training text"


def make_corpora(
    corpora: Sequence[SyntheticCorpus], line: ProgressLine, limit: float | None, check: Callable[[], None]
) -> None:
    """Make the corpora that are not complete.

    Args:
        corpora: What to make.
        line: Shows progress.
        limit: Seconds for all corpora together; each gets an equal part of what the corpora before it have left.
        check: See `SyntheticCorpus.make`.
    """
    for number, corpus in enumerate(corpora):
        made = corpus.result
        if made is None:
            part = None if limit is None else limit / (len(corpora) - number)
            made = corpus.make(line, part, check)
        delete_unfinished(corpus.output)  # also what a process has left that was killed here
        if limit is not None:
            limit = max(0.0, limit - made.seconds)


def read_in_random_order(read: Callable[[], Iterator[Pair]], count: int, seed: int) -> Iterator[Pair]:
    """Read text in a random order, which depends only on the text and the seed.

    The beginning of this order is a sample of the whole text, of any length. The order is that of a random key
    of each pair, and only the pairs with the next keys, about `SORTED_PAIRS`, are in memory.

    Args:
        read: Reads the text from its start.
        count: Its length in pairs, which decides how often it is read.
        seed: Any number.
    """
    parts = math.ceil(count / SORTED_PAIRS)
    for part in range(parts):
        yield from _sort_part(read(), part, parts, seed)


def _sort_part(pairs: Iterator[Pair], part: int, parts: int, seed: int) -> list[Pair]:
    """The pairs whose random keys are in one of several equal intervals, in the order of the keys."""
    key = random.Random(seed).random  # the only method with the same numbers in every Python version
    keyed = ((key(), pair) for pair in pairs)
    chosen = [each for each in keyed if int(each[0] * parts) == part]
    return [pair for _, pair in sorted(chosen, key=itemgetter(0))]


def _read_mono(files: Sequence[str], side: str, direction: Languages | None = None) -> Iterator[Pair]:
    """Lines as pairs that have only this side."""
    lines = chain.from_iterable(read_lines(Path(file)) for file in files)
    sides = ((line, "") if side == "source" else ("", line) for line in lines)
    return (Pair(source, target, direction=direction) for source, target in sides)


def _read_direction(
    corpus: WeightedCorpus, data: Data, direction: Languages, data_directory: Path | None = None
) -> Iterator[Pair]:
    """The pairs of a corpus in a direction that has both of its languages."""
    only = {"train": (corpus,), "validation": (), "test": (), "directions": (direction,)}
    return iter(find_training_corpora(data.model_copy(update=only), data_directory))


@dataclass(frozen=True)
class OtherSources:
    """Text in the source language of a direction that its pairs lack: of files, and of corpora with other languages.

    Each text is read once. In related languages, corpora have many texts in common.
    """

    files: Sequence[str]
    data: Data
    direction: Languages
    data_directory: Path | None = None

    def read(self) -> Iterator[Pair]:
        """The texts as pairs without a target."""
        direction = self.direction if self.data.directions else None
        for text in compress(self._texts(), self._is_new):
            yield Pair(text, "", direction=direction)

    @cached_property
    def _is_new(self) -> NDArray[np.bool_]:
        """For each text whether it is not blank, nor in the pairs, nor the same as one before it."""
        found = np.fromiter(map(_key, self._texts()), np.int64)
        if not len(found):
            return np.zeros(0, dtype=bool)
        own = chain.from_iterable(
            _read_direction(corpus, self.data, self.direction, self.data_directory)
            for _, corpus in _untagged_in(self.direction, self.data)
        )
        known = np.fromiter(chain([_key("")], (_key(pair.source) for pair in own)), np.int64)
        is_new = np.zeros(len(found), dtype=bool)
        is_new[np.unique(found, return_index=True)[1]] = True
        return is_new & ~np.isin(found, known)

    def _texts(self) -> Iterator[str]:
        for file in self.files:
            yield from read_lines(Path(file))
        for corpus in _corpora_with_other_languages(self.direction, self.data):
            languages = self.data.languages_of(corpus.corpus)
            order = languages if languages[0] == self.direction[0] else languages[::-1]
            for pair in _read_direction(corpus, self.data, order, self.data_directory):
                yield pair.source


def _key(text: str) -> int:
    """A number that is the same for texts that differ at most in white space at their ends."""
    return hash(text.strip())


def _read_pairs(reference: CorpusReference) -> Iterator[Pair]:
    return read_corpus(reference, source_language=SIDES[0], target_language=SIDES[1])
