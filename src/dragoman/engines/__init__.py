"""Engines: source ids in, hypotheses out."""

from dragoman.engines.choose import ENGINES, Choice, choose, open_engine
from dragoman.engines.protocol import Engine, EngineRequest

__all__ = ["ENGINES", "Choice", "Engine", "EngineRequest", "choose", "open_engine"]
