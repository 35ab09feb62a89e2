"""The base class of all sections of settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]


class Settings(BaseModel):
    """Base class of all sections: immutable, rejects unknown keys, checks the section's rules."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    rules: ClassVar[tuple[Callable[[Any], str | None], ...]] = ()

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        problems = [problem for rule in self.rules if (problem := rule(self))]
        if problems:
            raise ValueError("; ".join(problems))
        return self


def advanced(default: Any, **options: Any) -> Any:
    """A setting that few users need; documentation and help list it after the others."""
    return Field(default, json_schema_extra={"advanced": True}, **options)
