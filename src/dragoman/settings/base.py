"""The base of every section of settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Probability = Annotated[float, Field(ge=0.0, lt=1.0)]


class Settings(BaseModel):
    """The base of every section: frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    rules: ClassVar[tuple[Callable[[Any], str | None], ...]] = ()

    @model_validator(mode="after")
    def _obey_rules(self) -> Self:
        problems = [problem for rule in self.rules if (problem := rule(self))]
        if problems:
            raise ValueError("; ".join(problems))
        return self
