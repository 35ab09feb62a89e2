"""The choice of settings for a text and a budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dragoman.errors import counted
from dragoman.planning.budget import PlannedBudget
from dragoman.planning.text_facts import TextFacts

MIN_SUBWORDS, MAX_SUBWORDS = 1000, 32_000
MANY_PAIRS = 300_000  # pairs from which a larger model is better, if there is time to train it
NO_DROPOUT_EPOCHS, LITTLE_DROPOUT_EPOCHS = 5.0, 10.0  # with 7 epochs of Multi30k, a dropout of 0.2 costs 2 BLEU
SHORT_TRAINING = 5.0  # epochs; embeddings from counts gained 1.1 BLEU in 2.8 epochs of Multi30k, and none in 9.5
LITTLE_TEXT = 10_000  # pairs
R_DROP_WEIGHT, R_DROP_WEIGHT_OF_LITTLE_TEXT = 2.0, 5.0  # 2 was better for 29,000 pairs; for 5,000, only 5 was tried
EPOCHS_OF_AUGMENTATION = 20.0  # shorter trainings change fewer pairs
MIN_WEIGHT_DECAY, MAX_WEIGHT_DECAY = 0.03, 0.1  # in 15,000 and 5,000 steps (benchmarks/history/measurements.md, Weight decay)
DECAY_TIMES_STEPS = 500


@dataclass(frozen=True)
class ChosenSetting:
    """A setting, its value, and the reason for it in a sentence."""

    section: str
    key: str
    value: Any
    reason: str


@dataclass(frozen=True)
class ModelSize:
    """The sizes of a model."""

    d_model: int
    d_ff: int
    layers: int


TINY_MODEL, SMALL_MODEL, LARGE_MODEL = ModelSize(128, 512, 3), ModelSize(256, 1024, 3), ModelSize(512, 2048, 6)


def choose_settings(facts: TextFacts, size: ModelSize, budget: PlannedBudget) -> list[ChosenSetting]:
    """Settings for a text and a budget, in the order of a recipe."""
    return [
        *choose_text(facts),
        *choose_model(facts, size),
        *choose_embeddings(facts, size, budget),
        *choose_dropout(facts, budget),
        *choose_training(facts, size, budget),
        *choose_augmentation(facts, budget),
        *_choose_decoding(),
    ]


def choose_text(facts: TextFacts) -> Iterator[ChosenSetting]:
    """Settings of the tokenizers for a text."""
    spaces = facts.source.has_spaces and facts.target.has_spaces
    yield ChosenSetting(
        "text",
        "tokenizer",
        "bpe" if spaces else "unigram",
        "Subwords: rare words are split into known parts."
        if spaces
        else "Subwords that need no spaces between words, which a side of this text does not have.",
    )
    yield ChosenSetting(
        "text",
        "vocabulary_size",
        vocabulary_size(facts.pairs),
        f"Few enough that most subwords are frequent in {facts.pairs:,} pairs.",
    )
    yield ChosenSetting(
        "text",
        "joint",
        facts.same_script,
        "One vocabulary for both languages: they share names, digits and the script."
        if facts.same_script
        else f"A vocabulary for each language: {facts.source.script} and {facts.target.script} share few subwords.",
    )
    reason = "Placeholders, tags, URLs, e-mail addresses, file names, emoji and numbers are copied exactly."
    yield ChosenSetting("text", "placeholders", True, reason)


def vocabulary_size(pairs: int) -> int:
    """The number of subwords for a number of training pairs: 4,000 for 30,000 pairs, growing more slowly than them."""
    size: float = 4000 * (pairs / 30_000) ** 0.4
    return round(min(max(size, MIN_SUBWORDS), MAX_SUBWORDS) / 500) * 500


def choose_model(facts: TextFacts, size: ModelSize) -> Iterator[ChosenSetting]:
    """Settings of the model for a text, without those that also depend on the budget."""
    width = "Width of the model: larger ones need more text and much more time."
    yield ChosenSetting("model", "d_model", size.d_model, width)
    yield ChosenSetting("model", "heads", 8, "Attention heads.")
    yield ChosenSetting("model", "d_ff", size.d_ff, "Hidden width of the feed-forward layers: four times d_model.")
    yield ChosenSetting("model", "encoder_layers", size.layers, "Layers of the encoder.")
    yield ChosenSetting("model", "decoder_layers", size.layers, "Layers of the decoder.")
    yield ChosenSetting("model", "norm", "pre", "Layer norm before each sublayer trains stably at high learning rates.")
    tie = "Embeddings and output share a matrix: fewer parameters, which are updated more often."
    yield ChosenSetting("model", "tie", "all" if facts.same_script else "target", tie)
    yield ChosenSetting("model", "positions", "rotary", "Rotary positions learn faster than sinusoidal ones.")
    yield ChosenSetting("model", "max_length", 512, "Maximum length of a sentence in tokens.")


def choose_embeddings(facts: TextFacts, size: ModelSize, budget: PlannedBudget) -> Iterator[ChosenSetting]:
    """Embeddings that start from counts of the text, for the models and trainings that gained from this."""
    if size != LARGE_MODEL and budget.epochs < SHORT_TRAINING:
        reason = (
            "Tokens that are used similarly start with similar embeddings, because the text is read only few times."
        )
        yield ChosenSetting("model", "embedding_init", "cooccurrence", reason)


def choose_dropout(facts: TextFacts, budget: PlannedBudget) -> Iterator[ChosenSetting]:
    """The less text, and the more often it is read, the more a model has to be kept from learning it by heart."""
    epochs = budget.epochs
    if facts.pairs >= 100_000:
        probability, reason = 0.1, "low, because there is much text."
    elif epochs < LITTLE_DROPOUT_EPOCHS:
        probability = 0.0 if epochs < NO_DROPOUT_EPOCHS else 0.1
        reason = f"low, because the text is read only about {counted(max(1, round(epochs)), 'time')}."
    else:
        probability = 0.3 if facts.pairs < LITTLE_TEXT and budget.reads_often else 0.2
        reason = (
            f"high, because the text is small ({counted(facts.pairs, 'pair')}) and is read about {round(epochs)} times."
        )
    yield ChosenSetting("model", "dropout", probability, f"Dropout probability: {reason}")


def choose_training(facts: TextFacts, size: ModelSize, budget: PlannedBudget) -> Iterator[ChosenSetting]:
    """Settings of the training, for weights that are random at its start."""
    large = size == LARGE_MODEL
    if budget.minutes is None:
        yield ChosenSetting("training", "epochs", budget.epochs, "Passes over the text: more for less text.")
    else:
        yield ChosenSetting(
            "training", "minutes", budget.minutes, "The time you gave; the learning rate is zero at its end."
        )
    yield ChosenSetting(
        "training",
        "batch_tokens",
        budget.batch_tokens,
        "Tokens of each side of a batch: small batches allow many steps.",
    )
    reason = "Adam with decoupled weight decay." if large else "A small model learns the same in half as many steps."
    yield ChosenSetting("training", "optimizer", "adamw" if large else "muon", reason)
    steps = budget.steps
    decay = 0.01 if large else weight_decay(steps)
    reason = "Weight decay of the matrices." if large else f"Weight decay of the matrices, for about {steps:,} steps."
    yield ChosenSetting("training", "weight_decay", decay, reason)
    rate = "Peak learning rate: high for a narrow model with normalized inputs."
    yield ChosenSetting("training", "learning_rate", 1e-3 if large else 1.2e-2, rate)
    schedule = "cosine" if large else "linear"
    yield ChosenSetting("training", "schedule", schedule, "The learning rate falls to zero at the end.")
    warmup = min(steps // 10, 4000 if large else 250)
    reason = f"Steps in which the learning rate rises: at most a tenth of about {steps:,}."
    yield ChosenSetting("training", "warmup_steps", warmup, reason)
    if budget.r_drop:
        reason = "R-Drop: two passes with different dropout must agree, which helps most with little text."
        weight = R_DROP_WEIGHT_OF_LITTLE_TEXT if facts.pairs < LITTLE_TEXT else R_DROP_WEIGHT
        yield ChosenSetting("training", "r_drop", weight, reason)
    yield ChosenSetting("training", "clip_norm", 1.0, "Larger gradients are scaled down to this norm.")
    yield ChosenSetting("training", "validations", 10, "Number of validations, evenly spaced …")
    often = budget.reads_often
    sentences = 1000 if often else 200
    yield ChosenSetting("training", "validation_sentences", sentences, "… each of which translates this many sentences")
    if budget.minutes is not None:
        yield ChosenSetting("training", "validation_share", 0.1, "… and which take at most this share of the time.")
    yield ChosenSetting("training", "early_stopping", 4, "Stop after this many validations without an improvement …")
    yield ChosenSetting(
        "training", "early_stopping_by", "score_and_loss", "… of the score or the loss, after the warm-up."
    )
    if often:  # with 5,000 pairs of Multi30k, the loss rose from epoch 27 on, and BLEU until the end (see the history of measurements)
        best_by = "chrf", "Of text that is read so often, the loss rises long before translations get worse."
    else:
        best_by = "loss", "The loss on all validation pairs is more reliable than BLEU of a few translations."
    yield ChosenSetting("training", "best_by", *best_by)


def weight_decay(steps: int) -> float:
    """Weight decay with Muon: within limits, longer trainings get less, so that the whole decay is about the same."""
    return round(min(max(DECAY_TIMES_STEPS / steps, MIN_WEIGHT_DECAY), MAX_WEIGHT_DECAY), 3)


def choose_augmentation(facts: TextFacts, budget: PlannedBudget) -> Iterator[ChosenSetting]:
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
    for key, (share, reason) in shares.items():
        yield ChosenSetting("training.augmentation", key, round(scale * share, 3), f"Share of pairs {reason}.")


def _choose_decoding() -> Iterator[ChosenSetting]:
    yield ChosenSetting("decoding", "beam_size", 5, "Beam size: 1 is greedy search and fastest.")
    yield ChosenSetting(
        "decoding", "length_penalty", 1.4, "Larger values give longer translations; small models tend to short ones."
    )
    yield ChosenSetting("decoding", "max_length", 256, "Maximum length of a translation in tokens.")
