"""What a time amounts to on this machine: its speed, steps and epochs, and how long a recipe takes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from dragoman.errors import UserError, counted
from dragoman.model.transformer import Transformer, parameter_counts
from dragoman.planning.text_facts import TextFacts
from dragoman.recipe import overridden
from dragoman.settings import Model, Recipe
from dragoman.system.cpu import WaitingClock, default_threads
from dragoman.system.device import choose_device, compute_dtype
from dragoman.training.report.verdict import FEW_EPOCHS, FEW_PAIRS
from dragoman.training.stages.recipes import check_stage_corpora, has_stages, needed_teachers

FEW_STEPS = 400
"""Steps below which training is too short.

A tiny model learns more in the same time than a small one that takes fewer steps; with 500, they are equal. Below it,
translations are useless: 40,000 pairs of tatoeba reached a BLEU of 2.7 in 167 steps, and 12.6 in 500 steps.
"""

SIZE, SECONDS = 512, 0.3  # of the square matrices, and of a measurement
EFFICIENCY = 0.055
"""Target tokens per second and per parameter, for each operation per second of the product.

Measured with the Multi30k recipe: 6,600 tokens per second, 6.55 million parameters and 780 GFLOP/s. Training takes
about 12 operations per parameter, for a source and a target token; this is two thirds of the speed of the product.
"""

THREAD_LIMIT, LIMITED_PARAMETERS, LIMIT_EXPONENT = 400e9, 6.5e6, 0.25
"""Limit for one CPU thread, in operations per second, for a model with `LIMITED_PARAMETERS` parameters.

