"""From files of text and a budget to a recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.corpus.pair import Languages
from dragoman.errors import counted
from dragoman.planning.choose import ChosenSetting, PlannedBudget, choose_settings, parameters
from dragoman.planning.speed import operations_per_second, tokens_per_second
from dragoman.planning.text_facts import TextFacts, collect_facts
from dragoman.planning.write import recipe_text
from dragoman.settings import CorpusReference

MAX_HELD_OUT = 1000  # validation pairs


@dataclass(frozen=True)
class Texts:
    """The text to plan for.

    Attributes:
        languages: Source and target.
        train: Corpora to train on.
        validation: Corpora to validate on; if there are none, pairs are held out.
        test: Corpora to score the finished translator on.
    """

    languages: Languages
    train: Sequence[CorpusReference]
    validation: Sequence[CorpusReference] = ()
    test: Sequence[CorpusReference] = ()


@dataclass(frozen=True)
class PlannedRecipe:
    """A recipe as commented TOML, and what it is based on."""

    name: str
    text: str
    facts: TextFacts
    budget: PlannedBudget

    def summary(self) -> str:
        """What was found and what to expect, in two lines."""
        facts, budget = self.facts, self.budget
        steps, epochs = budget.steps(facts), budget.epochs(facts)
        minutes = epochs * facts.target_tokens / budget.tokens_per_second / 60
        source, target = facts.source.words, facts.target.words
        size, speed = parameters(facts) / 1e6, budget.tokens_per_second
        return (
            f"{counted(facts.pairs, 'training pair')}: {counted(source, 'source word')}, "
            f"{counted(target, 'target word')}, about {counted(facts.target_tokens, 'target token')}\n"
            f"{size:.1f} million parameters; expect about {counted(steps, 'step')}, {epochs:.1f} epochs and "
            f"{counted(round(minutes), 'minute')}, at {speed:,.0f} tokens per second on this machine"
        )


def plan_recipe(texts: Texts, minutes: float | None, data_directory: Path | None) -> PlannedRecipe:
    """Read the training text and choose a recipe for it.

    Args:
        texts: The text.
        minutes: The time for training; None chooses a number of epochs.
        data_directory: Mirror of the dataset catalog.

    Raises:
        UserError: A corpus is missing or damaged, or the training text is empty.
    """
    facts = collect_facts(texts.train, texts.languages, data_directory)
    name = "-".join(texts.languages)
    budget = PlannedBudget(minutes, tokens_per_second(parameters(facts), operations_per_second()))
    text = recipe_text(name, _choose_data(texts, facts), choose_settings(facts, budget))
    return PlannedRecipe(name, text, facts, budget)


def _choose_data(texts: Texts, facts: TextFacts) -> list[ChosenSetting]:
    source, target = texts.languages
    held_out = min(MAX_HELD_OUT, max(1, facts.pairs // 20))
    choices = [
        ChosenSetting("data", "source_language", source, "Language codes."),
        ChosenSetting("data", "target_language", target, "The language to translate into."),
        ChosenSetting("data", "train", list(texts.train), f"Training text: {facts.pairs:,} pairs."),
        ChosenSetting("data", "validation", list(texts.validation), "Text to choose the best checkpoint with."),
        ChosenSetting("data", "test", list(texts.test), "Text to score the finished translator with."),
        ChosenSetting(
            "data", "max_tokens", 128, "Longer pairs are left out: they are often misaligned, and need much memory."
        ),
    ]
    if not texts.validation:
        reason = (
            "Without validation text, this many pairs of the training text are held out: a twentieth, at most 1,000."
        )
        choices.insert(4, ChosenSetting("data", "validation_pairs", held_out, reason))
    return choices
