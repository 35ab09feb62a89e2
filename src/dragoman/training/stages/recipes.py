"""The recipes of the stages of a run: of its teachers, and of the translator that learns from them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from dragoman.corpus.pair import Languages
from dragoman.errors import UserError
from dragoman.languages.codes import find_language
from dragoman.settings import (
    Backtranslation,
    Data,
    Distillation,
    Diversification,
    FilePair,
    Recipe,
    Training,
    WeightedCorpus,
)
from dragoman.settings.base import SEEDS
from dragoman.settings.data import LEAST_WEIGHT, MOST_WEIGHT

Direction = Literal["backward", "forward"]

_NO_STAGES = {
    "backtranslation": Backtranslation(),
    "diversification": Diversification(),
    "distillation": Distillation(),
}


LEAST_SHARE = 0.5
"""Minimum share of the time after the training of the teachers that is kept for the translator; less if
`translation_share` leaves less."""


def has_stages(recipe: Recipe) -> bool:
    """Whether teachers make pairs before the translator is trained."""
    return bool(recipe.distillation.teachers or needed_teachers(recipe))


def needed_teachers(recipe: Recipe) -> list[Direction]:
    """The teachers that have to be trained."""
    back, diverse = recipe.backtranslation, recipe.diversification.weight > 0
    if recipe.data.directions:  # one model translates in all of them
        return ["backward"] if back.mono else []
    needed: dict[Direction, bool] = {
        "backward": bool(back.mono) or diverse,
        "forward": (bool(back.mono) and back.minimum_chrf > 0) or diverse,
    }
    return [direction for direction, is_needed in needed.items() if is_needed]


def check_stage_corpora(recipe: Recipe) -> None:
    """Check that teachers have text to learn from, the translator has time, and synthetic pairs can have their weights.

    Raises:
        UserError: All text is tagged, the teachers use all of the time, or a weight of these sections times the weight
            of a corpus is out of bounds.
    """
    count, teachers = len(needed_teachers(recipe)), recipe.teachers
    if count and (used := count * teachers.share + teachers.translation_share) >= 1:
        raise UserError(
            f"teachers: {count} times share and translation_share add up to {used:g}, which must be below 1"
        )
    if recipe.data.directions and recipe.backtranslation.minimum_chrf:
        raise UserError("backtranslation.minimum_chrf: is for models with one direction")
    if recipe.data.directions and recipe.backtranslation.mono:
        _check_mono(recipe.backtranslation, recipe.data)
    mono_to_translate(recipe.distillation.mono, recipe.data)
    if needed_teachers(recipe) and all(each.tagged for each in recipe.data.weighted):
        raise UserError("data.train: teachers learn from text that is not tagged; add some")
    factors = {
        "diversification.weight": recipe.diversification.weight,
        "distillation.original_weight": recipe.distillation.original_weight,
    }
    for key, factor in factors.items():
        weights = [factor * corpus.weight for corpus in recipe.data.weighted]
        if not all(weight == 0 or LEAST_WEIGHT <= weight <= MOST_WEIGHT for weight in weights):
            limits = f"0, or from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
            raise UserError(f"{key} times the weight of each corpus of data.train must be {limits}")


def _check_mono(settings: Backtranslation, data: Data) -> None:
    """Check that a model with several directions can translate monolingual text, and is not trained to write that."""
    if not settings.tagged:
        raise UserError(
            "backtranslation.tagged = false: is for models with one direction; with several, only the mark keeps "
            "translations from being learned as targets of the opposite direction"
        )
    for file in settings.mono:
        language = mono_language(file, data.all_languages)
        if not any(each[1] == language and each[::-1] in data.directions for each in data.directions):
            directions = ", ".join(map("-".join, data.directions))
            raise UserError(
                f"{file}: no direction from {language} and back is trained, only {directions}; add the opposite of one "
                "to data.directions, or remove the file"
            )


def mono_to_translate(files: Sequence[str], data: Data) -> dict[Languages, list[str]]:
    """The monolingual text that teachers of a student translate in each direction: the files in its source language.

    Raises:
        UserError: The name of a file states no language, or one that is not translated from.
    """
    if not data.directions:
        return {data.languages: list(files)}
    languages = {file: mono_language(file, data.all_languages) for file in files}
    sources = list(dict.fromkeys(source for source, _ in data.directions))
    for file, language in languages.items():
        if language not in sources:
            raise UserError(
                f"{file}: the student does not translate from {language}, only from {', '.join(sources)}; remove the "
                "file, or choose other directions"
            )
    return {each: [file for file in files if languages[file] == each[0]] for each in data.directions}


def mono_language(file: str, codes: Sequence[str]) -> str:
    """The language of monolingual text of a model with several directions, which its name states: ``mono.dsb.gz``.

    Raises:
        UserError: It states none of the languages of the model.
    """
    language = stated_language(file, codes)
    if language is None:
        raise UserError(
            f"{file}: its name does not end with a language of the model ({', '.join(codes)}); rename it, such as to "
            f"mono.{codes[0]}, or leave it out"
        )
    return language


def stated_language(file: str, codes: Sequence[str]) -> str | None:
    """The language, one of these codes, that the name of a file states; None if it states none of them."""
    name = re.sub(r"(\.txt)?(\.gz)?$", "", file, flags=re.IGNORECASE)
    return find_language(Path(name).suffix[1:], tuple(codes))


def teacher_recipe(recipe: Recipe, data: Data, direction: Direction) -> Recipe:
    """The recipe of a teacher: that of the run with a share of its budget, and another seed.

    Args:
        recipe: The recipe of the run.
        data: The text as files; a teacher with one direction learns only from pairs without the mark of machines.
        direction: The backward teacher exchanges the languages, and does not start from a bundle. In a model with
            several directions, it is the model itself, which is trained further afterwards.
    """
    pairs = [each for each in data.weighted if data.directions or not each.tagged]
    languages = {"source_language": data.source_language, "target_language": data.target_language}
    validation = data.validation
    training: dict[str, Any] = {"seed": (recipe.training.seed + 1) % SEEDS}
    if direction == "backward" and not data.directions:
        pairs = [each.model_copy(update={"corpus": _exchange(each.corpus)}) for each in pairs]
        validation = tuple(map(_exchange, validation))
        languages = {"source_language": data.target_language, "target_language": data.source_language}
        training = {"seed": (recipe.training.seed + 2) % SEEDS, "start_from": None, "new_vocabulary": False}
        training["start_share"] = 0.0
    corpora = {"train": tuple(pairs), "validation": validation, "test": ()}
    training |= _part_of_budget(recipe.training, recipe.teachers.share)
    if data.directions:
        training["schedule_part"] = 0.0, recipe.teachers.share
    return recipe.model_copy(
        update={
            "name": f"{recipe.name[:180]}-{direction}",
            "data": data.model_copy(update={**corpora, **languages}),
            "training": recipe.training.model_copy(update=training),
            **_NO_STAGES,
        }
    )


def final_recipe(
    recipe: Recipe, data: Data, synthetic: Sequence[WeightedCorpus], seconds: float, teacher: str | None = None
) -> Recipe:
    """The recipe of the translator: that of the run with synthetic pairs, and the rest of its budget.

    Args:
        recipe: The recipe of the run.
        data: The text as files.
        synthetic: Corpora that the teachers have made.
        seconds: How long this has taken.
        teacher: The run of the model with several directions so far, which the translator starts from.
    """
    share = 1 - len(needed_teachers(recipe)) * recipe.teachers.share
    budget = _part_of_budget(recipe.training, share)
    if recipe.training.minutes is not None:
        rest = budget["minutes"]
        least = min(LEAST_SHARE * rest, rest - recipe.teachers.translation_share * recipe.training.minutes)
        budget["minutes"] = max(rest - seconds / 60, least)
    if teacher:
        budget |= {"start_from": teacher, "new_vocabulary": False, "start_share": 0.0}
        budget["schedule_part"] = recipe.teachers.share, 1.0
    return recipe.model_copy(
        update={
            "data": data.model_copy(update={"train": (*_originals(recipe, data), *synthetic)}),
            "training": recipe.training.model_copy(update=budget),
            **_NO_STAGES,
        }
    )


def _originals(recipe: Recipe, data: Data) -> list[WeightedCorpus]:
    """The training text with its weights in the last stage."""
    if not recipe.distillation.teachers:
        return data.weighted
    factor = recipe.distillation.original_weight
    return [each.model_copy(update={"weight": factor * each.weight}) for each in data.weighted if factor]


def _part_of_budget(training: Training, share: float) -> dict[str, Any]:
    """A share of the budget, in the same unit, and of the warm-up, which decides the peak rate of "noam"."""
    warmup = training.warmup_steps if training.schedule == "noam" else round(share * training.warmup_steps)
    if training.steps is not None:
        return {"steps": max(1, round(share * training.steps)), "warmup_steps": warmup}
    unit = "epochs" if training.minutes is None else "minutes"
    return {unit: share * getattr(training, unit), "warmup_steps": warmup}


def _exchange(files: Any) -> FilePair:
    assert isinstance(files, FilePair), "the text was copied to files"
    return FilePair(source=files.target, target=files.source)
