"""Bundles: directories with everything needed to translate, which are weights, tokenizers and settings."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from dragoman.corpus.pair import Languages
from dragoman.errors import UserError, counted, shortened
from dragoman.languages.codes import find_language, language_name, primary_language, same_language
from dragoman.languages.identify import CLEAR, LanguageProfile, identify_each, language_of_most, stored_profile
from dragoman.recipe import build_recipe, remove_deleted
from dragoman.settings import CorpusReference, FilePair, Model, Recipe
from dragoman.settings.data import IMPORTED
from dragoman.system.files import (
    atomic_directory,
    is_unused,
    parse_json,
    read_bytes,
    require_size,
    restore_replaced,
    sha256,
)
from dragoman.system.run_paths import explain_no_bundle, run_directory
from dragoman.system.tensors import check_header, open_tensors, read_parameters, write_tensors
from dragoman.system.version import __version__
from dragoman.text.multilingual import MultilingualTokenizer, name_direction, target_to_choose
from dragoman.text.registry import SOURCE_FILE, TARGET_FILE, describe_vocabularies, load_tokenizers, save_tokenizers
from dragoman.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from dragoman.model.transformer import Transformer

ABOUT = "bundle.json"
FORMAT = "dragoman-bundle"
VERSION = 1
WEIGHTS = "model.safetensors"
FILES = (WEIGHTS, SOURCE_FILE, TARGET_FILE)
MAX_ABOUT_BYTES = 50_000_000  # of bundle.json, which has about 300 kB for each direction
MAX_READS = 5  # of a bundle that is replaced meanwhile
Table = TypeVar("Table", bound=BaseModel)
TABLES = ("scores", "validation", "training_text", "alignment", "confidence")
"""Keys of bundle.json that are fields of a bundle; bundles of older versions lack some."""
MANY_TABLES = {"directions": "facts", "profiles": "profiles"}
"""Keys of bundle.json of a model trained for several directions, and the fields."""


class AttentionRows(NamedTuple):
    """Which rows of the cross-attention show what a token of the translation translates.

    Attributes:
        layer: The layer of the decoder, from 0.
        shifted: Whether a token attends with the row in which it is the input of the decoder, instead of the one that
            predicts it. In deep models the former is better (Chen et al. 2020, "Accurate word alignment induction from
            neural machine translation", section 3).
    """

    layer: int
    shifted: bool


class StoredModel:
    """The model of a bundle on disk, which is read when it is first needed: CTranslate2 translates without it.

    Args:
        directory: The bundle.
        recipe: Its recipe.
        sizes: Sizes of the vocabularies of source and target, and the id of padding in the source.
        stored: The content of its bundle.json.
        checksum: The SHA-256 of the weights.
    """

    def __init__(
        self, directory: Path, recipe: Recipe, sizes: tuple[int, int, int], stored: bytes, checksum: str
    ) -> None:
        self._directory = directory.absolute()  # the process may change its working directory
        self._recipe, self._sizes, self._stored, self._checksum = recipe, sizes, stored, checksum

    @cached_property
    def model(self) -> Transformer:
        """The model in evaluation mode.

        Raises:
            UserError: The weights do not fit the recipe, or are not finite, or the bundle was changed or deleted.
        """
        path = self._directory / WEIGHTS
        try:
            model = _read_model(path, self._recipe.model, self._sizes)
            _require_checksum(path, self._checksum)  # the weights may have been changed since the bundle was loaded
        except UserError:
            if _read_stored(self._directory) == self._stored:
                raise
        else:
            if _read_stored(self._directory) == self._stored:
                return model
        raise UserError(f"{self._directory}: the bundle was replaced or deleted after it was loaded; load it again")


@dataclass(frozen=True)
class Bundle:
    """A trained model with its recipe and tokenizers; `scores` are the test scores of its training run.

    `validation` are its scores on text that chose the checkpoint, and `pairs`, the number of pairs that it has.
    `weights` are the model, which a bundle on disk reads when it is first needed.
    `training_text` describes the training text, see `dragoman.doctor.input`; `alignment` names the
    `AttentionRows` that align words; and `confidence` has the numbers of
    `dragoman.evaluation.confidence.Confidence`. All four are empty in imported bundles and in those of older versions.
    Messages name `origin`. `json_sha256` is that of bundle.json; see `bundle_digest`, too.

    A model that was trained for several directions has these five tables for each: `facts` has them by the name of the
    direction (see `name_direction`), and `choose_direction` puts those of one direction in their places. `profiles`
    has what `dragoman.languages.identify.learn_profiles` learned, by language. `given` are the languages that
    were chosen, and `stated` also those that follow from them: the others are recognized, or have to be.
    """

    recipe: Recipe
    weights: Transformer | StoredModel
    source: Tokenizer
    target: Tokenizer
    scores: dict[str, Any] = field(default_factory=dict)
    validation: dict[str, Any] = field(default_factory=dict)
    training_text: dict[str, Any] = field(default_factory=dict)
    alignment: dict[str, Any] = field(default_factory=dict)
    confidence: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    profiles: dict[str, str] = field(default_factory=dict)
    given: tuple[str | None, str | None] = (None, None)
    stated: tuple[str | None, str | None] = (None, None)
    origin: str = ABOUT
    json_sha256: str = ""
    digest: str = ""

    @property
    def model(self) -> Transformer:
        """The model.

        Raises:
            UserError: It has to be read, see `StoredModel.model`, and cannot be.
        """
        return self.weights.model if isinstance(self.weights, StoredModel) else self.weights

    @property
    def directions(self) -> list[Languages]:
        """The directions that the model was trained for; all, of an imported model with several languages."""
        data = self.recipe.data
        return list(data.directions) or list(permutations(languages_of(self), 2)) or [data.languages]

    @property
    def is_undecided(self) -> bool:
        """Whether a language of the direction is neither stated nor the only one."""
        return bool(self.recipe.data.directions) and None in self.stated

    @property
    def recognizes_source(self) -> bool:
        """Whether the language of a text has to be recognized: others than the only trained one are possible, too."""
        is_open = self.stated[0] is None or len(languages_of(self)) > 2
        return bool(self.recipe.data.directions) and self.given[0] is None and is_open

    @property
    def is_zero_shot(self) -> bool:
        """Whether the model was never trained for this direction, but only for both languages in others."""
        data = self.recipe.data
        return bool(data.directions) and data.languages not in data.directions

    @property
    def language_profile(self) -> LanguageProfile | None:
        """What distinguishes the languages of a model that was trained for several; None for other models."""
        return stored_profile(tuple(self.profiles.items())) if self.profiles else None

    def table(self, name: str, kind: type[Table]) -> Table | None:
        """What training stored in bundle.json; None in imported bundles and in those of older versions.

        Args:
            name: One of `TABLES`.
            kind: What the table describes.

        Raises:
            UserError: The table is damaged.
        """
        stored = getattr(self, name)
        try:
            return kind.model_validate(stored) if stored else None
        except ValidationError as error:
            place = ".".join(map(str, (name, *error.errors()[0]["loc"])))
            raise UserError(f"{self.origin}: damaged ({shortened(place)})") from None

    def attention_rows(self) -> AttentionRows:
        """The attention that was chosen at the end of training; in other bundles the last layer's.

        Raises:
            UserError: The bundle is damaged.
        """
        layers = self.recipe.model.decoder_layers
        stored = self.alignment or _common_alignment(self) or {"layer": layers - 1, "shifted": False}
        layer, shifted = stored.get("layer"), stored.get("shifted")
        if not (isinstance(layer, int) and 0 <= layer < layers and isinstance(shifted, bool)):
            raise UserError(f"{self.origin}: damaged (alignment)")
        return AttentionRows(layer, shifted)

    def save(self, path: Path, written: Recipe | None = None) -> None:
        """Write the bundle completely or not at all; an existing bundle is replaced, also if files are missing.

        Args:
            path: The directory.
            written: The recipe that names the text, for the card, if that of the bundle names copies of it.

        Raises:
            UserError: The bundle cannot be written, or there is something else at this path; nothing is changed.
        """
        if not is_unused(path) and not _is_bundle(path):
            raise UserError(f"{path}: is not a bundle; move or delete it, or choose another directory")
        # every parameter once, in float32; a shared parameter has its first name
        weights = {name: each.detach().float().contiguous() for name, each in self.model.named_parameters()}
        with atomic_directory(path) as directory:
            write_tensors(directory / WEIGHTS, weights)
            save_tokenizers(directory, self.source, self.target)
            (directory / "README.md").write_text(self._card(written or self.recipe), encoding="utf-8")
            about = {
                "format": FORMAT,
                "version": VERSION,
                "dragoman": __version__,
                "recipe": self.recipe.to_dict(),
                **{name: getattr(self, name) for name in TABLES},
                **self._many_tables(),
                "sha256": {name: sha256(directory / name) for name in FILES},
            }
            (directory / ABOUT).write_text(json.dumps(about, ensure_ascii=False, indent=2), encoding="utf-8")

    def _many_tables(self) -> dict[str, Any]:
        """What bundle.json of a model with several directions has, too; the profile of a language only once."""
        facts = {name: dict(tables) for name, tables in self.facts.items()}
        for tables in facts.values():
            if self.profiles and tables.get("training_text"):
                tables["training_text"] = {**tables["training_text"], "profiles": {}}
        return {"directions": facts, "profiles": self.profiles} if facts else {}

    @classmethod
    def load(cls, path: str | Path) -> Bundle:
        """Read a bundle, or the bundle of a run directory.

        Raises:
            UserError: There is no bundle, or its files are damaged, of another program, or of a newer format. Whether
                the weights fit the recipe is known when they are read, see `StoredModel.model`.
        """
        for _ in range(MAX_READS):
            directory, stored = _find_stored(path)
            try:
                bundle = cls._read(directory, stored)
            except UserError:
                if _read_stored(directory) == stored:
                    raise
            else:
                if _read_stored(directory) == stored:
                    return bundle
        raise _replaced(path)

    @classmethod
    def _read(cls, directory: Path, stored: bytes) -> Bundle:
        """Read the files, given bundle.json; if they are replaced meanwhile, they may be those of two bundles."""
        about = _parse_stored(directory, stored)
        _check_files(directory, about["sha256"])
        remove_deleted(about["recipe"])  # with any value: the model is finished
        recipe = build_recipe(about["recipe"], origin=str(directory / ABOUT))
        source, target = load_tokenizers(directory)
        if recipe.model.tie == "all" and len(source.vocabulary) != len(target.vocabulary):
            raise UserError(f"{directory}: model.tie = 'all', but the vocabularies of the tokenizers differ in size")
        sizes = len(source.vocabulary), len(target.vocabulary)
        return cls(
            recipe,
            StoredModel(directory, recipe, (*sizes, source.vocabulary.pad), stored, about["sha256"][WEIGHTS]),
            source,
            target,
            **{key: about[key] for key in TABLES},
            **{name: about[key] for key, name in MANY_TABLES.items()},
            origin=str(directory / ABOUT),
            json_sha256=hashlib.sha256(stored).hexdigest(),
            digest=_digest(about),
        )

    def _card(self, written: Recipe) -> str:
        """README.md: what the model translates, how well, what it learned from, and what it is bad at.

        Args:
            written: The recipe that names the text.
        """
        from dragoman.model.transformer import parameter_counts

        parameters = parameter_counts(self.model)["total"]
        vocabularies = describe_vocabularies(self.source, self.target, self.recipe.text.joint)
        codes = list(dict.fromkeys(code for direction in self.directions for code in direction))
        names = [f"{language_name(code)} ({code})" for code in codes]
        between = f"between {', '.join(names)}" if len(self.directions) > 1 else f"from {' to '.join(names)}"
        option = f" --target-language {target}" if (target := target_to_choose(self.recipe.data.directions)) else ""
        lines = [
            "---",
            f"language: {json.dumps(codes)}",  # in quotation marks: in YAML, no is a boolean
            "pipeline_tag: translation",
            "---",
            "",
            f"# {self.recipe.name}",
            "",
            f"A translator {between}, trained with dragoman {__version__}: a Transformer of {parameters:,} parameters "
            f"with {vocabularies}.",
            "",
            "```",
            f'dragoman translate PATH/TO/THIS/DIRECTORY "…"{option}',
            "```",
            "",
        ]
        if reports := self._reports():
            lines += [
                "## Scores",
                "",
                *(f"* {name}: {describe_scores(report)}" for name, report in reports.items()),
                "",
            ]
        if any(tables.get("validation") for tables in self._tables.values()):
            lines += [_describe_validation(written), ""]
        if any(tables.get("training_text") for tables in self._tables.values()):
            lines += ["## What it is bad at", "", *self._weak_points(reports), ""]
        if not str(self.recipe.data.train[0]).startswith(IMPORTED):
            lines += ["## Training text", "", *dict.fromkeys(_describe_corpora(written)), ""]
        return "\n".join(lines)

    @property
    def _tables(self) -> dict[str, dict[str, Any]]:
        """What is known about each direction, by its name; of a model with one direction, by an empty one."""
        return self.facts or {"": {name: getattr(self, name) for name in TABLES}}

    def _reports(self) -> dict[str, Mapping[str, Any]]:
        """The scores of each direction, by direction and name of the text."""
        reports = {}
        for direction, tables in self._tables.items():
            tests = {name: each for name, each in tables.get("scores", {}).items() if isinstance(each, dict)}
            for name, each in {_VALIDATION: tables.get("validation", {}), **tests}.items():
                if "chrf" in each:  # unlike those of old versions
                    direction = direction or (name_direction(self.recipe.data.languages) if languages_of(self) else "")
                    full = name if not direction or name.startswith(direction) else f"{direction}, {name}"
                    reports[full] = each
        return reports

    def _weak_points(self, reports: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
        """The directions with the lowest scores, those that were never trained, and unusual sentences."""
        if self.facts and (worst := sorted(reports, key=lambda name: float(reports[name]["chrf"]))[:2]):
            shown = "; ".join(f"{name} (chrF {reports[name]['chrf']:.1f})" for name in worst)
            yield f"* The lowest scores: {shown}."
        trained = set(self.directions)  # of 200 languages, there are 40,000
        untrained = [each for each in permutations(languages_of(self), 2) if each not in trained]
        if untrained:
            names = ", ".join(map(name_direction, untrained))
            yield (
                f"* {names}: it was not trained for these directions. It may write in another language; to translate "
                "through a third language is usually better."
            )
        described = [tables["training_text"] for tables in self._tables.values() if tables.get("training_text")]
        if longest := [each["longest"] for each in described if "longest" in each]:
            yield f"* Sentences of more than about {max(longest)} characters, which its training text lacks."
        yield "* Text of other kinds than its training text, and names and terms that do not occur in that."
        yield "* It translates each sentence alone, so it cannot know what a pronoun of another sentence means."


_VALIDATION = "validation"


def describe_scores(report: Mapping[str, Any]) -> str:
    """Scores in words, for the log and the card.

    Args:
        report: What `dragoman.evaluation.evaluate.score_translations` has found; old bundles lack some of it.
    """
    scores = f"BLEU {report['bleu']:.2f}, chrF {report['chrf']:.2f}"
    if report.get("chrf_pp") is not None:
        scores += f", chrF++ {report['chrf_pp']:.2f}"
    if report.get("wrong_language") is not None:
        scores += f", {report['wrong_language']:.1%} in another language"
    if "sentences" in report:
        number = counted(report["sentences"], "sentence")
        if report.get("pairs", 0) > report["sentences"]:  # of the validation text
            number = f"{report['sentences']:,} of {counted(report['pairs'], 'sentence')}"
        scores += f" ({number}, {report['decoding']})"
    return scores


def _describe_validation(recipe: Recipe) -> str:
    """What the validation text is, and what its scores mean."""
    names = ", ".join(dict.fromkeys(" and ".join(_file_names(each)) for each in recipe.data.validation))
    if recipe.validates_on_translations:
        return (
            "The validation text was held out of the training text. Its references are translations by the teacher, so "
            "its scores say how well this translator imitates the teacher, not how good its translations are."
        )
    text = f"is {names}" if names else "was held out of the training text"
    return f"The validation text {text}. It chose the checkpoint, so its scores are a little too high."


def _file_names(corpus: CorpusReference) -> list[str]:
    """The files of a corpus, without directories, or its name in the catalog or on the hub."""
    if isinstance(corpus, FilePair):
        return [Path(corpus.source).name, Path(corpus.target).name]
    file = corpus if isinstance(corpus, str) else corpus.file
    return [file if file.startswith("hf:") else Path(file).name]


def _describe_corpora(recipe: Recipe) -> Iterator[str]:
    """Each training corpus with its source and its license, as far as they are known."""
    from dragoman.corpus.catalog import CATALOG  # only the card needs it

    unknown = "source and license are not known; add them before you publish this."
    for each in recipe.data.weighted:
        names = _file_names(each.corpus)
        if entry := CATALOG.get(names[0].partition(":")[0]):
            yield f"* {names[0]}: {entry.description}; {entry.homepage}; license: {entry.license}"
        else:
            is_by_machine = each.tagged or recipe.distillation.translated_by
            made = ", translated by a machine" if is_by_machine else ""
            yield f"* {' and '.join(names)}{made}: {unknown}"
    given = {frozenset(recipe.data.languages_of(each.corpus)) for each in recipe.data.weighted}
    if joined := [name_direction(each) for each in recipe.data.directions if frozenset(each) not in given]:
        yield f"* {', '.join(joined)}: no corpus, only pairs from lines that the other texts share."
    for file in dict.fromkeys((*recipe.backtranslation.mono, *recipe.distillation.mono)):
        yield f"* {Path(file).name}, text in one language, translated by a model: {unknown}"
    if recipe.distillation.teachers:
        teachers = ", ".join(run_directory(Path(path)).name for path in recipe.distillation.teachers)
        yield f"* It learned from translations by {teachers}: the licenses of that text apply, too."
    if service := recipe.distillation.translated_by:
        yield f"* It learned from translations by {service}: check whether its license or terms allow that."
    if recipe.training.start_from:
        start = run_directory(Path(recipe.training.start_from)).name
        yield f"* It started with the weights of {start}: the licenses of that text apply, too."


def find_bundle(path: str | Path) -> Path:
    """The directory of the bundle at `path`, which is a bundle or a run directory.

    Raises:
        UserError: There is no bundle; the message names the run that is probably meant.
    """
    if not isinstance(path, str | Path):
        raise UserError(f"{path!r}: must be the path of a bundle or of a run directory")
    path = Path(path)
    for directory in (path, path / "bundle"):
        if not os.path.exists(directory):
            with suppress(OSError):  # a bundle in a directory that cannot be written to
                restore_replaced(directory)
        if os.path.isfile(directory / ABOUT):  # the method of Path raises OSError for names that are too long
            return directory
    raise explain_no_bundle(path)


def _is_bundle(directory: Path) -> bool:
    """Whether a directory is a bundle, or was one: it has the bundle.json of one, or all other files."""
    with suppress(UserError):
        if parse_json(read_bytes(directory / ABOUT, MAX_ABOUT_BYTES), directory / ABOUT).get("format") == FORMAT:
            return True
    return all((directory / name).is_file() for name in FILES)


def bundle_digest(path: str | Path) -> str:
    """SHA-256 of the weights and the tokenizers of a bundle, or of the bundle of a run directory.

    Raises:
        UserError: There is no bundle, or its bundle.json is damaged.
    """
    return _digest(_parse_stored(*_find_stored(path)))


def _digest(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about["sha256"], sort_keys=True).encode()).hexdigest()


def _find_stored(path: str | Path) -> tuple[Path, bytes]:
    """The directory of a bundle, and the content of its bundle.json."""
    for _ in range(MAX_READS):
        directory = find_bundle(path)
        if (stored := _read_stored(directory)) is not None:
            return directory, stored
    raise _replaced(path)


def _read_stored(directory: Path) -> bytes | None:
    """The content of bundle.json; None if it is missing at this moment, because the directory is being replaced."""
    try:
        return read_bytes(directory / ABOUT, MAX_ABOUT_BYTES)
    except UserError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


def _replaced(path: str | Path) -> UserError:
    return UserError(f"{path}: the bundle was replaced {MAX_READS} times while it was read")


def _parse_stored(directory: Path, stored: bytes) -> dict[str, Any]:
    """What bundle.json describes, given its content."""
    path = directory / ABOUT
    about = parse_json(stored, path)
    if about.get("format") != FORMAT:
        raise UserError(f"{path}: not a dragoman bundle (its format is {shortened(repr(about.get('format')))})")
    version = about.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise UserError(
            f"{path}: bundle format {shortened(str(version))} is newer than the {VERSION} that dragoman {__version__} "
            "reads; upgrade dragoman"
        )
    about = {key: {} for key in (*TABLES, *MANY_TABLES)} | about
    for key in ("recipe", "sha256", *TABLES, *MANY_TABLES):
        if not isinstance(about.get(key), dict):
            raise UserError(f"{path}: damaged (the table {key!r} is missing)")
    if damaged := [name for name, tables in about["directions"].items() if not _are_facts(tables)]:
        raise UserError(f"{path}: damaged (directions.{shortened(damaged[0])})")
    return about


def _are_facts(tables: Any) -> bool:
    """Whether this is like a value of `Bundle.facts`."""
    return isinstance(tables, dict) and all(isinstance(tables.get(name, {}), dict) for name in TABLES)


def _check_files(directory: Path, expected: dict[str, str]) -> None:
    for name in FILES:
        path = directory / name
        if not path.is_file():
            raise UserError(f"{path}: missing; the bundle is incomplete")
        if name == WEIGHTS:  # hashing a file that is too large would take minutes
            with open_tensors(path):  # compares the size with the header
                pass
        else:
            require_size(path)
        _require_checksum(path, expected.get(name))


def _require_checksum(path: Path, expected: str | None) -> None:
    if sha256(path) != expected:
        raise UserError(f"{path}: damaged (its SHA-256 differs from the one in bundle.json); copy the bundle again")


def _read_model(path: Path, settings: Model, sizes: tuple[int, int, int]) -> Transformer:
    """The model with the weights in a file, whose header is checked before any memory is allocated for the model."""
    import torch

    from dragoman.model.build import build_model
    from dragoman.system.uninitialized import WithoutInitialWeights

    with open_tensors(path, "pt") as file:
        # a model has more tensors than layers; thousands of layers are not even built without weights
        if settings.encoder_layers + settings.decoder_layers > len(file.keys()):
            raise UserError(f"{path}: its weights do not fit the recipe in bundle.json")
        with torch.device("meta"), WithoutInitialWeights():
            check_header(path, file, dict(build_model(settings, *sizes, seed=0).named_parameters()))
        with WithoutInitialWeights():
            model = build_model(settings, *sizes, seed=0)
        read_parameters(path, file, dict(model.named_parameters()))
    return model.eval()


UNKNOWN_LANGUAGE = "und"  # of imported models that do not state it


def same_languages(languages: Languages, others: Languages) -> bool:
    """Whether source and target are the same, apart from regions, as far as they are known."""
    pairs = zip(languages, others, strict=True)
    return all(UNKNOWN_LANGUAGE in pair or same_language(*pair) for pair in pairs)


def describe_direction(languages: Languages) -> str:
    """Languages without regions: ``pt-en`` for ``pt-BR`` and ``en``."""
    return "-".join(map(primary_language, languages))


def languages_of(bundle: Bundle) -> list[str]:
    """The codes of the languages that a bundle translates from and into; none if it has one direction."""
    return list(bundle.target.tokens) if isinstance(bundle.target, MultilingualTokenizer) else []


def translates(bundle: Bundle, languages: Languages) -> bool:
    """Whether a bundle translates from the first language into the second, as far as its languages are known."""
    if not languages_of(bundle):
        return same_languages(languages, bundle.recipe.data.languages)
    try:
        choose_direction(bundle, *languages)
    except UserError:
        return False
    return True


def choose_direction(bundle: Bundle, source: str | None, target: str | None) -> Bundle:
    """The bundle with the same model for another direction, and with what is known about that direction.

    Args:
        bundle: The translator.
        source: The language to translate from; None for that of the bundle. A model that was trained for several
            directions has its `stated` one, or the only one of its directions; otherwise none is stated.
        target: The language to translate into; None as for the source.

    Raises:
        UserError: The bundle does not have one of the languages, or both are the same.
    """
    data = bundle.recipe.data
    wanted = {"source": source, "target": target}
    found = [_find(bundle, side, code, own) for (side, code), own in zip(wanted.items(), data.languages, strict=True)]
    if not (isinstance(bundle.source, MultilingualTokenizer) and isinstance(bundle.target, MultilingualTokenizer)):
        return bundle
    source_given, target_given = (new or old for new, old in zip(found, bundle.given, strict=True))
    given = source_given, target_given
    if data.directions:
        _require_two(bundle, given)
        stated = _complete(bundle, given)
        languages = _stand_in(bundle, stated)
    else:
        stated = languages = (found[0] or data.source_language, found[1] or data.target_language)
        _require_two(bundle, stated)
    changed = replace(
        bundle,
        recipe=bundle.recipe.model_copy(update={"data": data.in_languages(languages)}),
        source=bundle.source.with_direction(languages, "source"),
        target=bundle.target.with_direction(languages, "target"),
        given=given,
        stated=stated,
    )
    if data.directions:
        return replace(changed, **_facts_of(bundle, languages))
    if languages == data.languages:
        return changed
    return replace(changed, training_text={}, confidence={})  # which are about the direction of the training text


def require_direction(bundle: Bundle) -> None:
    """Check that both languages of a direction are stated.

    Raises:
        UserError: One is not.
    """
    require_target(bundle)
    _require(bundle, 0)


def require_target(bundle: Bundle) -> None:
    """Check that the target language is stated, before its source is recognized; raises UserError if it is not."""
    _require(bundle, 1)


def _require(bundle: Bundle, side: int) -> None:
    """Check that the source (0) or the target (1) is stated."""
    if bundle.is_undecided and bundle.stated[side] is None:
        name = ("source", "target")[side]
        codes = list(dict.fromkeys(each[side] for each in _directions_with(bundle, *bundle.stated)))
        codes = codes or [each for each in languages_of(bundle) if each not in bundle.stated]
        raise UserError(
            f"{bundle.recipe.name} translates {('from', 'into')[side]} {', '.join(codes)}: choose one of them with "
            f"--{name}-language, or in Python with {name}_language"
        )


def possible_sources(bundle: Bundle) -> list[str]:
    """The languages that a text to translate into the stated target can be in, those of trained directions first."""
    trained = [source for source, _ in _directions_with(bundle, None, bundle.stated[1])]
    return [each for each in dict.fromkeys((*trained, *languages_of(bundle))) if each != bundle.stated[1]]


def recognize_sources(bundle: Bundle, texts: Sequence[str]) -> list[str]:
    """The language of each text among those that a bundle can translate into the stated target.

    A text of few words may have the language of all of them, see `identify_each`. A direction that was never trained
    is only used for a text that is clearly in its language.

    Raises:
        UserError: The target is not stated, or all texts together are in no language of the bundle.
    """
    found = _recognize(bundle, texts)
    if not any(found):
        _require_recognized(bundle, texts)
    usual = next((code for code, _ in Counter(filter(None, found)).most_common(1)), None)
    usual = usual or bundle.stated[0] or possible_sources(bundle)[0]
    return [each or usual for each in found]


def with_open_source(bundle: Bundle) -> Bundle | None:
    """The bundle whose stated source is only that of texts that are not recognized; None if it recognizes none."""
    opened = replace(bundle, given=(None, bundle.given[1]))
    return opened if opened.recognizes_source and opened.profiles else None


def recognize_common_source(bundle: Bundle, texts: Sequence[str]) -> str:
    """The language that most of some texts are in, which are all translated from it; see `recognize_sources`.

    Raises:
        UserError: The target is not stated, or most are in no language of the bundle.
    """
    found = language_of_most(texts, _recognize(bundle, texts))
    if not found:
        _require_recognized(bundle, texts)
    return found or possible_sources(bundle)[0]


def _recognize(bundle: Bundle, texts: Sequence[str]) -> list[str]:
    """The language of each text; empty where it is not known."""
    require_target(bundle)
    if bundle.stated[0] is not None and not bundle.recognizes_source:
        return [bundle.stated[0]] * len(texts)
    trained = {source for source, _ in _directions_with(bundle, None, bundle.stated[1])}
    possible, profile = possible_sources(bundle), bundle.language_profile
    ranked = identify_each(texts, profile) if profile else [[] for _ in texts]
    return [
        next((code for code, share in each if code in possible and (code in trained or share >= CLEAR)), "")
        or next((code for code, _ in each if code in possible), "")
        for each in ranked
    ]


def _require_recognized(bundle: Bundle, texts: Sequence[str]) -> None:
    """Check that the source is stated, or that texts that are not recognized have no words."""
    if bundle.stated[0] is None and any(map(str.isalpha, "".join(texts))):
        problem = "was not recognized" if bundle.profiles else "cannot be recognized by this translator"
        raise UserError(
            f"{bundle.recipe.name}: the language of the text {problem}; name it with --source-language, or in "
            f"Python source_language: {', '.join(possible_sources(bundle))}"
        )


def each_direction(bundle: Bundle) -> list[Bundle]:
    """The bundle in each of its trained directions that have the stated languages; itself if it is in one direction."""
    if not bundle.is_undecided:
        return [bundle]
    return [choose_direction(bundle, *each) for each in _directions_with(bundle, *bundle.stated)]


def _require_two(bundle: Bundle, languages: tuple[str | None, str | None]) -> None:
    """Check that the source and the target, as far as they are given, are not the same language."""
    source, target = languages
    if source is not None and source == target:
        raise UserError(
            f"{bundle.recipe.name}: the source and the target language are both {source}; choose one of "
            f"{', '.join(each for each in languages_of(bundle) if each != source)} for one of them"
        )


def _complete(bundle: Bundle, given: tuple[str | None, str | None]) -> tuple[str | None, str | None]:
    """The languages that are given, and those that follow because no other trained direction has them."""
    source, target = given
    possible = _directions_with(bundle, source, target)
    sources, targets = ({direction[side] for direction in possible} for side in (0, 1))
    return (
        source or (next(iter(sources)) if len(sources) == 1 else None),
        target or (next(iter(targets)) if len(targets) == 1 else None),
    )


def _stand_in(bundle: Bundle, stated: tuple[str | None, str | None]) -> Languages:
    """The stated languages, with those of any direction for the others."""
    source, target = stated
    if source is not None and target is not None:
        return source, target
    if trained := _directions_with(bundle, source, target):
        return trained[0]
    other = next(each for each in languages_of(bundle) if each not in stated)
    return source or other, target or other


def _directions_with(bundle: Bundle, source: str | None, target: str | None) -> list[Languages]:
    """The trained directions with these languages, as far as they are stated."""
    return [each for each in bundle.directions if source in (None, each[0]) and target in (None, each[1])]


def _facts_of(bundle: Bundle, languages: Languages) -> dict[str, Any]:
    """The values of `TABLES` for a direction.

    An engine reads the attention of one layer, so all directions align words with that of the first one.
    """
    facts = {name: {} for name in TABLES} | bundle.facts.get(name_direction(languages), {})
    if facts["training_text"] and bundle.profiles:
        profiles = {code: bundle.profiles[code] for code in languages if code in bundle.profiles}
        facts["training_text"] = facts["training_text"] | {"profiles": profiles}
    common = _common_alignment(bundle)
    if facts["alignment"].get("layer") != common.get("layer"):
        facts["alignment"] = common
    return {name: facts[name] for name in TABLES}


def _common_alignment(bundle: Bundle) -> dict[str, Any]:
    """The rows of attention that align words in the first direction that has some."""
    return next((each["alignment"] for each in bundle.facts.values() if each.get("alignment")), {})


def _find(bundle: Bundle, side: str, wanted: str | None, present: str) -> str | None:
    """The code of a language of the bundle, given that or another code, or the spelling of its token."""
    if wanted is None:
        return None
    languages = languages_of(bundle) or [present]
    if found := find_language(wanted, tuple(languages)):
        return found
    tokens = bundle.target.tokens if isinstance(bundle.target, MultilingualTokenizer) else {}
    if wanted in tokens.values():
        return next(code for code, token in tokens.items() if token == wanted)
    names = ", ".join(languages)
    if len(languages) == 1:
        raise UserError(f"{bundle.recipe.name}: the {side} language is {names}, not {wanted}")
    raise UserError(f"{bundle.recipe.name}: no {side} language {wanted}; choose one of {names}")
