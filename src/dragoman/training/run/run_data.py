"""What a run trains with: its text, its tokenizers, and the bundle that it starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.bundle import Bundle, same_languages
from dragoman.corpus.pair import Pair
from dragoman.corpus.references import distinct_names
from dragoman.dataset.pairs import read_pairs
from dragoman.dataset.prepare import Dataset, prepare
from dragoman.dataset.tokenizer_training import Tokenizers
from dragoman.doctor.data.cleaned_text import CleanedText, clean_data
from dragoman.errors import UserError
from dragoman.settings import Data, Recipe
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.system.progress import ProgressLine
from dragoman.training.loop.distributed import Ranks
from dragoman.training.run.directory import saved_tokenizers
from dragoman.training.run.start import open_start
from dragoman.training.run.start_comparison import StartScores, read_old_text


@dataclass(frozen=True)
class RunData:
    """What a run trains with.

    Attributes:
        dataset: The text to train and to validate on.
        tests: The test corpora by name; only the first process has them.
        cleaned: What was left out of the training text, if it was cleaned.
        start: The bundle that the training starts from.
        start_scores: What is needed to score it, too.
    """

    dataset: Dataset
    tests: Mapping[str, list[Pair]]
    cleaned: CleanedText | None
    start: Bundle | None
    start_scores: StartScores | None


def read_run_data(
    recipe: Recipe,
    run: Path,
    data_directory: Path | None,
    ranks: Ranks,
    line: ProgressLine,
    teachers: Sequence[str] = (),
) -> RunData:
    """Read the text, or what an earlier process of the run has prepared.

    Args:
        recipe: What is trained.
        run: The run directory.
        data_directory: Mirror of the dataset catalog.
        ranks: The processes of the run.
        line: Shows progress.
        teachers: The bundles that a student learns from.

    Raises:
        UserError: Text or a bundle is missing, or does not fit the recipe.
    """
    start = open_start(recipe, run, line.log)
    tokenizers = saved_tokenizers(run) or _bundle_tokenizers(recipe, start, teachers)
    data, cleaned = clean_data(recipe.data, data_directory, line.log)
    for text in (str(cleaned), *cleaned.warnings) if cleaned else ():
        line.log(text)
    cleaned_recipe = recipe.model_copy(update={"data": data})
    dataset = prepare(cleaned_recipe, data_directory, tokenizers, line.log, line.update)
    tests = read_tests(recipe.data, data_directory) if ranks.first else {}
    scores = None
    if start and ranks.first and same_languages(recipe.data.languages, start.recipe.data.languages):
        scores = read_old_text(start, recipe, data_directory, line.log)
    return RunData(dataset, tests, cleaned, start, scores)


def _bundle_tokenizers(recipe: Recipe, start: Bundle | None, teachers: Sequence[str]) -> Tokenizers | None:
    """Those of the bundle that the run starts from or learns from, unless the recipe wants another vocabulary."""
    if teachers:
        return BundleEnsemble.load(teachers, recipe.data.languages).tokenizers_for(recipe.text)
    if start is None or recipe.training.new_vocabulary:
        return None
    return start.source, start.target


def read_tests(data: Data, data_directory: Path | None) -> dict[str, list[Pair]]:
    """The test corpora by name, read before training so that errors in them are found early.

    Raises:
        UserError: A corpus is missing, damaged or empty.
    """
    tests = {}
    for name, reference in zip(distinct_names(data.test), data.test, strict=True):
        tests[name] = read_pairs([reference], data, data_directory)
        if not tests[name]:
            raise UserError(f"data.test: {name} has no pair with text on both sides")
    return tests
