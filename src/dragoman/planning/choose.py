"""The choice of settings for a text and a budget. docs/own-data.md explains the rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dragoman.planning.text_facts import TextFacts

MIN_SUBWORDS, MAX_SUBWORDS = 1000, 32_000
MANY_PAIRS = 300_000  # pairs from which the model is larger
SMALL_BATCH, LARGE_BATCH = 1024, 4096  # target tokens


@dataclass(frozen=True)
class ChosenSetting:
    """A setting, its value, and the reason for it in a sentence."""

    section: str
    key: str
    value: Any
    reason: str


@dataclass(frozen=True)
class PlannedBudget:
    """The length of the training, and what it amounts to on this machine.

    Attributes:
        minutes: The time that was given; None if there is no limit.
        tokens_per_second: Target tokens that this machine processes in a second.
    """

    minutes: float | None
    tokens_per_second: float

    def epochs(self, facts: TextFacts) -> float:
        """Passes over the text: those that fit into the time, or more for less text."""
        if self.minutes is not None:
            return 60 * self.minutes * self.tokens_per_second / facts.target_tokens
        return float(round(min(max(20 * (30_000 / facts.pairs) ** 0.3, 4), 60)))

    def steps(self, facts: TextFacts) -> int:
        """The number of optimizer steps, at least 1."""
        return max(1, int(self.epochs(facts) * facts.target_tokens / batch_tokens(facts.pairs)))


def parameters(facts: TextFacts) -> int:
    """About how many parameters the chosen model has, apart from biases and norms."""
    d_model, layers, matrices = (512, 6, 2048) if facts.pairs >= MANY_PAIRS else (256, 3, 1024)
    embeddings = vocabulary_size(facts.pairs) * d_model * (1 if facts.same_script else 2)
    return embeddings + layers * (12 * d_model**2 + 4 * d_model * matrices)


def choose_settings(facts: TextFacts, budget: PlannedBudget) -> list[ChosenSetting]:
    """Settings for a text and a budget, in the order of a recipe."""
    return [*_choose_text(facts), *_choose_model(facts), *_choose_training(facts, budget), *_choose_decoding()]


def batch_tokens(pairs: int) -> int:
    """Target tokens in a batch for a number of training pairs."""
    return SMALL_BATCH if pairs < 100_000 else LARGE_BATCH


def _choose_text(facts: TextFacts) -> Iterator[ChosenSetting]:
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
    reason = "Placeholders, tags, URLs, e-mail addresses, emoji and long numbers are copied exactly."
    yield ChosenSetting("text", "placeholders", True, reason)


def vocabulary_size(pairs: int) -> int:
    """The number of subwords for a number of training pairs: 4,000 for 30,000 pairs, growing more slowly than them."""
    size: float = 4000 * (pairs / 30_000) ** 0.4
    return round(min(max(size, MIN_SUBWORDS), MAX_SUBWORDS) / 500) * 500


def _choose_model(facts: TextFacts) -> Iterator[ChosenSetting]:
    large = facts.pairs >= MANY_PAIRS
    width = "Width of the model: larger ones need more text and much more time."
    yield ChosenSetting("model", "d_model", 512 if large else 256, width)
    yield ChosenSetting("model", "heads", 8, "Attention heads.")
    yield ChosenSetting(
        "model", "d_ff", 2048 if large else 1024, "Hidden width of the feed-forward layers: four times d_model."
    )
    yield ChosenSetting("model", "encoder_layers", 6 if large else 3, "Layers of the encoder.")
    yield ChosenSetting("model", "decoder_layers", 6 if large else 3, "Layers of the decoder.")
    yield ChosenSetting("model", "norm", "pre", "Layer norm before each sublayer trains stably at high learning rates.")
    tie = "Embeddings and output share a matrix: fewer parameters, which are updated more often."
    yield ChosenSetting("model", "tie", "all" if facts.same_script else "target", tie)
    yield ChosenSetting("model", "positions", "rotary", "Rotary positions learn faster than sinusoidal ones.")
    yield ChosenSetting("model", "max_length", 512, "Maximum length of a sentence in tokens.")
    yield ChosenSetting(
        "model",
        "dropout",
        dropout(facts.pairs),
        f"Dropout probability: high, because {facts.pairs:,} pairs are few."
        if facts.pairs < MANY_PAIRS
        else "Dropout probability.",
    )


def dropout(pairs: int) -> float:
    """The dropout probability for a number of training pairs: the less text, the higher."""
    return 0.3 if pairs < 10_000 else 0.2 if pairs < 100_000 else 0.1


def _choose_training(facts: TextFacts, budget: PlannedBudget) -> Iterator[ChosenSetting]:
    many = facts.pairs >= MANY_PAIRS
    if budget.minutes is None:
        yield ChosenSetting("training", "epochs", budget.epochs(facts), "Passes over the text: more for less text.")
    else:
        yield ChosenSetting(
            "training", "minutes", budget.minutes, "The time you gave; the learning rate is zero at its end."
        )
    yield ChosenSetting(
        "training",
        "batch_tokens",
        batch_tokens(facts.pairs),
        "Target tokens in a batch: small batches allow many steps.",
    )
    yield ChosenSetting(
        "training", "optimizer", "adamw", "Adam with decoupled weight decay, which helps most with little text."
    )
    yield ChosenSetting("training", "weight_decay", 0.01 if many else 0.1, "Weight decay of the matrices.")
    rate = "Peak learning rate: high for a narrow model with normalized inputs."
    yield ChosenSetting("training", "learning_rate", 1e-3 if many else 2e-3, rate)
    yield ChosenSetting("training", "schedule", "cosine", "The learning rate falls to zero at the end.")
    steps = budget.steps(facts)
    warmup = min(steps // 20, 4000 if many else 250)
    reason = f"Steps in which the learning rate rises: at most a twentieth of about {steps:,}."
    yield ChosenSetting("training", "warmup_steps", warmup, reason)
    yield ChosenSetting("training", "clip_norm", 1.0, "Larger gradients are scaled down to this norm.")
    yield ChosenSetting("training", "validations", 10, "Number of validations, evenly spaced …")
    yield ChosenSetting("training", "validation_sentences", 200, "… of which each translates this many sentences …")
    yield ChosenSetting("training", "validation_share", 0.1, "… and which take at most this share of the time.")
    yield ChosenSetting("training", "early_stopping", 4, "Stop after this many validations without an improvement …")
    yield ChosenSetting(
        "training", "early_stopping_by", "score_and_loss", "… of the score or the loss, after the warm-up."
    )
    yield ChosenSetting(
        "training",
        "best_by",
        "loss",
        "The loss on all validation pairs is more reliable than BLEU of a few translations.",
    )


def _choose_decoding() -> Iterator[ChosenSetting]:
    yield ChosenSetting("decoding", "beam_size", 5, "Beam size: 1 is greedy search and fastest.")
    yield ChosenSetting("decoding", "length_penalty", 1.0, "Raise it if translations are too short.")
    yield ChosenSetting("decoding", "max_length", 256, "Maximum length of a translation in tokens.")
