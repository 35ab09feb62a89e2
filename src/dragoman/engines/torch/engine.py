"""The engine that runs the model with faster modules, on any device."""

from __future__ import annotations

import torch

from dragoman.engines.nearest_neighbors.decoder import with_neighbors
from dragoman.engines.protocol import EngineRequest
from dragoman.engines.step_engine import StepEngine
from dragoman.engines.torch.preallocated import PreallocatedDecoder
from dragoman.engines.torch.prefix import PrefixDecoder
from dragoman.kernels import accelerated, supports_unpadded
from dragoman.model.transformer import Transformer
from dragoman.search.hypothesis import Decoder


def unsupported(request: EngineRequest) -> list[str]:
    """What the engine does not support of the request."""
    on_gpu, weights = request.device.type == "cuda", request.weight_type
    neighbors = request.decoding.neighbors is not None
    reasons = {
        f"--compute-type {weights}": weights not in ("float32", "bfloat16"),
        f"--compute-type bfloat16 on the device {request.device}": weights == "bfloat16" and not on_gpu,
        "decoding.neighbors without decoding.cache": neighbors and not request.decoding.cache,
    }
    return [reason for reason, met in reasons.items() if met]


def open_engine(request: EngineRequest) -> StepEngine:
    """Open the engine of a bundle, with the current weights of its model."""
    dtype = torch.bfloat16 if request.weight_type == "bfloat16" else None
    model = accelerated(request.bundle.model, request.device, dtype)
    return StepEngine("torch", _decoder(model, request), request, request.max_length, None if dtype else model)


def _decoder(model: Transformer, request: EngineRequest) -> Decoder:
    if not request.decoding.cache:
        return PrefixDecoder(model)
    if request.decoding.neighbors is not None:
        return with_neighbors(model, request)
    return PreallocatedDecoder(model) if supports_unpadded(model) else model
