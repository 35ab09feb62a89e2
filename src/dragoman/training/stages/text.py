"""The text of a run with several stages: a copy in the run directory, which all of its stages read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.lines import read_lines
from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.writers import write_corpus
from dragoman.dataset.pairs import find_training_corpora, read_pairs
from dragoman.dataset.prepare import IN_MEMORY_PAIRS, given_pairs
from dragoman.dataset.split import first_directions, is_counted, split_pairs
from dragoman.doctor.data.cleaned_text import clean_data
from dragoman.doctor.input import LanguageChecker, describe_text
from dragoman.settings import Data, FilePair, Recipe, WeightedCorpus
from dragoman.synthesis.pair_checks import require_language
from dragoman.system.files import atomic_directory, write_json
from dragoman.system.progress import ProgressLine
from dragoman.text.multilingual import name_direction
from dragoman.training.run.directory import LEFT_OUT_FILE, are_intact, read_made, write_checksums

SIDES: Languages = ("source", "target")
"""Suffixes of the files, in place of languages, which may be the same."""
TEXT_DIRECTORY = "text"
FACTS = "text.json"
CHECKSUMS = "checksums.json"
VALIDATION_TEXT = "validation"
COMPARED_PAIRS = 5000
"""How many pairs show which language monolingual text must be in."""


def file_pair(path: Path, languages: Languages | None = None) -> FilePair:
    """The two files of a corpus, given their path without suffixes, and its languages if there are several pairs."""
    source, target = (f"{path}.{side}" for side in SIDES)
    return FilePair(source=source, target=target, languages=languages)


@dataclass(frozen=True)
class StageText:
    """The text of a run with several stages.

    Attributes:
        directory: Where it is.
        kinds: The weight and the mark of the pairs in each file, and, of several directions, their languages, and
            whether they are read in one direction only.
        pairs: How many pairs each file has.
        cleaning: What was left out, as text; None if the text was not cleaned.
        left_out_share: The share of pairs that were left out.
    """

    directory: Path
    kinds: Sequence[Mapping[str, Any]]
    pairs: Sequence[int]
    cleaning: str | None
    left_out_share: float

    @classmethod
    def find(cls, directory: Path) -> StageText | None:
        """The text in a directory, or None if there is none, or a file of it is missing.

        Raises:
            UserError: The description of the text is damaged, or another version of dragoman has written it.
        """
        if not (directory / FACTS).is_file():
            return None
        text = read_made(directory / FACTS, cls, directory=directory)
        complete = all(file.is_file() for file in text._files) and are_intact(directory / CHECKSUMS)
        return text if complete else None

    @property
    def _files(self) -> list[Path]:
        names = [*map(validation_name, self._validations), *(f"train-{number}" for number in range(len(self.kinds)))]
        return [self.directory / f"{name}.{side}" for name in names for side in SIDES]

    def data(self, recipe: Recipe) -> Data:
        """The section `data` of a recipe, with the corpora in the directory."""
        train = tuple(
            WeightedCorpus(
                corpus=file_pair(self.directory / f"train-{number}", _direction_of(kind)),
                weight=kind["weight"],
                tagged=kind["tagged"],
                one_way=kind.get("one_way", False),
            )
            for number, kind in enumerate(self.kinds)
        )
        validation = tuple(
            file_pair(self.directory / validation_name(languages), languages) for languages in self._validations
        )
        return recipe.data.model_copy(update={"train": train, "validation": validation, "clean": False, "join": False})

    @property
    def _validations(self) -> list[Languages | None]:
        """The languages of each file to validate on, in a model with several directions; some may have none."""
        found = list(dict.fromkeys(map(_direction_of, self.kinds)))
        if found == [None]:
            return found
        return [each for each in found if (self.directory / f"{validation_name(each)}.{SIDES[0]}").is_file()]


def validation_name(languages: Languages | None) -> str:
    """What the files to validate on are called, those in two languages of a model with several directions."""
    return f"{VALIDATION_TEXT}-{name_direction(languages)}" if languages else VALIDATION_TEXT


def _direction_of(kind: Mapping[str, Any]) -> Languages | None:
    languages = kind.get("languages")
    return (languages[0], languages[1]) if languages else None


def collect_text(recipe: Recipe, data_directory: Path | None, directory: Path, line: ProgressLine) -> StageText:
    """Copy cleaned training text and validation text to a directory, unless that is done.

    Held-out pairs are chosen here, once for all stages. Pairs with the same weight and mark are in the same file.

    Raises:
        UserError: A corpus is missing or broken, or no pair is left to train on.
    """
    if text := StageText.find(directory):
        line.log(
            f"training and validation text: the copy in {directory}; changes to their files since the start of the run "
            "do not count"
        )
        return text
    if (directory / FACTS).is_file():
        line.log(f"{directory}: damaged; copying the text again")
    with atomic_directory(directory) as new:
        return replace(_copy(recipe, data_directory, new, line), directory=directory)


def _copy(recipe: Recipe, data_directory: Path | None, directory: Path, line: ProgressLine) -> StageText:
    data, cleaned = clean_data(recipe.data, data_directory, line.log, line.update)
    if cleaned:
        for text in (str(cleaned), *cleaned.warnings):
            line.log(text)
        cleaned.write_listing(directory / LEFT_OUT_FILE)
    corpora = find_training_corpora(data, data_directory)
    pairs = corpora.load(IN_MEMORY_PAIRS)
    if pairs is None:
        corpora.check_files()
    given = given_pairs(data, data_directory)
    split = split_pairs(corpora if pairs is None else pairs, data, recipe.training.seed, line.update, given)
    validation = read_pairs(data.validation, data, data_directory) or split.held_out
    first = first_directions(data)  # the opposite ones have the same pairs
    kinds = list(dict.fromkeys(_kind(pair) for pair in split.training if is_counted(pair, first)))
    written = []
    for number, kind in enumerate(kinds):
        same = (pair for pair in split.training if _kind(pair) == kind)
        written.append(write_corpus(same, f"{directory}/train-{number}.{{lang}}", SIDES)[0])
    for languages in dict.fromkeys(pair.direction for pair in validation if pair.direction in first):
        same = (pair for pair in validation if pair.direction == languages)
        write_corpus(same, f"{directory}/{validation_name(languages)}.{{lang}}", SIDES)
    copied = StageText(
        directory,
        kinds=[
            {"weight": weight, "tagged": tagged} | ({"languages": languages, "one_way": one_way} if languages else {})
            for weight, tagged, languages, one_way in kinds
        ],
        pairs=written,
        cleaning=str(cleaned) if cleaned else None,
        left_out_share=cleaned.left_out_share if cleaned else 0.0,
    )
    write_json(directory / FACTS, {key: value for key, value in asdict(copied).items() if key != "directory"})
    write_checksums(directory / CHECKSUMS, copied._files)
    return copied


def _kind(pair: Pair) -> tuple[float, bool, Languages | None, bool]:
    """What the pairs of a file have in common."""
    return pair.weight, pair.tagged, pair.direction, pair.one_way


def check_mono_language(recipe: Recipe, text: StageText) -> None:
    """Check the language of monolingual text before a teacher is trained for it.

    In a model with several directions, the names of the files state it.

    Raises:
        UserError: A file to translate back is not in the target language of the training text, or one for distillation
            is not in the source language.
    """
    back, forward, languages = recipe.backtranslation.mono, recipe.distillation.mono, recipe.data.languages
    if recipe.data.directions or not (back or forward):
        return
    source, target = languages
    corpus = read_corpus(file_pair(text.directory / "train-0"), source_language=source, target_language=target)
    pairs = list(islice(corpus, COMPARED_PAIRS))
    require_mono_language(back, [pair.reversed for pair in pairs], languages[::-1], "backtranslation.mono")
    require_mono_language(forward, pairs, languages, "distillation.mono")


def require_mono_language(files: Sequence[str], pairs: Sequence[Pair], languages: Languages, name: str) -> None:
    """Check that monolingual files are in the source language of pairs.

    Args:
        files: The files.
        pairs: Some training pairs.
        languages: Source and target of the pairs.
        name: The setting or the option with the files, for the error.

    Raises:
        UserError: Too many of the first lines of a file look like another language.
    """
    expected, _ = languages
    described = describe_text([pair.source for pair in pairs], [pair.target for pair in pairs], languages)
    language = LanguageChecker(described, *languages)
    advice = f"{name} must be in that language; remove these lines or the file"
    for file in files:
        with closing(read_lines(Path(file))) as lines:
            require_language(lines, language, file, expected, advice)