Some processors (AMX) multiply matrices three times as fast as others, but the rest of a training step is no faster.
This rest is a smaller share in a larger model: with 2, 7 and 48 million parameters, one thread trains as if it computed
235, 460 and 560 to 740 GFLOP/s, where products run at 1,250. So the limit grows with the fourth root of the parameters.
"""

BUSY = 0.1
"""The share of the time that products must wait for a processor: 0.01 alone, 0.24 next to a loop in Python."""

R_DROP_COST = 1.8
"""The time of a training step with R-Drop, which computes each sentence twice, relative to a step without it."""


@dataclass(frozen=True)
class MachineSpeed:
    """What decides how fast this machine trains a model.

    Attributes:
        operations: Operations per second of a product of two matrices, in the data type of training.
        threads: Threads that compute it; None on a GPU.
        waiting: The share of the time that products waited for a processor; 0 where the system does not count it.
    """

    operations: float
    threads: int | None = None
    waiting: float = 0.0

    def tokens_per_second(self, parameters: int) -> float:
        """Target tokens per second that training processes, without R-Drop.

        Args:
            parameters: Number of parameters of the model.
        """
        operations = self.operations
        if self.threads:
            limit = THREAD_LIMIT * (parameters / LIMITED_PARAMETERS) ** LIMIT_EXPONENT
            operations = min(operations, self.threads * limit)
        return EFFICIENCY * operations / parameters

    def describe_load(self) -> Iterator[str]:
        """What to expect while other programs use the processor, if they do."""
        if self.waiting > BUSY:
            fix = "; training.threads = 1 may be faster then" if (self.threads or 1) > 1 else ""
            yield f"other programs use the processor; while they run, training may take several times as long{fix}"


def measure_speed(device_name: str = "auto", threads: int | None = None) -> MachineSpeed:
    """The speed of the fastest of many products of two matrices, on the device and in the data type of training.

    The mean would be half of it while another program uses the processor, even if that program ends soon, and a recipe
    for half of the speed would stop training too early. A small product fits into one time slice of the
    processor, but does not keep a GPU busy. A product of several threads ends with the slowest of them, which on a
    busy processor may have to wait each time, so some products are computed by one thread.

    Args:
        device_name: The device of training.
        threads: Its threads on a CPU; by default those that training uses.

    Raises:
        UserError: There is no such device.
    """
    device = choose_device(device_name)
    if device.type != "cpu":
        return MachineSpeed(_fastest_product(device, 2 * SIZE))
    before, threads = torch.get_num_threads(), threads or default_threads()
    clock = WaitingClock()
    try:
        torch.set_num_threads(threads)
        operations = _fastest_product(device, SIZE)
        torch.set_num_threads(1)
        operations = max(operations, _fastest_product(device, SIZE))
        return MachineSpeed(operations, threads, clock.read().processor or 0.0)
    finally:
        torch.set_num_threads(before)


def _fastest_product(device: torch.device, size: int) -> float:
    """Operations per second of the fastest of many products of two square matrices."""
    a = torch.ones(size, size, device=device, dtype=compute_dtype("auto", device))
    (a @ a).sum().item()  # the first product prepares the kernel
    seconds: list[float] = []
    ends = time.monotonic() + SECONDS
    while not seconds or time.monotonic() < ends:
        started = time.perf_counter()
        (a @ a)[0, 0].item()  # waits for a GPU
        seconds.append(time.perf_counter() - started)
    return 2 * size**3 / min(seconds)


def measure_chosen_speed(overrides: Sequence[str]) -> MachineSpeed:
    """The speed of this machine with ``training.device`` and ``training.threads``; invalid values are ignored."""
    device, threads = (overridden(overrides, f"training.{key}") for key in ("device", "threads"))
    return measure_speed(device or "auto", threads)


def count_parameters(model: Model, subwords: int) -> int:
    """The number of parameters of a model with vocabularies of this size."""
    with torch.device("meta"):
        return parameter_counts(Transformer(model, subwords, subwords, source_pad=0))["total"]


def recipe_speed(recipe: Recipe, machine: MachineSpeed, parameters: int) -> float:
    """Target tokens per second of the training of a recipe, whose model has so many parameters."""
    return machine.tokens_per_second(parameters) / (R_DROP_COST if recipe.training.r_drop else 1)


SMALL_BATCH, LARGE_BATCH = 1024, 4096  # tokens of each side
LARGE_BATCH_PAIRS = 100_000
MANY_STEPS = 10_000  # more of them help less than larger batches
OFTEN = 40.0  # epochs; with 20 epochs of 9,000 pairs, a dropout of 0.3 costs several points of chrF
R_DROP_PAIRS = 30_000  # with 29,000 pairs, an hour of it is better than data diversification; 20 minutes are no worse
R_DROP_EPOCHS, R_DROP_STEPS = 30.0, 8000  # without R-Drop; in the same time, half of them fit with it


@dataclass(frozen=True)
class PlannedBudget:
    """The length of a training.

    Attributes:
        minutes: The time that was given; None if there is no limit.
        expected_minutes: How long the training takes.
        epochs: Passes over the text.
        epochs_without_r_drop: Passes that would fit into the same time without R-Drop.
        r_drop: Whether each sentence is computed twice.
        batch_tokens: Tokens of each side of a batch.
        steps: The number of optimizer steps, at least 1.
    """

    minutes: float | None
    expected_minutes: float
    epochs: float
    epochs_without_r_drop: float
    r_drop: bool
    batch_tokens: int
    steps: int

    @property
    def reads_often(self) -> bool:
        """Whether the training is long enough for the model to learn the text by heart."""
        return self.epochs_without_r_drop >= OFTEN


def plan_budget(
    facts: TextFacts,
    minutes: float | None,
    tokens_per_second: float,
    *,
    epochs_share: float = 1.0,
    allow_r_drop: bool = False,
) -> PlannedBudget:
    """The budget of a training: as many epochs as fit into the time, or without a limit, more epochs for less text.

    R-Drop helps little text that is read often, in many steps. With few steps it only costs time: in the time of 3,200
    steps without R-Drop, 46 epochs of 5,760 pairs, it lost 11 points of chrF.

    Args:
        facts: The text.
        minutes: The time for training; None if there is no limit.
        tokens_per_second: Target tokens that this machine processes in a second, without R-Drop.
        epochs_share: Epochs without a limit, as a share of those that random weights need.
        allow_r_drop: Whether little text is read with R-Drop if there is much time.
    """
    if minutes is None:
        readings = float(round(epochs_share * min(max(20 * (30_000 / facts.pairs) ** 0.3, 4), 60)))
    else:
        readings = facts.epochs_in(minutes, tokens_per_second)
    often = readings >= R_DROP_EPOCHS and readings * facts.steps_per_epoch(SMALL_BATCH) >= R_DROP_STEPS
    r_drop = allow_r_drop and minutes is not None and facts.pairs < R_DROP_PAIRS and often
    epochs = readings / R_DROP_COST if r_drop else readings
    large = facts.pairs >= LARGE_BATCH_PAIRS and epochs * facts.steps_per_epoch(LARGE_BATCH) >= MANY_STEPS
    batch_tokens = LARGE_BATCH if large else SMALL_BATCH
    return PlannedBudget(
        minutes=minutes,
        expected_minutes=facts.minutes_for(readings, tokens_per_second),
        epochs=epochs,
        epochs_without_r_drop=readings,
        r_drop=r_drop,
        batch_tokens=batch_tokens,
        steps=max(1, int(epochs * facts.steps_per_epoch(batch_tokens))),
    )


def chosen_minutes(minutes: float | None, overrides: Sequence[str]) -> float | None:
    """The time for training: that of ``--minutes``, or of ``--set training.minutes=…``; invalid values are ignored."""
    return minutes if minutes is not None else overridden(overrides, "training.minutes")


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
    speed = recipe_speed(recipe, machine, parameters)
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


SHARED_EPOCHS = 4.0
"""Between both Sorbian languages, a model of six directions had 2.4 and 3.3 chrF++ less than models for one direction
in a sixth of the time with 1.9 epochs of all text, and 0.5 and 1.4 less with 2.6 epochs (3.7 were expected) of a sixth
of it; from and to German, it had up to 9.9 more."""

MONO_EPOCHS = 4.0
"""With 3.7 expected epochs of a sixth of the Sorbian text (2.6 were reached), monolingual text cost 4 chrF++."""


def advise(facts: TextFacts, epochs: float, has_mono: bool) -> Iterator[str]:
    """What would help most, if anything stands out; `has_mono`: whether monolingual text is to be translated back."""
    if epochs < FEW_EPOCHS:
        times = "once" if epochs == 1 else f"{epochs:.2g} times"
        yield f"what would help most: more time, because the text is read only {times}"
    elif facts.pairs < FEW_PAIRS:
        yield f"what would help most: more text; from {facts.count('pair')}, a model learns only phrases"
    elif epochs > MANY_EPOCHS:
        yield f"what would help most: more text, because each pair is read {epochs:.0f} times"
    if len(facts.by_direction) > 1 and epochs < SHARED_EPOCHS:
        yield (
            "between closely related languages, a model for one direction can be better in this time: compare with "
            "--languages SOURCE-TARGET"
        )
    if has_mono and epochs < MONO_EPOCHS:
        yield "leave out --mono, or give more time: translating takes time that the training text needs"


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


FILLING = 0.8
"""Target tokens of a batch, relative to its maximum."""


MARGIN = 1.1
"""The shortest time that is named, relative to that of `FEW_STEPS`: the speed of a machine changes by some percent."""


def refuse_short_stages(
    recipe: Recipe,
    machine: MachineSpeed,
    given: float | None = None,
    plan: Callable[[float], Recipe] | None = None,
) -> None:
    """Check that teachers and students have time for `FEW_STEPS`, before anything is trained.

    Args:
        recipe: A recipe with stages; others are not checked. A budget in steps or epochs is a deliberate choice, and
            not checked.
        machine: The speed of this machine.
        given: The minutes of the command, if training gets only a part of them.
        plan: Returns the recipe for other minutes of training, which may have another model; by default, this one.

    Raises:
        UserError: The time is too short; the message names the shortest sensible time.
    """
    check_stage_corpora(recipe)
    minutes = recipe.training.minutes
    if minutes is None or not has_stages(recipe):
        return
    shortest, name = _shortest_minutes(recipe, machine)
    if shortest <= minutes:
        return
    steps, enough = int(FEW_STEPS * minutes / shortest), 0.0
    while shortest > enough:
        enough = MARGIN * shortest
        shortest, _ = _shortest_minutes(plan(enough) if plan else recipe, machine)
    given = given or minutes
    advised = counted(math.ceil(enough * given / minutes), "minute")
    raise UserError(
        f"{describe_minutes(given)} is too short: {name} would take only about {steps:,} steps, and with fewer than "
        f"{FEW_STEPS:,}, its translations are useless; give at least {advised}, or use --force"
    )


def _shortest_minutes(recipe: Recipe, machine: MachineSpeed) -> tuple[float, str]:
    """The minutes of training in which each translator takes `FEW_STEPS`, and the translator that needs them."""
    training, teachers = recipe.training, recipe.teachers
    trained = needed_teachers(recipe)
    last = 1 - len(trained) * teachers.share - teachers.translation_share
    shares = {f"the {direction} teacher": teachers.share for direction in trained}
    shares |= {"the student" if recipe.distillation.teachers else "the translator": last}
    speed = recipe_speed(recipe, machine, count_parameters(recipe.model, recipe.text.vocabulary_size))
    seconds_per_step = FILLING * training.batch_tokens * training.accumulation / speed
    name, share = min(shares.items(), key=lambda each: each[1])
    return FEW_STEPS * seconds_per_step / share / 60, name
