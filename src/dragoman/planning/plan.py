"""From files of text and a budget to a recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from dragoman.corpus.pair import Languages
from dragoman.doctor.data.cleaned_text import CleanedText, clean_data
from dragoman.errors import counted
from dragoman.model.transformer import Transformer, parameter_counts
from dragoman.planning.choose import ChosenSetting, PlannedBudget, choose_model, choose_settings, vocabulary_size
from dragoman.planning.speed import operations_per_second, tokens_per_second
from dragoman.planning.text_facts import TextFacts, collect_facts
from dragoman.planning.write import recipe_text
from dragoman.settings import CorpusReference, Data, Model
from dragoman.system.progress import Log, no_log

MAX_HELD_OUT = 1000  # validation pairs
MAX_BLOCK = 50  # neighboring pairs; in corpora of documents, lines further apart have little in common
MIN_BLOCKS = 10


@dataclass(frozen=True)
class Texts:
    """The text to plan for.

    Attributes:
        languages: Source and target.
        train: Corpora to train on.
        validation: Corpora to validate on; if there are none, pairs are held out.
        test: Corpora to score the finished translator on.
        clean: Leave out training pairs with problems.
    """

    languages: Languages
    train: Sequence[CorpusReference]
    validation: Sequence[CorpusReference] = ()
    test: Sequence[CorpusReference] = ()
    clean: bool = True

    def data(self) -> Data:
        """The text as the section of a recipe; ``clean``: leave out pairs with problems."""
        source, target = self.languages
        return Data(
            source_language=source,
            target_language=target,
            train=tuple(self.train),
            validation=tuple(self.validation),
            test=tuple(self.test),
            clean=self.clean,
        )


@dataclass(frozen=True)
class PlannedRecipe:
    """A recipe as commented TOML, and what it is based on."""

    name: str
    text: str
    facts: TextFacts
    budget: PlannedBudget
    parameters: int
    cleaned: CleanedText | None

    def summary(self) -> str:
        """What was found and what to expect."""
        facts, budget = self.facts, self.budget
        steps, epochs = budget.steps(facts), budget.epochs(facts)
        minutes = max(1, round(epochs * facts.target_tokens / budget.tokens_per_second / 60))
        words = f"{counted(facts.source.words, 'source word')}, {counted(facts.target.words, 'target word')}"
        cleaning = "".join(f"{line}\n" for line in (self.cleaned, *self.cleaned.warnings)) if self.cleaned else ""
        return cleaning + (
            f"{self.name}: {counted(facts.pairs, 'training pair')}: {words}, about {facts.target_tokens:,} target "
            f"tokens\n{self.parameters / 1e6:.1f} million parameters; expect about {counted(steps, 'step')}, "
            f"{epochs:.1f} epochs and {counted(minutes, 'minute')}, at {budget.tokens_per_second:,.0f} tokens per "
            "second on this machine"
        )


def plan_recipe(texts: Texts, minutes: float | None, data_directory: Path | None, log: Log = no_log) -> PlannedRecipe:
    """Read the training text and choose a recipe for it.

    Args:
        texts: The text.
        minutes: The time for training; None chooses a number of epochs.
        data_directory: Mirror of the dataset catalog.
        log: Receives messages while text is checked.

    Raises:
        UserError: A corpus is missing or damaged, or the training text is empty, or most of it has problems.
    """
    data, cleaned = clean_data(texts.data(), data_directory, log)
    facts = collect_facts(data.train, texts.languages, data_directory)
    name = "-".join(texts.languages)
    parameters = _count_parameters(facts)
    budget = PlannedBudget(minutes, tokens_per_second(parameters, operations_per_second()))
    text = recipe_text(name, _choose_data(texts, facts, cleaned), choose_settings(facts, budget))
    return PlannedRecipe(name, text, facts, budget, parameters, cleaned)


def _count_parameters(facts: TextFacts) -> int:
    settings = Model.model_validate({choice.key: choice.value for choice in choose_model(facts)})
    size = vocabulary_size(facts.pairs)
    with torch.device("meta"):
        return parameter_counts(Transformer(settings, size, size, source_pad=0))["total"]


def _choose_data(texts: Texts, facts: TextFacts, cleaned: CleanedText | None) -> list[ChosenSetting]:
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
    if cleaned:
        reason = f"Leave out pairs with problems: {cleaned}."
        choices.append(ChosenSetting("data", "clean", True, reason))
    if not texts.validation:
        reason = (
            "Without validation text, this many pairs of the training text are held out: a twentieth, at most 1,000 …"
        )
        block = min(MAX_BLOCK, max(1, held_out // MIN_BLOCKS)) if facts.similar_neighbors else 1
        together = (
            "… in blocks of neighboring pairs, because neighbors are similar: single pairs would be too easy."
            if facts.similar_neighbors
            else "… one by one, because neighboring pairs are not similar."
        )
        choices[4:4] = [
            ChosenSetting("data", "validation_pairs", held_out, reason),
            ChosenSetting("data", "validation_block", block, together),
        ]
    return choices
