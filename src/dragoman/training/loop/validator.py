"""Scoring a model on the validation pairs during training."""

from __future__ import annotations

from functools import cached_property

import torch

from dragoman.bundle import Bundle
from dragoman.dataset.prepare import Dataset
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.training_checks import check_validation
from dragoman.engines import EngineRequest
from dragoman.evaluation.baseline import Baseline, trivial_baseline
from dragoman.evaluation.evaluate import Report, evaluate
from dragoman.model.transformer import Transformer
from dragoman.settings import Recipe
from dragoman.settings.decoding import PLAIN_SEARCH
from dragoman.translator import Translator

MIN_BLEU = 1.0
"""Lower values of BLEU count as zero: they are noise, by which weights of the first steps can win."""


class Validator:
    """Scores models on the validation pairs.

    Args:
        recipe: Decoding settings, and the score that decides which checkpoint is best.
        data: The validation pairs and the tokenizers.
        device: Where to compute.
    """

    def __init__(self, recipe: Recipe, data: Dataset, device: torch.device) -> None:
        self.recipe, self.data, self.device = recipe, data, device

    def evaluate(self, model: Transformer) -> tuple[Report, list[str]]:
        """Scores on the validation pairs, and the translations of the first `validation_sentences` of them."""
        settings, pairs = self.recipe.training, self.data.validation
        bundle = Bundle(self.recipe, model.eval(), self.data.source, self.data.target)
        quick = {**PLAIN_SEARCH, "beam_size": settings.validation_beam_size, "n_best": 1}
        decoding = self.recipe.decoding.model_copy(update=quick)
        # In float32 on every device, so that scores and the best checkpoint do not depend on it.
        translator = Translator.open(EngineRequest(bundle, decoding, self.device, compute_type="float32"))
        return evaluate(
            translator,
            [pair.source for pair in pairs],
            [pair.target for pair in pairs],
            translate_at_most=settings.validation_sentences,
        )

    def score(self, report: Report) -> float:
        """The score that decides which checkpoint is best; higher is better."""
        best_by = self.recipe.training.best_by
        if best_by == "bleu":
            return report.bleu if report.bleu >= MIN_BLEU else 0.0
        return -report.loss if best_by == "loss" else report.chrf

    @cached_property
    def baseline(self) -> Baseline:
        """The score of a trivial translator on the validation pairs that are translated."""
        pairs = self.data.validation[: self.recipe.training.validation_sentences]
        return trivial_baseline([pair.source for pair in pairs], [pair.target for pair in pairs])

    def samples(self, translations: list[str]) -> list[dict[str, str]]:
        """The validation pairs that were translated, with their translations."""
        return [
            {"source": pair.source, "reference": pair.target, "translation": translation}
            for pair, translation in zip(self.data.validation, translations, strict=False)
        ]

    def check(self, report: Report, translations: list[str], spent: float) -> list[Finding]:
        """Problems of the translations, given the fraction of the budget spent."""
        return check_validation(self.data.validation, translations, report, spent, self.recipe.decoding)
