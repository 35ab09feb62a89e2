"""The recipe, which contains all sections."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from pydantic.fields import FieldInfo

from dragoman.settings.base import Rule, Settings
from dragoman.settings.data import CorpusFile, Data, FilePair, WeightedCorpus
from dragoman.settings.decoding import Decoding
from dragoman.settings.model import Model
from dragoman.settings.synthesis import Backtranslation, Distillation, Diversification, Teachers
from dragoman.settings.text import Text
from dragoman.settings.training import Training


class Recipe(Settings):
    """All settings of a translator and of its training."""

    rules = (
        Rule(
            lambda recipe: recipe.model.tie == "all" and not recipe.text.joint,
            "model.tie = 'all' needs text.joint = true",
        ),
        Rule(
            lambda recipe: recipe.data.max_tokens >= recipe.model.max_length,
            "data.max_tokens = {0.data.max_tokens} must be less than model.max_length = {0.model.max_length}, which "
            "counts the end of sentence",
        ),
        Rule(
            lambda recipe: (
                any(getattr(recipe.training.augmentation, name) for name in ("upper_case", "title_case", "typos"))
                and recipe.text.tokenizer not in ("bpe", "unigram")
            ),
            "training.augmentation: upper_case, title_case and typos need text.tokenizer = 'bpe' or 'unigram', not "
            "'{0.text.tokenizer}', for which the changed words are unknown",
        ),
        Rule(
            lambda recipe: recipe.training.augmentation.terms and not recipe.text.terms,
            "training.augmentation.terms needs text.terms = true",
        ),
        Rule(
            lambda recipe: recipe.training.augmentation.fuzzy_matches and not recipe.text.joint,
            "training.augmentation.fuzzy_matches needs text.joint = true: sources contain translations",
        ),
        Rule(
            lambda recipe: (
                recipe.distillation.teachers and (recipe.backtranslation.mono or recipe.diversification.weight)
            ),
            "distillation.teachers excludes backtranslation.mono and diversification.weight",
        ),
        Rule(
            lambda recipe: recipe.distillation.mono and not recipe.distillation.teachers,
            "distillation.mono needs distillation.teachers",
        ),
        Rule(
            lambda recipe: (
                recipe.data.directions and not (recipe.text.joint and recipe.text.tokenizer in ("bpe", "unigram"))
            ),
            "data.directions: a model with several needs text.joint = true and text.tokenizer = 'bpe' or 'unigram'",
        ),
        Rule(
            lambda recipe: recipe.data.directions and recipe.diversification.weight,
            "data.directions: diversification is for models with one direction",
        ),
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

    @property
    def validates_on_translations(self) -> bool:
        """Whether the references of the validation text are by the teacher, so that its scores show imitation."""
        return self.distillation.translated_by is not None and not self.data.validation

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
