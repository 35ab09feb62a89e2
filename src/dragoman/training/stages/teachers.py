"""The teachers of a run, which make its synthetic pairs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from dragoman.corpus.pair import Languages
from dragoman.settings import Distillation, Recipe
from dragoman.synthesis.back_translator import METHODS, NOISED, BackTranslator, RoundTrip
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.synthesis.distiller import Distiller, open_distiller
from dragoman.training.stages.recipes import Direction
from dragoman.translator import Translator


@dataclass(frozen=True)
class RunTeachers:
    """The teachers of a run, each of which is opened when it is needed.

    Attributes:
        recipe: The recipe of the run.
        directory: Where the teachers are that the run trains.
        device: Where they translate.
    """

    recipe: Recipe
    directory: Path
    device: torch.device

    def path(self, direction: Direction) -> Path:
        """The run directory of a teacher."""
        return self.directory / direction

    def open_backward(self, method: str = "beam", minimum_chrf: float = 0.0) -> BackTranslator:
        """The teacher that makes sources.

        Args:
            method: How it translates.
            minimum_chrf: Of a source that the forward teacher translates back; 0 accepts every source.
        """
        languages = self.recipe.data.languages
        back = RoundTrip(self._open("forward", languages), minimum_chrf) if minimum_chrf else None
        return BackTranslator(self._open("backward", languages[::-1], method), method == NOISED, back)

    def open_forward(self) -> Distiller:
        """The teacher that makes targets."""
        return self._open_distiller(Distillation(teachers=(str(self.path("forward")),)))

    def open_given(self) -> Distiller:
        """The finished teachers that the recipe names, which make targets."""
        return self._open_distiller(self.recipe.distillation)

    def _open_distiller(self, settings: Distillation) -> Distiller:
        return open_distiller(settings, self.recipe.data.languages, self.device)

    def _open(self, direction: Direction, languages: Languages, method: str = "beam") -> Translator:
        teacher = BundleEnsemble.load([str(self.path(direction))], languages)
        return teacher.open_in_int8_if_possible(self.device, **METHODS[method])
