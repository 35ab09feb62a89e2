"""What an engine is, and what is asked of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

import torch

from dragoman.bundle import Bundle
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.trace import BeamTrace
from dragoman.settings import Decoding

Ids = Sequence[int]
"""The token ids of a sentence, without bos and eos."""

ComputeType = Literal["float32", "int8"]


class Engine(Protocol):
    """Source ids in, hypotheses out."""

    @property
    def name(self) -> str:
        """The engine's name in `ENGINES`, or 'ensemble'."""
        ...

    @property
    def max_length(self) -> int:
        """Most tokens of a sentence that the engine can read or write, eos included."""
        ...

    def translate(
        self, sources: Sequence[Ids], prefixes: Sequence[Ids] | None = None, trace: BeamTrace | None = None
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, best first; all samples with minimum Bayes risk.

        Args:
            sources: At least one id each, at most the model's limit.
            prefixes: What each translation must begin with.
            trace: Records the beam search.

        Raises:
            UserError: The engine cannot record its search.
        """
        ...

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        """Log-probabilities of the tokens of each given target, and of its end."""
        ...


@dataclass(frozen=True)
class EngineRequest:
    """What an engine is needed for.

    Args:
        bundle: The translator.
        decoding: Settings of the search.
        device: Where to compute.
        path: The bundle's directory, if it was read from disk.
        compute_type: Arithmetic of the engine.
        token_scores: Whether hypotheses need log-probabilities of their tokens.
        trace: Whether the beam search is to be recorded.
        scoring: Whether given translations are to be scored.
        in_ensemble: Whether the bundle is one of several that translate together.
    """

    bundle: Bundle
    decoding: Decoding
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    path: Path | None = None
    compute_type: ComputeType = "float32"
    token_scores: bool = True
    trace: bool = False
    scoring: bool = False
    in_ensemble: bool = False

    @property
    def max_length(self) -> int:
        """Most tokens of a sentence that the model can read or write, eos included."""
        return self.bundle.recipe.model.max_length

    def for_member(self, bundle: Bundle) -> EngineRequest:
        """The same for another bundle of an ensemble."""
        return replace(self, bundle=bundle, in_ensemble=True)
