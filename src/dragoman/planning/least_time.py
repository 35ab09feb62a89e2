"""The shortest time in which a student, or the teacher of a stage, learns anything."""

from __future__ import annotations

import math

from dragoman.errors import UserError, counted
from dragoman.planning.expect import count_parameters, describe_minutes
from dragoman.planning.speed import R_DROP_COST, MachineSpeed
from dragoman.settings import Recipe
from dragoman.training.stages.recipes import check_stage_corpora, needed_teachers

LEAST_STEPS = 400
"""Steps below which translations are useless: 40,000 pairs of tatoeba reached a BLEU of 2.7 in 167 steps, and 12.6 in
500 steps."""

FILLING = 0.8
"""Target tokens of a batch, relative to its maximum."""


def refuse_short_stages(recipe: Recipe, machine: MachineSpeed) -> None:
    """Check that teachers and students have time for `LEAST_STEPS`, before anything is trained.

    Args:
        recipe: A recipe with stages. A budget in steps or epochs is a deliberate choice, and not checked.
        machine: The speed of this machine.

    Raises:
        UserError: The time is too short; the message names the shortest sensible time.
    """
    check_stage_corpora(recipe)
    training, teachers = recipe.training, recipe.teachers
    if training.minutes is None:
        return
    trained = needed_teachers(recipe)
    last = 1 - len(trained) * teachers.share - teachers.translation_share
    shares = {f"the {direction} teacher": teachers.share for direction in trained}
    shares |= {"the student" if recipe.distillation.teachers else "the translator": last}
    speed = machine.tokens_per_second(count_parameters(recipe.model, recipe.text.vocabulary_size))
    seconds_per_step = FILLING * training.batch_tokens * training.accumulation / speed
    seconds_per_step *= R_DROP_COST if training.r_drop else 1
    name, share = min(shares.items(), key=lambda each: each[1])
    steps = int(60 * training.minutes * share / seconds_per_step)
    if steps < LEAST_STEPS:
        shortest = math.ceil(LEAST_STEPS * seconds_per_step / share / 60)
        raise UserError(
            f"{describe_minutes(training.minutes)} are too short: {name} would take only about {steps:,} steps, and "
            f"with fewer than {LEAST_STEPS:,}, its translations are useless; give at least "
            f"{counted(shortest, 'minute')}, or use --force"
        )
