"""What a run depends on: the bundle that it starts from, teachers and text; the same when the run is resumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
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
from dragoman.corpus.pair import Languages
from dragoman.errors import UserError
from dragoman.settings import Recipe
from dragoman.system.files import sha256, write_json
from dragoman.system.progress import Log
from dragoman.system.run_paths import NoBundleError
from dragoman.training.run.checkpoint import checkpoint_steps
from dragoman.training.run.directory import read_digests, saved_tokenizers

START_FILE = "start.json"
"""The digest of the bundle that the run was started from."""

SOURCES_FILE = "sources.json"
"""The digests of the teachers that a recipe names, and of the monolingual text."""

FREE = {
    *("text.bpe_dropout", "text.subword_pairs", "text.minimum_frequency", "model.max_length"),
    *("model.dropout", "model.attention_dropout", "model.activation_dropout"),
    *("model.embedding_init", "model.qkv_init", "model.implementation", "model.attention"),
}
"""Settings that may differ from those of the bundle: they change neither shape nor meaning of the weights."""


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
        bundle = start_in_direction(Bundle.load(path), recipe.data.languages, recipe.training.new_vocabulary)
        if read_digests(run / START_FILE).get("sha256", bundle.digest) != bundle.digest:
            raise UserError(f"{path}: this is not the bundle that the run was started from, or it was changed")
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
    """The teachers that are not those with which a run was started, without missing ones."""
    return _changed(_bundle_digests(recipe.distillation.teachers), read_digests(run / SOURCES_FILE))


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
    if differences := list(_differences(recipe, of_bundle)):
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
    if not recipe.training.new_vocabulary:
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


def _differences(recipe: Recipe, of_bundle: Recipe) -> Iterator[str]:
    """The settings in which a recipe differs from that of a bundle, with both values."""
    free = FREE - {"model.max_length"} if of_bundle.model.positions == "learned" else FREE
    for section in ("model",) if recipe.training.new_vocabulary else ("text", "model"):
        ours, theirs = getattr(recipe, section), getattr(of_bundle, section)
        for key in type(ours).model_fields:
            one, other = getattr(ours, key), getattr(theirs, key)
            if one != other and f"{section}.{key}" not in free:
                yield f"{section}.{key}: {one!r} in the recipe, {other!r} in the bundle"
