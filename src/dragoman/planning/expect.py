"""What to expect of a training: steps, epochs and time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from dragoman.errors import counted
from dragoman.model.transformer import Transformer, parameter_counts
from dragoman.planning.speed import R_DROP_COST, MachineSpeed
from dragoman.planning.text_facts import TextFacts
from dragoman.settings import Model, Recipe
from dragoman.training.report.verdict import FEW_EPOCHS, FEW_PAIRS

MANY_EPOCHS = 60.0


@dataclass(frozen=True)
class ExpectedTraining:
    """Estimates for a training on this machine; `tokens_per_second` counts target tokens."""

    parameters: int
    tokens_per_second: float
    steps: int
    epochs: float
    minutes: float


def expect_training(
    recipe: Recipe, facts: TextFacts, machine: MachineSpeed, parameters: int | None = None
) -> ExpectedTraining:
    """Estimate the length of a training.

    Args:
        recipe: The recipe.
        facts: Its training text.
        machine: The speed of the machine.
        parameters: Number of parameters of the model, if the recipe's vocabulary size does not decide it.
    """
    training = recipe.training
    parameters = parameters or count_parameters(recipe.model, recipe.text.vocabulary_size)
    speed = machine.tokens_per_second(parameters) / (R_DROP_COST if training.r_drop else 1)
    batches = facts.steps_per_epoch(training.batch_tokens, training.length_groups)
    if training.batch_sentences:
        batches = max(batches, facts.pairs_per_epoch / training.batch_sentences)
    steps_per_epoch = batches / training.accumulation
    if training.minutes is not None:
        epochs = facts.epochs_in(training.minutes, speed)
    elif training.steps is not None:
        epochs = training.steps / steps_per_epoch
    else:
        assert training.epochs is not None, "a recipe has one budget"
        epochs = training.epochs
    steps = training.steps or max(1, int(epochs * steps_per_epoch))
    return ExpectedTraining(parameters, speed, steps, epochs, facts.minutes_for(epochs, speed))


def advise(facts: TextFacts, epochs: float) -> Iterator[str]:
    """What would help most, if anything stands out."""
    if epochs < FEW_EPOCHS:
        times = "once" if epochs == 1 else f"{epochs:.2g} times"
        yield f"what would help most: more time, because the text is read only {times}"
    elif facts.pairs < FEW_PAIRS:
        yield f"what would help most: more text; from {counted(facts.pairs, 'pair')}, a model learns only phrases"
    elif epochs > MANY_EPOCHS:
        yield f"what would help most: more text, because each pair is read {epochs:.0f} times"


def count_parameters(model: Model, subwords: int) -> int:
    """The number of parameters of a model with vocabularies of this size."""
    with torch.device("meta"):
        return parameter_counts(Transformer(model, subwords, subwords, source_pad=0))["total"]


def describe_minutes(minutes: float) -> str:
    """A time in words."""
    for unit, length in (("day", 1440), ("hour", 60)):
        if minutes >= 2 * length:
            return counted(round(minutes / length), unit)
    seconds = max(1, round(60 * minutes))
    if seconds < 60:
        return counted(seconds, "second")
    shown = f"{minutes:.1f}".removesuffix(".0") if minutes < 9.95 else str(round(minutes))
    return f"{shown} minute{'s' * (shown != '1')}"
