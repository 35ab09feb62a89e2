"""Choosing and opening an engine: the same for Python, the command line and the server."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast, get_args

from dragoman.engines.protocol import NOT_IMPORTED, ComputeType, Engine, EngineRequest
from dragoman.errors import UserError, nearest

ENGINES = {
    "ctranslate2": "dragoman.engines.ctranslate2.engine",
    "torch": "dragoman.engines.torch_engine",
}
"""Engines in order of preference, with the module that has `unsupported(request)` and `open_engine(request)`."""

FORMER = {"cpu": "torch"}
"""Names of engines of earlier versions, with the engine that does their work now."""


@dataclass(frozen=True)
class Choice:
    """The chosen engine, and the reasons against each engine before it in `ENGINES`."""

    name: str
    rejected: dict[str, list[str]]

    def __str__(self) -> str:
        reasons = [f"{name} does not support {', '.join(what)}" for name, what in self.rejected.items()]
        return f"{self.name} ({'; '.join(reasons)})" if reasons else self.name


Announce = Callable[[Choice], None]
"""Receives the choice that is made, for `--verbose`."""


def choose(request: EngineRequest, name: str | None = None) -> Choice:
    """The first engine in `ENGINES` that supports the request, or the engine with this name.

    Raises:
        UserError: There is no such engine or data type, or the engine does not support the request.
    """
    if name in FORMER:
        warnings.warn(f"the engine {name} is a part of the engine {FORMER[name]} now, which is used", stacklevel=2)
        name = FORMER[name]
    if name is not None and (not isinstance(name, str) or name not in ENGINES):
        hint = nearest(str(name), ENGINES)
        raise UserError(f"engine {str(name)!r}: no such engine; choose from {', '.join(ENGINES)}{hint}")
    if request.compute_type not in (types := get_args(ComputeType)):
        raise UserError(f"compute_type = {request.compute_type!r}: choose from {', '.join(types)}")
    rejected: dict[str, list[str]] = {}
    for candidate in ENGINES if name is None else (name,):
        reasons = _module(candidate).unsupported(request)
        if not reasons:
            for other, why in rejected.items():
                if why[0].startswith(NOT_IMPORTED):
                    message = f"{candidate} translates, because {other}, which is faster, does not support {why[0]}"
                    warnings.warn(message, stacklevel=2)
            return Choice(candidate, rejected)
        rejected[candidate] = reasons
    raise UserError("\n  ".join(_refusal(rejected)))


def open_engine(request: EngineRequest, name: str | None = None, announce: Announce | None = None) -> Engine:
    """Open the engine that `choose` returns.

    Raises:
        UserError: There is no such engine, or it cannot be opened.
    """
    choice = choose(request, name)
    if announce is not None:
        announce(choice)
    return cast(Engine, _module(choice.name).open_engine(request))


def _module(name: str) -> Any:
    return import_module(ENGINES[name])


def _refusal(rejected: dict[str, list[str]]) -> list[str]:
    if len(rejected) == 1:
        ((name, reasons),) = rejected.items()
        return [f"the engine {name} does not support {', '.join(reasons)}"]
    lines = [f"{name} does not support {', '.join(reasons)}" for name, reasons in rejected.items()]
    return ["no engine can translate with these settings:", *lines]
