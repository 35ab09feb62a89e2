"""The choice of settings for a text and a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from dragoman.errors import counted
from dragoman.planning.budget import PlannedBudget
from dragoman.planning.text_facts import TextFacts

MIN_SUBWORDS, MAX_SUBWORDS = 1000, 32_000
MANY_PAIRS = 300_000  # pairs from which a larger model is better, if there is time to train it
NO_DROPOUT_EPOCHS, LITTLE_DROPOUT_EPOCHS = 5.0, 10.0  # with 7 epochs of Multi30k, a dropout of 0.2 costs 2 BLEU
SHORT_TRAINING = 5.0  # epochs; embeddings from counts gained 1.1 BLEU in 2.8 epochs of Multi30k, and none in 9.5
LITTLE_TEXT, MUCH_TEXT = 10_000, 100_000  # pairs
R_DROP_WEIGHT, R_DROP_WEIGHT_OF_LITTLE_TEXT = 2.0, 5.0  # 2 was better for 29,000 pairs; for 5,000, only 5 was tried
EPOCHS_OF_AUGMENTATION = 20.0  # shorter trainings change fewer pairs
MIN_WEIGHT_DECAY, MAX_WEIGHT_DECAY = (
    0.03,
    0.1,
)  # in 15,000 and 5,000 steps (history of measurements, Weight decay)
DECAY_TIMES_STEPS = 500


class ChosenValue(NamedTuple):
    """A value, and the reason for it in a sentence; an empty one if the choice before gives the reason for both."""

    value: Any
    reason: str


Choices = dict[str, ChosenValue]
"""Chosen settings by their keys, such as ``training.augmentation.typos``, in the order of a recipe; as plain data."""


def as_document(name: str, choices: Choices) -> dict[str, Any]:
    """A recipe as plain data."""
    document: dict[str, Any] = {"name": name}
    for key, choice in choices.items():
        *sections, last = key.split(".")
        values = document
        for section in sections:
            values = values.setdefault(section, {})
        values[last] = choice.value
    return document


def values_of(section: str, choices: Choices) -> dict[str, Any]:
    """The values of the settings of one section, without its name."""
    return {key.removeprefix(f"{section}."): choice.value for key, choice in choices.items()}


@dataclass(frozen=True)
class ModelSize:
    """The sizes of a model."""

    d_model: int
    d_ff: int
    layers: int


TINY_MODEL, SMALL_MODEL, LARGE_MODEL = ModelSize(128, 512, 3), ModelSize(256, 1024, 3), ModelSize(512, 2048, 6)


def choose_settings(facts: TextFacts, size: ModelSize, budget: PlannedBudget) -> Choices:
    """Settings for a text and a budget."""
    return {
        **choose_text(facts),
        **choose_model(facts, size),
        **choose_embeddings(size, budget),
        **choose_dropout(facts, budget),
        **choose_training(facts, size, budget),
        **choose_augmentation(facts, budget),
        "decoding.beam_size": ChosenValue(5, "Beam size: 1 is greedy search and fastest."),
        "decoding.length_penalty": ChosenValue(
            1.4, "Larger values give longer translations; small models tend to short ones."
        ),
        "decoding.max_length": ChosenValue(256, "Maximum length of a translation in tokens."),
    }


def choose_text(facts: TextFacts) -> Choices:
    """Settings of the tokenizers for a text."""
    if facts.source.has_spaces and facts.target.has_spaces:
        tokenizer = ChosenValue("bpe", "Subwords: rare words are split into known parts.")
    else:
        tokenizer = ChosenValue(
            "unigram", "Subwords that need no spaces between words, which a side of this text does not have."
        )
    if facts.by_direction:
        joint = "One vocabulary for all languages: each is read and written."
    elif facts.joint:
        joint = "One vocabulary for both languages: they share names, digits and the script."
    else:
        joint = f"A vocabulary for each language: {facts.source.script} and {facts.target.script} share few subwords."
    return {
        "text.tokenizer": tokenizer,
        "text.vocabulary_size": ChosenValue(
            vocabulary_size(facts.pairs), f"Few enough that most subwords are frequent in {facts.pairs:,} pairs."
        ),
        "text.joint": ChosenValue(facts.joint, joint),
        "text.placeholders": ChosenValue(
            True, "Placeholders, tags, URLs, e-mail addresses, file names, emoji and numbers are copied exactly."
        ),
    }


def vocabulary_size(pairs: int) -> int:
    """The number of subwords for a number of training pairs: 4,000 for 30,000 pairs, growing more slowly than them."""
    size: float = 4000 * (pairs / 30_000) ** 0.4
    return round(min(max(size, MIN_SUBWORDS), MAX_SUBWORDS) / 500) * 500


def choose_model(facts: TextFacts, size: ModelSize) -> Choices:
    """Settings of the model for a text, without those that also depend on the budget."""
    return {
        "model.d_model": ChosenValue(
            size.d_model, "Width of the model: larger ones need more text and much more time."
        ),
        "model.heads": ChosenValue(8, "Attention heads."),
        "model.d_ff": ChosenValue(size.d_ff, "Hidden width of the feed-forward layers: four times d_model."),
        "model.encoder_layers": ChosenValue(size.layers, "Layers of the encoder."),
        "model.decoder_layers": ChosenValue(size.layers, "Layers of the decoder."),
        "model.norm": ChosenValue("pre", "Layer norm before each sublayer trains stably at high learning rates."),
        "model.tie": ChosenValue(
            "all" if facts.joint else "target",
            "Embeddings and output share a matrix: fewer parameters, which are updated more often.",
        ),
        "model.positions": ChosenValue("rotary", "Rotary positions learn faster than sinusoidal ones."),
        "model.max_length": ChosenValue(512, "Maximum length of a sentence in tokens."),
    }


def choose_embeddings(size: ModelSize, budget: PlannedBudget) -> Choices:
    """Embeddings that start from counts of the text, for the models and trainings that gained from this."""
    if size == LARGE_MODEL or budget.epochs >= SHORT_TRAINING:
        return {}
    reason = "Tokens that are used similarly start with similar embeddings, because the text is read only few times."
    return {"model.embedding_init": ChosenValue("cooccurrence", reason)}


def choose_dropout(facts: TextFacts, budget: PlannedBudget) -> Choices:
    """The less text, and the more often it is read, the more a model has to be kept from learning it by heart."""
    epochs = budget.epochs
    if epochs < LITTLE_DROPOUT_EPOCHS or facts.distinct_pairs >= MUCH_TEXT:
        probability = 0.0 if epochs < NO_DROPOUT_EPOCHS else 0.1
        reason = (
            f"low, because the text is read only about {counted(max(1, round(epochs)), 'time')}."
            if epochs < LITTLE_DROPOUT_EPOCHS
            else "low, because there is much text."
        )
    else:
        probability = 0.3 if facts.pairs < LITTLE_TEXT and budget.reads_often else 0.2
        reason = (
            f"high, because the text is small ({counted(facts.pairs, 'pair')}) and is read about {round(epochs)} times."
        )
    return {"model.dropout": ChosenValue(probability, f"Dropout probability: {reason}")}


def choose_training(facts: TextFacts, size: ModelSize, budget: PlannedBudget) -> Choices:
    """Settings of the training, for weights that are random at its start."""
    large, steps, often = size == LARGE_MODEL, budget.steps, budget.reads_often
    choices: Choices = {}
    if budget.minutes is None:
        choices["training.epochs"] = ChosenValue(budget.epochs, "Passes over the text: more for less text.")
    else:
        choices["training.minutes"] = ChosenValue(
            budget.minutes, "The time you gave; the learning rate is zero at its end."
        )
    choices["training.batch_tokens"] = ChosenValue(
        budget.batch_tokens, "Tokens of each side of a batch: small batches allow many steps."
    )
    if large:
        choices["training.optimizer"] = ChosenValue("adamw", "Adam with decoupled weight decay.")
        choices["training.weight_decay"] = ChosenValue(0.01, "Weight decay of the matrices.")
    else:
        choices["training.optimizer"] = ChosenValue("muon", "A small model learns the same in half as many steps.")
        choices["training.weight_decay"] = ChosenValue(
            weight_decay(steps), f"Weight decay of the matrices, for about {steps:,} steps."
        )
    choices["training.learning_rate"] = ChosenValue(
        1e-3 if large else 1.2e-2, "Peak learning rate: high for a narrow model with normalized inputs."
    )
    choices["training.schedule"] = ChosenValue(
        "cosine" if large else "linear", "The learning rate falls to zero at the end."
    )
    choices["training.warmup_steps"] = ChosenValue(
        min(steps // 10, 4000 if large else 250),
        f"Steps in which the learning rate rises: at most a tenth of about {steps:,}.",
    )
    if budget.r_drop:
        choices["training.r_drop"] = ChosenValue(
            R_DROP_WEIGHT_OF_LITTLE_TEXT if facts.pairs < LITTLE_TEXT else R_DROP_WEIGHT,
            "R-Drop: two passes with different dropout must agree, which helps most with little text.",
        )
    choices["training.clip_norm"] = ChosenValue(1.0, "Larger gradients are scaled down to this norm.")
    choices["training.validations"] = ChosenValue(10, "Number of validations, evenly spaced …")
    choices["training.validation_sentences"] = ChosenValue(
        1000 if often else 200, "… each of which translates this many sentences"
    )
    if budget.minutes is not None:
        choices["training.validation_share"] = ChosenValue(0.1, "… and which take at most this share of the time.")
    choices["training.early_stopping"] = ChosenValue(4, "Stop after this many validations without an improvement …")
    choices["training.early_stopping_by"] = ChosenValue(
        "score_and_loss", "… of the score or the loss, after the warm-up."
    )
    if often:  # with 5,000 pairs of Multi30k, the loss rose from epoch 27 on, and BLEU until the end (see the history)
        choices["training.best_by"] = ChosenValue(
            "chrf", "Of text that is read so often, the loss rises long before translations get worse."
        )
    else:
        choices["training.best_by"] = ChosenValue(
            "loss", "The loss on all validation pairs is more reliable than BLEU of a few translations."
        )
    return choices


def weight_decay(steps: int) -> float:
    """Weight decay with Muon: within limits, longer trainings get less, so that the whole decay is about the same."""
    return round(min(max(DECAY_TIMES_STEPS / steps, MIN_WEIGHT_DECAY), MAX_WEIGHT_DECAY), 3)


def choose_augmentation(facts: TextFacts, budget: PlannedBudget) -> Choices:
    """Shares of the same kinds as in the training configuration of Firefox Translations, and some single words.

    The configuration has 7 % in upper case, 5 % in title case and 5 % with typing errors. Our models read text in
    capitals as it is usually written and need fewer examples of it; they need more typing errors to keep 90 % of their
    BLEU score (benchmarks/history/measurements.md, Augmentation).

    Short trainings get smaller shares: with five epochs of Multi30k, those of Firefox cost 1.8 BLEU on clean text.
    """
    scale = min(1.0, budget.epochs / EPOCHS_OF_AUGMENTATION)
    shares = {
        "no_end_punctuation": (0.2, "without punctuation at the end, so that the translator does not rely on it"),
        "typos": (0.12, "with typing errors in the source, so that a wrong letter does not spoil a translation"),
    }
    if facts.source.has_case or facts.target.has_case:
        shares["upper_case"] = 0.025, "in capital letters: headlines and warnings are otherwise translated badly"
        shares["title_case"] = 0.025, "in which every word starts with a capital letter, as in titles"
    if facts.source.has_spaces and facts.target.has_spaces:
        shares["single_words"] = 0.03, "replaced by one word and its translation: single words are otherwise repeated"
    return {
        f"training.augmentation.{key}": ChosenValue(round(scale * share, 3), f"Share of pairs {reason}.")
        for key, (share, reason) in shares.items()
    }
