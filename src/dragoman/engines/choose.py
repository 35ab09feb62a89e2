"""Choosing and opening an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast, get_args

from dragoman.bundle import Bundle
from dragoman.engines.ensemble import check_tokenizers, open_ensemble
from dragoman.engines.protocol import ComputeType, Engine, EngineRequest
from dragoman.engines.step_engine import StepEngine
from dragoman.errors import UserError, nearest
from dragoman.kernels.operators import HAS_INT8_MATMUL

ENGINES = {
    "ctranslate2": "dragoman.engines.ctranslate2.engine",
    "cpu": "dragoman.engines.cpu.engine",
    "torch": "dragoman.engines.torch.engine",
}
"""Engines in order of preference, with the module that has `unsupported(request)` and `open_engine(request)`."""


@dataclass(frozen=True)
class Choice:
    """The chosen engine, and the reasons against each engine before it in `ENGINES`."""

    name: str
    rejected: dict[str, list[str]]

    def __str__(self) -> str:
        reasons = [f"{name} does not support {', '.join(what)}" for name, what in self.rejected.items()]
        return f"{self.name} ({'; '.join(reasons)})" if reasons else self.name


Announce = Callable[[Choice], None]
"""Receives each choice that is made, for `--verbose`."""


def choose(request: EngineRequest, name: str | None = None) -> Choice:
    """The first engine in `ENGINES` that supports the request, or the engine with this name.

    Raises:
        UserError: There is no such engine or data type, or the engine does not support the request.
    """
    if name is not None and (not isinstance(name, str) or name not in ENGINES):
        hint = nearest(str(name), ENGINES)
        raise UserError(f"engine {str(name)!r}: no such engine; choose from {', '.join(ENGINES)}{hint}")
    if request.compute_type not in (types := get_args(ComputeType)):
        raise UserError(f"compute_type = {request.compute_type!r}: choose from {', '.join(types)}")
    rejected: dict[str, list[str]] = {}
    for candidate in ENGINES if name is None else (name,):
        reasons = _module(candidate).unsupported(request)
        if not reasons:
            return Choice(candidate, rejected)
        rejected[candidate] = reasons
    raise UserError("\n  ".join(_refusal(rejected)))


def computes_in_int8(request: EngineRequest, others: Sequence[Bundle] = ()) -> bool:
    """Whether an engine computes in int8 on the CPU for a request that asks for it, alone or in an ensemble."""
    if request.device.type != "cpu":
        return False
    requests = [request.for_member(bundle) for bundle in (request.bundle, *others)] if others else [request]
    try:
        names = {choose(each).name for each in requests}
    except UserError:  # no engine supports it
        return False
    return "cpu" not in names or HAS_INT8_MATMUL  # without, the engine cpu computes in float32


def open_engine(request: EngineRequest, name: str | None = None, announce: Announce | None = None) -> Engine:
    """Open the engine that `choose` returns.

    Raises:
        UserError: There is no such engine, or it cannot be opened.
    """
    choice = choose(request, name)
    if announce is not None:
        announce(choice)
    return cast(Engine, _module(choice.name).open_engine(request))


def open_with_ensemble(
    request: EngineRequest, others: Sequence[Bundle], name: str | None = None, announce: Announce | None = None
) -> Engine:
    """Open an engine that averages the predictions of a bundle and of other bundles; each has its own choice.

    Raises:
        UserError: Their tokenizers differ, or no engine can translate with an ensemble.
    """
    check_tokenizers(request.bundle, others)
    members = []
    for bundle in (request.bundle, *others):
        member = open_engine(request.for_member(bundle), name, announce)
        assert isinstance(member, StepEngine), "engines that need a bundle on disk are refused"
        members.append(member)
    return open_ensemble(request, members)


def _module(name: str) -> Any:
    return import_module(ENGINES[name])


def _refusal(rejected: dict[str, list[str]]) -> list[str]:
    if len(rejected) == 1:
        ((name, reasons),) = rejected.items()
        return [f"the engine {name} does not support {', '.join(reasons)}"]
    lines = [f"{name} does not support {', '.join(reasons)}" for name, reasons in rejected.items()]
    return ["no engine can translate with these settings:", *lines]
