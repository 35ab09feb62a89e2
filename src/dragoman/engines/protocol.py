"""The interface of engines, and requests for an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import torch

from dragoman.bundle import Bundle
from dragoman.engines.scoring import Ids, TargetScores
from dragoman.model.transformer import Transformer
from dragoman.search.hypothesis import BeamTrace, Hypothesis
from dragoman.settings import Decoding
from dragoman.system.device import compute_dtype

Copies = Mapping[int, int]
"""The ids of reserved tokens in the target vocabulary, and how often a translation must contain each."""

ComputeType = Literal["auto", "float32", "bfloat16", "int8"]
"""Data types of an engine's weights; auto is bfloat16 on a GPU that supports it, otherwise float32."""

NOT_IMPORTED = "this environment, because its package cannot be imported"
"""How a reason against an engine begins; if another engine translates because of it, a warning says so."""


class Engine(Protocol):
    """Source ids in, hypotheses out."""

    @property
    def name(self) -> str:
        """The engine's name in `ENGINES`, or 'ensemble'."""
        ...

    @property
    def max_length(self) -> int:
        """Maximum length of sources and translations in tokens, eos included."""
        ...

    @property
    def weight_type(self) -> ComputeType:
        """Data type of the weights and matrix products."""
        ...

    @property
    def model(self) -> Transformer:
        """The bundle's model in evaluation mode, not in half precision, on the engine's device; shared by threads.

        Of an ensemble, the model of the first bundle.
        """
        ...

    def translate(
        self,
        sources: Sequence[Ids],
        prefixes: Sequence[Ids] | None = None,
        trace: BeamTrace | None = None,
        copies: Sequence[Copies] | None = None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, best first; all samples with minimum Bayes risk.

        Args:
            sources: Ids of each sentence, at least one and at most max_length - 1.
            prefixes: Ids that each translation must begin with.
            trace: Records the beam search.
            copies: Reserved tokens that the translations of each sentence must contain; they contain no others.
        """
        ...

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[TargetScores]:
        """The probabilities of given translations, in float32, each token given the tokens before it.

        Unknown words have the probability of unk. Every engine computes this by `score_targets`.

        Args:
            sources: Ids of each source, at most max_length - 1.
            targets: Ids of the target of each source, at most max_length - 1.
        """
        ...


@dataclass(frozen=True)
class EngineRequest:
    """What an engine must support.

    Args:
        bundle: The translator.
        decoding: Settings of the search.
        device: Where to compute.
        path: The bundle's directory, if it was read from disk and has the same weights.
        compute_type: Data type of the engine's weights and matrix products, see `weight_type`.
        token_scores: Whether hypotheses need log-probabilities of their tokens.
        ensemble: More bundles with the same tokenizers; the predictions of all models are averaged.
        threads: How many threads an engine with its own threads has; by default as many as torch.
    """

    bundle: Bundle
    decoding: Decoding
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    path: Path | None = None
    compute_type: ComputeType = "auto"
    token_scores: bool = True
    ensemble: Sequence[Bundle] = ()
    threads: int | None = None

    @property
    def max_length(self) -> int:
        """Maximum length of sources and translations in tokens, eos included."""
        return self.bundle.recipe.model.max_length

    @property
    def weight_type(self) -> ComputeType:
        """The compute type, with the data type that 'auto' selects on the device."""
        if self.compute_type != "auto":
            return self.compute_type
        half = self.device.type == "cuda" and compute_dtype("auto", self.device) == torch.bfloat16
        return "bfloat16" if half else "float32"
