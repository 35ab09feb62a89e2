"""The choice of settings for a training that starts from a bundle."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dragoman.bundle import Bundle, describe_direction, translates
from dragoman.corpus.pair import Languages
from dragoman.model.transformer import parameter_counts
from dragoman.planning.budget import PlannedBudget
from dragoman.planning.choose import (
    LARGE_MODEL,
    SMALL_MODEL,
    ChosenSetting,
    choose_augmentation,
    choose_dropout,
    choose_training,
)
from dragoman.planning.text_facts import TextFacts
from dragoman.settings import Recipe, Settings
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.run.start import check_start_languages, start_in_direction

MAX_WARMUP = 100  # steps
OTHER_LANGUAGES = "The bundle translates other languages, so a vocabulary is learned from the text."

START_SHARE = 0.45  # of the initial weights in the final ones
MIN_KNOWN_TOKENS = 0.9  # of a new vocabulary; with 0.6, the share cost 5 points of chrF, and gained 0.5 on old text
SAME_TEXT, OTHER_TEXT = 0.65, 0.5  # likeness of samples of the same text: 0.74 to 1; of different subjects: 0.1 to 0.5
START_SHARE_PAIRS = 1000  # new pairs; with more, there is more old text next to them, and less is forgotten anyway
EPOCHS_SHARE = 0.5  # of the epochs of a training from random weights


@dataclass(frozen=True)
class StartingPoint:
    """A bundle to start from.

    Attributes:
        path: The bundle or run directory, as the user writes it.
        recipe: Its recipe.
        parameters: The number of its weights.
        same_languages: Whether it translates the languages of the training.
        known_tokens: The share of the tokens of the training text that its vocabulary has; 1 if that is used.
    """

    path: str
    recipe: Recipe
    parameters: int
    same_languages: bool = True
    known_tokens: float = 1.0


def load_start(
    path: str, languages: Languages, new_vocabulary: bool | None = None
) -> tuple[StartingPoint, tuple[Tokenizer, Tokenizer]]:
    """A bundle to start from, and its tokenizers of source and target.

    Args:
        path: The bundle or run directory.
        languages: Source and target of the training.
        new_vocabulary: Whether the training has another vocabulary, so that the languages of the bundle do not matter;
            None decides by these.

    Raises:
        UserError: It is missing or damaged, or its vocabulary is to be used for other languages.
    """
    bundle = Bundle.load(path)
    same_languages = translates(bundle, languages)
    if new_vocabulary is None:
        new_vocabulary = not same_languages
    bundle = start_in_direction(bundle, languages, new_vocabulary)
    if not new_vocabulary:
        check_start_languages(languages, bundle.recipe, path)
    start = StartingPoint(path, bundle.recipe, parameter_counts(bundle.model)["total"], same_languages)
    return start, (bundle.source, bundle.target)


def choose_adaptation(facts: TextFacts, start: StartingPoint, budget: PlannedBudget) -> list[ChosenSetting]:
    """Settings for a text and a budget, in the order of a recipe; those of text, model and search are the bundle's."""
    recipe, dropout = start.recipe, list(choose_dropout(facts, budget))
    text, model = "Text is split into tokens as in the bundle.", "The model of the bundle."
    return [
        *_copy("text", recipe.text, text),
        *_copy("text.specials", recipe.text.specials, text),
        *(choice for choice in _copy("model", recipe.model, model) if choice.key not in ("dropout", "embedding_init")),
        *dropout,
        ChosenSetting("training", "start_from", start.path, "The bundle whose weights are the initial ones."),
        *([] if start.same_languages else [ChosenSetting("training", "new_vocabulary", True, OTHER_LANGUAGES)]),
        choose_start_share(facts, start),
        *_choose_training(facts, start, budget),
        *_choose_augmentation(facts, recipe, budget),
        *_copy("decoding", recipe.decoding, "The search of the bundle."),
    ]


def _choose_augmentation(facts: TextFacts, recipe: Recipe, budget: PlannedBudget) -> Iterator[ChosenSetting]:
    """The augmentation of other recipes, and what keeps the bundle able to use terms and matches."""
    chosen = list(choose_augmentation(facts, budget)) if recipe.text.tokenizer in ("bpe", "unigram") else []
    yield from chosen
    augmentation = recipe.training.augmentation
    kept = {key: share for key in ("terms", "fuzzy_matches") if (share := getattr(augmentation, key))}
    room, needed = 1 - sum(choice.value for choice in chosen), sum(kept.values())
    for key, share in kept.items():
        fitting = share if needed <= room else math.floor(1000 * share * room / needed) / 1000  # at most 1 in all
        yield ChosenSetting("training.augmentation", key, fitting, "As for the bundle, which would forget it.")


def choose_start_share(facts: TextFacts, start: StartingPoint) -> ChosenSetting:
    """The share of the initial weights in the final ones, by what the training has in common with the bundle.

    What is learned and what is known before must be of the same languages and tokens: otherwise, a mean of the weights
    costs much and keeps nothing. New text of another kind needs a low share once there is enough of it; new text like
    the old one loses nothing by a high share.
    """
    share, reason = START_SHARE, "less is forgotten."
    if not start.same_languages:
        bundle = describe_direction(start.recipe.data.languages)
        share, reason = 0.0, f"none, because it translates other languages ({bundle})."
    elif start.known_tokens < MIN_KNOWN_TOKENS:
        share, reason = (
            0.0,
            f"none, because its vocabulary has only {start.known_tokens:.0%} of the tokens of the text.",
        )
    elif facts.old_share:
        difference = min(1.0, max(0.0, (SAME_TEXT - facts.old_likeness) / (SAME_TEXT - OTHER_TEXT)))
        many = 1 - min(1.0, START_SHARE_PAIRS / facts.pairs)
        share *= 1 - difference * many * min(1.0, facts.old_share)
        if not difference:
            reason = "high, because the new text is like the old one."
        elif share < START_SHARE / 2:
            reason = f"low, because {facts.pairs:,} new pairs next to old text, which is different, forget little."
    return ChosenSetting(
        "training", "start_share", round(share, 2), f"The bundle's share of the final weights: {reason}"
    )


def _choose_training(facts: TextFacts, start: StartingPoint, budget: PlannedBudget) -> Iterator[ChosenSetting]:
    size = LARGE_MODEL if start.recipe.model.d_model >= LARGE_MODEL.d_model else SMALL_MODEL
    large = size == LARGE_MODEL
    for choice in choose_training(facts, size, budget):
        if choice.key == "optimizer":
            reason = "Adam with decoupled weight decay, for which the learning rate and start_share were measured."
            yield replace(choice, value="adamw", reason=reason)
        elif choice.key == "weight_decay" and not large:
            yield replace(choice, value=0.1, reason="Weight decay of the matrices.")
        elif choice.key == "schedule" and not large:
            yield replace(choice, value="cosine")
        elif choice.key == "learning_rate":
            reason = "Peak learning rate: lower than for random weights, so that less is forgotten."
            yield replace(choice, value=5e-4 if large else 1e-3, reason=reason)
        elif choice.key == "warmup_steps":
            reason = "Steps in which the learning rate rises: few, because the weights are trained."
            yield replace(choice, value=min(choice.value, MAX_WARMUP), reason=reason)
        else:
            yield choice


def _copy(section: str, settings: Settings, reason: str) -> Iterator[ChosenSetting]:
    """The settings of a section that differ from the defaults; the first one states the reason for all."""
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if value != field.get_default() and not isinstance(value, Settings):
            yield ChosenSetting(section, name, value, reason)
            reason = ""
