"""The recipe of a student: a small, fast translator that learns from finished ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dragoman.bundle import Bundle
from dragoman.engines.direction import choose_direction
from dragoman.planning.choose import LARGE_MODEL, SMALL_MODEL, PlannedBudget, choose_training
from dragoman.planning.expect import count_parameters
from dragoman.planning.speed import operations_per_second, tokens_per_second
from dragoman.planning.subwords import facts_with
from dragoman.planning.text_facts import collect_facts
from dragoman.recipe import build_recipe, load_recipe
from dragoman.settings import Distillation, Model, Recipe

SizeName = Literal["base", "small", "tiny"]


@dataclass(frozen=True)
class StudentSize:
    """The sizes of a student: a deep encoder, which is fast, and a shallow decoder (Kasai et al. 2021).

    Attributes:
        model: Settings of the model.
        subwords: Most entries of its vocabulary: each one costs memory, and time for each token of a translation.
    """

    model: dict[str, int]
    subwords: int


STUDENT_SIZES: dict[SizeName, StudentSize] = {
    "base": StudentSize({"d_model": 512, "heads": 8, "d_ff": 2048, "encoder_layers": 6, "decoder_layers": 2}, 32_000),
    "small": StudentSize({"d_model": 256, "heads": 4, "d_ff": 1024, "encoder_layers": 6, "decoder_layers": 1}, 16_000),
    "tiny": StudentSize({"d_model": 192, "heads": 4, "d_ff": 512, "encoder_layers": 4, "decoder_layers": 1}, 8000),
}

TRAINING: dict[str, Any] = {
    "best_by": "bleu",  # the loss would be that of references, which a student does not imitate
    "validation_sentences": 1000,  # which a student translates in a second
    "early_stopping": None,
}
"""Settings of the training that differ from those that `choose_training` chooses."""

GREEDY = {"beam_size": 1, "n_best": 1, "sampling": False, "mbr_samples": 0}
TRANSLATION_SHARE = 0.25  # the most that translating may take; the student gets what is left of it


@dataclass(frozen=True)
class StudentPlan:
    """What a student is planned for.

    Attributes:
        size: The size of the student.
        minutes: The time for translating and training; None chooses a number of epochs.
        distillation: The teachers, and what they translate.
    """

    size: SizeName
    minutes: float | None
    distillation: Distillation


def recipe_of_run(path: str) -> Recipe:
    """The recipe of the run at a path, which names its training text; of a bundle without its run, that of the bundle.

    Raises:
        UserError: There is no run and no bundle, or the recipe is damaged.
    """
    recipe = Path(path) / "recipe.toml"
    return load_recipe(recipe) if recipe.is_file() else Bundle.load(path).recipe


def plan_student(plan: StudentPlan, overrides: Sequence[str], data_directory: Path | None) -> Recipe:
    """Read the training text of the first teacher, and choose a recipe for the student.

    Args:
        plan: What it is planned for.
        overrides: ``SECTION.KEY=VALUE`` each; those of the section data decide what is read.
        data_directory: Mirror of the dataset catalog.

    Raises:
        UserError: There is no teacher, or its training text is gone, or a setting is invalid.
    """
    path = plan.distillation.teachers[0]
    of_data = [each for each in overrides if each.startswith("data.")]
    teacher = build_recipe(recipe_of_run(path).to_dict(), of_data, origin=path)
    data, size = teacher.data, STUDENT_SIZES[plan.size]
    bundle = choose_direction(Bundle.load(path), *data.languages)
    text = teacher.text.model_copy(
        update={"vocabulary_size": min(teacher.text.vocabulary_size, size.subwords), "bpe_dropout": 0.0}
    )
    model = Model(
        **size.model,
        norm="pre",
        positions="rotary",
        tie="all" if text.joint else "target",
        dropout=0.0,
        max_length=teacher.model.max_length,
    )
    facts, sample = collect_facts([each.corpus for each in data.weighted], data.languages, data_directory)
    facts = facts_with(facts, bundle.target, [pair.target for pair in sample])
    speed = tokens_per_second(count_parameters(model, text.vocabulary_size), operations_per_second())
    width = LARGE_MODEL if model.d_model >= LARGE_MODEL.d_model else SMALL_MODEL
    chosen = {each.key: each.value for each in choose_training(facts, width, PlannedBudget(plan.minutes, speed))}
    training = {**chosen, **TRAINING, "seed": teacher.training.seed}  # which chooses the same held-out pairs
    document = {
        "name": f"{teacher.name[:190]}-{plan.size}",
        "data": data.model_dump(mode="json", exclude_none=True),
        "text": text.model_dump(mode="json", exclude_none=True),
        "model": model.model_dump(mode="json", exclude_none=True),
        "training": {key: value for key, value in training.items() if value is not None},
        "decoding": {**teacher.decoding.model_dump(mode="json", exclude_none=True), **GREEDY},
        "distillation": plan.distillation.model_dump(mode="json", exclude_none=True),
        "teachers": {"translation_share": TRANSLATION_SHARE},
    }
    return build_recipe(document, overrides, origin=f"{plan.size} student of {path}")
