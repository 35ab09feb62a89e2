"""Which engine translates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from dragoman.bundle import Bundle
from dragoman.engines.ensemble import check_tokenizers, open_ensemble
from dragoman.engines.protocol import Engine, EngineRequest
from dragoman.engines.step_engine import StepEngine
from dragoman.errors import UserError, nearest

ENGINES = {
    "ctranslate2": "dragoman.engines.ctranslate2.engine",
    "cpu": "dragoman.engines.cpu.engine",
    "torch": "dragoman.engines.torch.engine",
}
"""Engines in order of preference, with the module that has `unsupported(request)` and `open_engine(request)`."""


@dataclass(frozen=True)
class Choice:
    """An engine, and why not one that comes before it: what each of those does not support."""

    name: str
    passed_over: dict[str, list[str]]

    def __str__(self) -> str:
        reasons = [f"{name} does not support {', '.join(what)}" for name, what in self.passed_over.items()]
        return f"{self.name} ({'; '.join(reasons)})" if reasons else self.name


def choose(request: EngineRequest, name: str | None = None) -> Choice:
    """The first engine that can do what is asked, or the engine with this name.

    Raises:
        UserError: There is no such engine, or it cannot do what is asked.
    """
    if name is not None and name not in ENGINES:
        raise UserError(f"--engine {name}: no such engine; there are {', '.join(ENGINES)}{nearest(name, ENGINES)}")
    passed_over: dict[str, list[str]] = {}
    for candidate in ENGINES if name is None else (name,):
        reasons = _module(candidate).unsupported(request)
        if not reasons:
            return Choice(candidate, passed_over)
        passed_over[candidate] = reasons
    raise UserError("\n  ".join(_refusal(passed_over)))


def open_engine(request: EngineRequest, name: str | None = None) -> Engine:
    """The engine that `choose` returns, ready to translate.

    Raises:
        UserError: There is none, or it cannot be opened.
    """
    return cast(Engine, _module(choose(request, name).name).open_engine(request))


def open_with_ensemble(request: EngineRequest, others: Sequence[Bundle], name: str | None = None) -> Engine:
    """The engine for a bundle together with other bundles, whose predictions are averaged.

    Raises:
        UserError: Their tokenizers differ, or no engine can translate with an ensemble.
    """
    check_tokenizers(request.bundle, others)
    members = []
    for bundle in (request.bundle, *others):
        member = open_engine(request.for_member(bundle), name)
        assert isinstance(member, StepEngine), "engines that need a bundle on disk are refused"
        members.append(member)
    return open_ensemble(request, members)


def _module(name: str) -> Any:
    return import_module(ENGINES[name])


def _refusal(passed_over: dict[str, list[str]]) -> list[str]:
    if len(passed_over) == 1:
        ((name, reasons),) = passed_over.items()
        return [f"the engine {name} does not support {', '.join(reasons)}"]
    lines = [f"{name} does not support {', '.join(reasons)}" for name, reasons in passed_over.items()]
    return ["no engine can translate with these settings:", *lines]
