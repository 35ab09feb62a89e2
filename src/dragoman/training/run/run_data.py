"""What a run trains with and depends on: text, tokenizers, teachers and the bundle that it starts from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dragoman.bundle import (
    Bundle,
    bundle_digest,
    choose_direction,
    describe_direction,
    find_bundle,
    languages_of,
    same_languages,
)
from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.references import distinct_names
from dragoman.dataset.pairs import read_pairs
from dragoman.dataset.prepare import Dataset, prepare
from dragoman.dataset.tokenizer_training import Tokenizers
from dragoman.doctor.data.cleaned_text import CleanedText, clean_data
from dragoman.errors import UserError, counted
from dragoman.settings import Data, Model, Recipe
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.system.files import sha256, write_json
from dragoman.system.progress import Log, ProgressLine
from dragoman.system.run_paths import NoBundleError
from dragoman.text.multilingual import name_direction
from dragoman.training.loop.distributed import Ranks
from dragoman.training.run.checkpoint import checkpoint_steps
from dragoman.training.run.directory import SOURCES_FILE, START_FILE, read_digests, saved_tokenizers

FREE = {
    *("text.bpe_dropout", "text.subword_pairs", "text.minimum_frequency", "model.max_length"),
    *("model.dropout", "model.attention_dropout", "model.activation_dropout"),
    *("model.embedding_init", "model.qkv_init", "model.implementation", "model.attention"),
}
"""Settings that may differ from those of the bundle: they change neither shape nor meaning of the weights."""

DEPTHS = {"encoder_layers", "decoder_layers"}
"""Settings that may be smaller than those of the bundle, whose first layers are taken then (Shleifer and Rush 2020)."""


def open_start(recipe: Recipe, run: Path, log: Log) -> Bundle | None:
    """The bundle of `training.start_from`; None if there is none, or if it is gone and the checkpoints suffice.

    Args:
        recipe: The recipe of the run.
        run: The run directory, which may be empty.
        log: Receives a message if the bundle is gone.

    Raises:
        UserError: The bundle is missing, damaged, other than when the run was started, or does not fit the recipe.
    """
    path = recipe.training.start_from
    if path is None:
        return None
    try:
        bundle = Bundle.load(path)
        if not recipe.data.directions:
            bundle = start_in_direction(bundle, recipe.data.languages, recipe.training.new_vocabulary)
        if read_digests(run / START_FILE).get("sha256", bundle.digest) != bundle.digest:
            raise UserError(f"{path}: this is not the bundle that the run was started from, or it was changed")
        _ = bundle.model  # read now: an unusable one is refused before the text is prepared
    except UserError as error:
        if not checkpoint_steps(run) or saved_tokenizers(run) is None or recipe.training.start_share:
            raise UserError(f"training.start_from: {error}") from error
        log(f"training.start_from: {error}; continuing from the checkpoint, which does not need it")
        return None
    check_start_fits(recipe, bundle.recipe, path)
    return bundle


def start_in_direction(bundle: Bundle, languages: Languages, new_vocabulary: bool) -> Bundle:
    """The bundle for the languages of a training, if it has several and its vocabulary is used.

    Raises:
        UserError: It does not have one of them.
    """
    return choose_direction(bundle, *languages) if languages_of(bundle) and not new_vocabulary else bundle


def record_start(run: Path, bundle: Bundle | None) -> None:
    """Store which bundle a run starts from.

    Args:
        run: The run directory.
        bundle: What `open_start` has read.
    """
    path = run / START_FILE
    if bundle is not None and not path.is_file():
        write_json(path, {"sha256": bundle.digest})


def check_sources(recipe: Recipe, run: Path) -> None:
    """Check that the teachers of a run, and the text that they translate, are those that it was started with.

    At the start, what they are is stored.

    Raises:
        UserError: A bundle or a file was changed. Those that are missing are ignored.
    """
    given, path = recipe.distillation, run / SOURCES_FILE
    digests = _bundle_digests([*given.teachers, *([given.round_trip] if given.round_trip else [])])
    files = (*recipe.backtranslation.mono, *given.mono)
    digests |= {file: sha256(Path(file)) for file in files if Path(file).is_file()}
    if not path.is_file():
        write_json(path, digests)
    if changed := _changed(digests, read_digests(path)):
        raise UserError(
            f"{', '.join(changed)}: changed since the run was started; restore it, or choose another --output to start "
            "again"
        )


def changed_teachers(recipe: Recipe, run: Path) -> list[str]:
    """The teachers that are not those with which a run was started, or are damaged, without missing ones."""
    stored, changed = read_digests(run / SOURCES_FILE), list[str]()
    for path in recipe.distillation.teachers:
        try:
            digests = _bundle_digests([path])
        except UserError:
            changed.append(path)
        else:
            changed += _changed(digests, stored)
    return changed


def _bundle_digests(paths: Sequence[str]) -> dict[str, str]:
    digests = {}
    for path in paths:
        with suppress(NoBundleError):
            digests[path] = bundle_digest(path)
    return digests


def _changed(digests: Mapping[str, str], stored: Mapping[str, str]) -> list[str]:
    return [name for name, digest in digests.items() if stored.get(name, digest) != digest]


def missing_sources(recipe: Recipe, run: Path) -> list[str]:
    """The teachers and the text with which a run was started, and that no longer exist."""
    files = {*recipe.backtranslation.mono, *recipe.distillation.mono}
    return [
        name
        for name in read_digests(run / SOURCES_FILE)
        if not (Path(name).is_file() if name in files else _has_bundle(name))
    ]


def _has_bundle(path: str) -> bool:
    try:
        find_bundle(path)
    except NoBundleError:
        return False
    return True


def check_start_fits(recipe: Recipe, of_bundle: Recipe, path: str) -> None:
    """Check that a training can start from a bundle.

    Args:
        recipe: The recipe of the training.
        of_bundle: The recipe of the bundle.
        path: The place of the bundle.

    Raises:
        UserError: The bundle has other settings, or translates other languages.
    """
    if differences := list(start_differences(recipe, of_bundle)):
        raise UserError(
            "\n  ".join(
                [
                    f"training.start_from: {path} has other settings than the recipe",
                    *differences,
                    "use the values of the bundle, as 'dragoman init FILE… --start-from BUNDLE' does; another section "
                    "text needs training.new_vocabulary = true",
                ]
            )
        )
    if not recipe.training.new_vocabulary and not recipe.data.directions:  # whose vocabulary grows
        check_start_languages(recipe.data.languages, of_bundle, path)


def check_start_languages(languages: Languages, of_bundle: Recipe, path: str) -> None:
    """Check that the vocabulary of a bundle suits the languages of a training.

    Raises:
        UserError: The bundle translates other languages.
    """
    if not same_languages(languages, of_bundle.data.languages):
        raise UserError(
            f"training.start_from: {path} translates {describe_direction(of_bundle.data.languages)}, not "
            f"{describe_direction(languages)}, and its vocabulary suits no other "
            "languages; to learn a new one, set training.new_vocabulary = true (dragoman train with --set "
            "training.new_vocabulary=true)"
        )


def same_depth(one: Model, other: Model) -> bool:
    """Whether two models have equally many layers."""
    return (one.encoder_layers, one.decoder_layers) == (other.encoder_layers, other.decoder_layers)


def start_differences(recipe: Recipe, of_bundle: Recipe) -> Iterator[str]:
    """The settings because of which a training cannot start from a bundle, with the values of both."""
    free = FREE - {"model.max_length"} if of_bundle.model.positions == "learned" else FREE
    for section in ("model",) if recipe.training.new_vocabulary else ("text", "model"):
        ours, theirs = getattr(recipe, section), getattr(of_bundle, section)
        for key in type(ours).model_fields:
            one, other = getattr(ours, key), getattr(theirs, key)
            is_shallower = key in DEPTHS and one < other and not recipe.training.start_share
            if one != other and f"{section}.{key}" not in free and not is_shallower:
                hint = "; fewer layers need training.start_share = 0" if key in DEPTHS and one < other else ""
                yield f"{section}.{key}: {one!r} in the recipe, {other!r} in the bundle{hint}"


@dataclass(frozen=True)
class StartScores:
    """What is needed to score the bundle that a training started from.

    Attributes:
        bundle: The bundle.
        old_text: The test corpora of its recipe, or else its validation corpora, by name.
    """

    bundle: Bundle
    old_text: dict[str, list[Pair]]

    def in_direction(self, languages: Languages | None) -> StartScores | None:
        """The same for one of several directions; None if the bundle was not trained for it."""
        if languages is None:
            return self
        if languages not in self.bundle.directions:
            return None
        texts = {
            f"{name_direction(languages)}, {name}": [pair for pair in pairs if pair.direction in (languages, None)]
            for name, pairs in self.old_text.items()
        }
        old_text = {name: pairs for name, pairs in texts.items() if pairs}
        return StartScores(choose_direction(self.bundle, *languages), old_text)


def read_old_text(bundle: Bundle, recipe: Recipe, data_directory: Path | None, log: Log) -> StartScores:
    """Read the test corpora of a bundle's recipe, or else its validation corpora, as far as they can be read.

    Args:
        bundle: The bundle that a training starts from.
        recipe: The recipe of the training, whose own test corpora are left out.
        data_directory: Mirror of the dataset catalog.
        log: Receives a message if nothing can be read.
    """
    data, texts, problems = bundle.recipe.data, dict[str, list[Pair]](), list[str]()
    tests, references = distinct_names(recipe.data.test), data.test or data.validation
    for name, reference in zip(distinct_names(references), references, strict=True):
        try:
            if name not in tests and (pairs := read_pairs([reference], data, data_directory)):
                texts[name] = pairs
        except UserError as error:
            problems.append(str(error))
    if problems or not (data.test or data.validation):
        reason = "; ".join(problems) or f"{bundle.origin} names neither test nor validation text"
        what = "not all old text is scored" if texts else "old text is not scored"
        log(f"{what}: {reason}; name it in data.test to see how much is forgotten")
    return StartScores(bundle, texts)


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
    if start and not same_depth(recipe.model, start.recipe.model):
        line.log(
            f"from {recipe.training.start_from}: the first {recipe.model.encoder_layers} of "
            f"{counted(start.recipe.model.encoder_layers, 'encoder layer')}, and the first "
            f"{recipe.model.decoder_layers} of {counted(start.recipe.model.decoder_layers, 'decoder layer')}"
        )
    tokenizers = saved_tokenizers(run) or _bundle_tokenizers(recipe, start, teachers)
    data, cleaned = clean_data(recipe.data, data_directory, line.log, line.update)
    for text in (str(cleaned), *cleaned.warnings) if cleaned else ():
        line.log(text)
    cleaned_recipe = recipe.model_copy(update={"data": data})
    dataset = prepare(cleaned_recipe, data_directory, tokenizers, line.log, line.update)
    tests = read_tests(recipe.data, data_directory) if ranks.first else {}
    scores = None
    of_start = start.recipe.data if start else recipe.data
    is_scored = recipe.data.directions or same_languages(recipe.data.languages, of_start.languages)
    is_earlier_stage = Path(recipe.training.start_from or "").is_relative_to(run)
    is_compared_teacher = recipe.training.start_from in teachers  # by the comparison of students
    if start and ranks.first and is_scored and not (is_earlier_stage or is_compared_teacher):
        scores = read_old_text(start, recipe, data_directory, line.log)
    return RunData(dataset, tests, cleaned, start, scores)


def _bundle_tokenizers(recipe: Recipe, start: Bundle | None, teachers: Sequence[str]) -> Tokenizers | None:
    """Those of the bundle that the run starts from or learns from, unless the recipe wants another vocabulary."""
    if start is not None:
        return None if recipe.training.new_vocabulary else (start.source, start.target)
    return BundleEnsemble.load(teachers, recipe.data.languages).tokenizers_for(recipe.text) if teachers else None


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
