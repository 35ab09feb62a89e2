"""Settings of synthetic training pairs, which teachers make before a translator is trained."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dragoman.settings.base import Rule, Settings
from dragoman.settings.data import LEAST_WEIGHT, MOST_WEIGHT


class Backtranslation(Settings):
    """Training pairs made from text in the target language: a teacher translates it into the source language."""

    mono: tuple[str, ...] = Field(
        (), description="Files with one sentence of the target language per line, plain or .gz; none: no such pairs."
    )
    method: Literal["beam", "greedy", "sampling", "noised-beam"] = Field(
        "beam",
        description="How the teacher translates; greedy is 2.5 times as fast; noised-beam also deletes, "
        "replaces and moves words (Edunov et al. 2018).",
    )
    weight: float = Field(1.0, ge=LEAST_WEIGHT, le=MOST_WEIGHT, description="How often each pair is seen in an epoch.")
    tagged: bool = Field(True, description="Mark the sources, as `tagged` of a corpus does.")
    minimum_chrf: float = Field(
        0.0,
        ge=0,
        le=100,
        description="Leave out pairs whose source, translated back by another teacher, has a lower chrF; 0 keeps all.",
    )


class Diversification(Settings):
    """Training pairs made from the training text: teachers of both directions translate it (Nguyen et al. 2020)."""

    weight: float = Field(
        0.0,
        ge=0,
        le=MOST_WEIGHT,
        description="How often each pair is seen in an epoch, times the weight of its corpus; 0: no such pairs.",
    )


class Distillation(Settings):
    """Training pairs made by finished translators, whose targets a smaller translator learns (Kim and Rush 2016)."""

    teachers: tuple[str, ...] = Field(
        (),
        description="Bundles or run directories that translate the sources of the training text; several are an "
        "ensemble; none: no such pairs. The new translator has the tokenizers of the first one if the section text is "
        "the same.",
    )
    translated_by: str | None = Field(
        None,
        min_length=1,
        description="What has translated the training text itself, if no bundle did: the language model or the "
        "service; for the card and the report. Held-out pairs are its translations, too.",
    )
    mono: tuple[str, ...] = Field(
        (), description="Files with one sentence of the source language per line, plain or .gz, to translate too."
    )
    candidates: int = Field(
        5,
        ge=1,
        le=1000,
        description="Number of translations of each sentence from which one is chosen: the one most similar to the "
        "reference by chrF; for `mono`, the best one by round_trip, or else by the score of the teachers.",
    )
    round_trip: str | None = Field(
        None,
        min_length=1,
        description="A bundle or run directory of the other direction, which translates the candidates of `mono` back; "
        "the one most similar to the sentence is chosen.",
    )
    original_weight: float = Field(
        0.0,
        ge=0,
        le=MOST_WEIGHT,
        description="How often each original pair is seen in an epoch, times the weight of its corpus; 0: not at all.",
    )


class Teachers(Settings):
    """The training of the teachers, which have the settings of the recipe. The translator gets the rest of the time."""

    rules = (
        Rule(
            lambda teachers: teachers.share + teachers.translation_share >= 1,
            "share = {0.share:g} and translation_share = {0.translation_share:g} leave no time for the translator; "
            "they must add up to less than 1",
        ),
    )
    share: float = Field(0.2, gt=0, le=0.5, description="Share of the budget for training each teacher.")
    translation_share: float = Field(
        0.1,
        gt=0,
        le=0.9,
        description="With a budget in minutes: maximum share of it for translating. What does not fit is left out.",
    )
