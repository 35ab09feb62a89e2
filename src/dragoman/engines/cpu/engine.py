"""The engine for float32 and int8 on CPUs with AVX-512, by oneDNN."""

from __future__ import annotations

import warnings
from dataclasses import replace

import torch

from dragoman.engines.cpu.decoder import PrepackedDecoder
from dragoman.engines.cpu.int8 import Int8Linear
from dragoman.engines.cpu.linear import PrepackedLinear
from dragoman.engines.nearest_neighbors.decoder import with_neighbors
from dragoman.engines.protocol import EngineRequest
from dragoman.engines.step_engine import StepEngine
from dragoman.kernels import accelerated
from dragoman.kernels.operators import HAS_INT8_MATMUL, HAS_ONEDNN_LINEAR

SUPPORTED_POSITIONS = ("sinusoidal", "fairseq", "learned", "rotary")


def unsupported(request: EngineRequest) -> list[str]:
    """What the engine does not support of the request, or lacks on this machine."""
    model = request.bundle.recipe.model
    reasons = {
        "CPUs without AVX-512, or builds of torch without oneDNN": not HAS_ONEDNN_LINEAR,
        f"the device {request.device}": request.device.type != "cpu",
        f"--compute-type {request.weight_type}": request.weight_type not in ("float32", "int8"),
        "decoding.cache = false": not request.decoding.cache,
        f"model.implementation = {model.implementation!r}": model.implementation != "dragoman",
        f"model.positions = {model.positions!r}": model.positions not in SUPPORTED_POSITIONS,
        "weights that are not float32": any(
            weight.dtype != torch.float32 for weight in request.bundle.model.parameters()
        ),
    }
    return [reason for reason, met in reasons.items() if met]


def open_engine(request: EngineRequest) -> StepEngine:
    """Open the engine of a bundle, with the current weights of its model."""
    model, request = accelerated(request.bundle.model, request.device), _without_slow_int8(request)
    decoder = PrepackedDecoder(model, Int8Linear if request.weight_type == "int8" else PrepackedLinear)
    return StepEngine("cpu", with_neighbors(decoder, request), request, request.max_length, model)


def _without_slow_int8(request: EngineRequest) -> EngineRequest:
    """The request, with float32 in place of int8 that would be slow on this machine."""
    if request.weight_type != "int8" or HAS_INT8_MATMUL:
        return request
    reason = "this processor has no instructions for int8 (AVX-512 VNNI), or this build of torch does not use them"
    warnings.warn(f"the engine cpu computes in float32, because {reason}", stacklevel=2)
    return replace(request, compute_type="float32")
