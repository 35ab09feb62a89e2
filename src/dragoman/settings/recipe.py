"""The recipe, which contains all sections."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from pydantic.fields import FieldInfo

from dragoman.settings.base import Settings
from dragoman.settings.data import CorpusFile, Data, FilePair, WeightedCorpus
from dragoman.settings.decoding import Decoding
from dragoman.settings.model import Model
from dragoman.settings.synthesis import Backtranslation, Distillation, Diversification, Teachers
from dragoman.settings.text import Text
from dragoman.settings.training import Training


def _shared_matrix_needs_joint(recipe: Recipe) -> str | None:
    separate = recipe.model.tie == "all" and not recipe.text.joint
    return "model.tie = 'all' needs text.joint = true" if separate else None


def _model_reads_training_pairs(recipe: Recipe) -> str | None:
    tokens, limit = recipe.data.max_tokens, recipe.model.max_length
    if tokens < limit:
        return None
    return f"data.max_tokens = {tokens} must be less than model.max_length = {limit}, which counts the end of sentence"


def _only_subwords_spell_new_words(recipe: Recipe) -> str | None:
    augmentation, tokenizer = recipe.training.augmentation, recipe.text.tokenizer
    spelled = augmentation.upper_case + augmentation.title_case + augmentation.typos
    if not spelled or tokenizer in ("bpe", "unigram"):
        return None
    return (
        "training.augmentation: upper_case, title_case and typos need text.tokenizer = 'bpe' or 'unigram', not "
        f"{tokenizer!r}, for which the changed words are unknown"
    )


def _marked_terms_need_tokens(recipe: Recipe) -> str | None:
    lacking = recipe.training.augmentation.terms and not recipe.text.terms
    return "training.augmentation.terms needs text.terms = true" if lacking else None


def _matches_need_joint(recipe: Recipe) -> str | None:
    separate = recipe.training.augmentation.fuzzy_matches > 0 and not recipe.text.joint
    return (
        "training.augmentation.fuzzy_matches needs text.joint = true: sources contain translations"
        if separate
        else None
    )


def _teachers_are_given_or_trained(recipe: Recipe) -> str | None:
    both = recipe.distillation.teachers and (recipe.backtranslation.mono or recipe.diversification.weight)
    return "distillation.teachers excludes backtranslation.mono and diversification.weight" if both else None


def _mono_needs_teachers(recipe: Recipe) -> str | None:
    lacking = recipe.distillation.mono and not recipe.distillation.teachers
    return "distillation.mono needs distillation.teachers" if lacking else None


def _directions_share_subwords(recipe: Recipe) -> str | None:
    suits = recipe.text.tokenizer in ("bpe", "unigram") and recipe.text.joint
    if not recipe.data.directions or suits:
        return None
    return "data.directions: a model with several needs text.joint = true and text.tokenizer = 'bpe' or 'unigram'"


def _stages_have_one_direction(recipe: Recipe) -> str | None:
    if not recipe.data.directions or not (recipe.distillation.teachers or recipe.diversification.weight):
        return None
    return "data.directions: distillation and diversification are for models with one direction"


class Recipe(Settings):
    """All settings of a translator and of its training."""

    rules = (
        _shared_matrix_needs_joint,
        _model_reads_training_pairs,
        _only_subwords_spell_new_words,
        _marked_terms_need_tokens,
        _matches_need_joint,
        _teachers_are_given_or_trained,
        _mono_needs_teachers,
        _directions_share_subwords,
        _stages_have_one_direction,
    )
    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        max_length=200,
        description="Name of the run; its directory is runs/NAME by default, see --output.",
    )
    data: Data
    text: Text = Text()
    model: Model = Model()
    training: Training
    decoding: Decoding = Decoding()
    backtranslation: Backtranslation = Backtranslation()
    diversification: Diversification = Diversification()
    distillation: Distillation = Distillation()
    teachers: Teachers = Teachers()

    def to_dict(self) -> dict[str, Any]:
        """Every resolved value as plain data for TOML and JSON, without unset (None) values."""
        return self.model_dump(mode="json", exclude_none=True)


Location = tuple[str | int, ...]
"""The path of a value in a recipe, such as ``("data", "train", 0)``."""


CORPUS_TABLES = {kind.__name__: kind for kind in (FilePair, CorpusFile, WeightedCorpus)}
"""The tables that describe corpora; pydantic adds their names to the locations of their keys."""


def field_at(location: Location) -> FieldInfo | None:
    """The declaration of the key at a location, if there is such a key."""
    owner = section_at(location[:-1]) if location else None
    return owner.model_fields.get(str(location[-1])) if owner else None


def section_at(location: Location) -> type[Settings] | None:
    """The section at a location, or None if there is no section; the empty location is the whole recipe."""
    if not location:
        return Recipe
    if location[-1] in CORPUS_TABLES:
        return CORPUS_TABLES[str(location[-1])]
    field = field_at(location)
    kind = field.annotation if field else None
    return kind if isinstance(kind, type) and issubclass(kind, Settings) else None
