"""The engine that runs the model with faster modules, on any device."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.engines.protocol import EngineRequest, Ids
from dragoman.engines.scoring import score_targets
from dragoman.engines.step_engine import StepEngine
from dragoman.engines.torch.prefix import PrefixDecoder
from dragoman.kernels import accelerated


def unsupported(request: EngineRequest) -> list[str]:
    """What the engine does not support of the request."""
    return [] if request.compute_type == "float32" else [f"--compute-type {request.compute_type}"]


def open_engine(request: EngineRequest) -> StepEngine:
    """Open the engine of a bundle, with the current weights of its model."""
    bundle, model = request.bundle, accelerated(request.bundle.model, request.device)

    def score(sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        return [each.log_probabilities for each in score_targets(model, bundle, sources, targets)]

    decoder = model if request.decoding.cache else PrefixDecoder(model)
    return StepEngine("torch", decoder, request, request.max_length, score)
