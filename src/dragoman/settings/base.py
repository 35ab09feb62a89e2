"""The base class of all sections of settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dragoman.errors import UserError, nearest

Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
SEEDS = 2**63
"""Number of seeds."""

Seed = Annotated[int, Field(ge=0, lt=SEEDS)]


class Rule(NamedTuple):
    """A condition on several keys.

    Attributes:
        breaks: Whether settings break the rule; values that are missing or invalid raise AttributeError.
        problem: What is wrong then, with values such as ``{0.heads}``.
    """

    breaks: Callable[[Any], object]
    problem: str

    def __call__(self, settings: Any) -> str | None:
        """The problem of settings that break the rule."""
        return self.problem.format(settings) if self.breaks(settings) else None


class Settings(BaseModel):
    """Base class of all sections: immutable, rejects unknown keys, checks the section's rules.

    Raises:
        UserError: A key is unknown, missing or invalid, or a rule is broken; all problems are reported together.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    rules: ClassVar[tuple[Rule | Callable[[Any], str | None], ...]] = ()

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise UserError("\n  ".join(_problems(type(self), error))) from None

    # pydantic would call any other __init__ while it validates a recipe, so that only the first problem is found
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        problems = [problem for rule in self.rules if (problem := rule(self))]
        if problems:
            raise ValueError("; ".join(problems))
        return self


def _problems(section: type[Settings], error: ValidationError) -> Iterator[str]:
    """A line for each problem, such as ``Decoding: beam: unknown key; did you mean 'beam_size'?``."""
    for detail in error.errors(include_url=False):
        place = ": ".join(filter(None, (section.__name__, ".".join(map(str, detail["loc"])))))
        if detail["type"] == "extra_forbidden":
            yield f"{place}: unknown key{nearest(str(detail['loc'][-1]), section.model_fields)}"
        else:
            yield f"{place}: {detail['msg'].removeprefix('Value error, ')}"


def advanced(default: Any, **options: Any) -> Any:
    """A setting that few users need; documentation and help list it after the others."""
    return Field(default, json_schema_extra={"advanced": True}, **options)
