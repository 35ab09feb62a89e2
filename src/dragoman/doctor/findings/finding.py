"""A problem that a check found, with its measurements, its likely cause and the usual fix."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Severity = Literal["error", "warning", "note"]
"""``error``: the result is wrong or useless. ``warning``: the result may suffer. ``note``: good to know."""


@dataclass(frozen=True)
class FindingType:
    """What is known about a kind of finding before anything is measured: its usual severity, cause and fix."""

    severity: Severity
    cause: str
    fix: str


@dataclass(frozen=True)
class Finding:
    """A problem that a check found.

    Attributes:
        code: The kind of finding; the meaning of a code never changes.
        severity: How serious the problem is.
        message: What was found and where.
        measured: Measurements and examples, by name.
        cause: The likely cause.
        fix: What to do.
    """

    code: str
    severity: Severity
    message: str
    measured: dict[str, Any]
    cause: str
    fix: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.code}: {self.message}\n  cause: {self.cause}\n  fix: {self.fix}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; infinity and NaN, which JSON does not have, become None."""
        measured = {key: None if _is_not_finite(value) else value for key, value in self.measured.items()}
        return asdict(self) | {"measured": measured}


def _is_not_finite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def is_healthy(findings: Iterable[Finding]) -> bool:
    """Whether no finding is an error."""
    return all(finding.severity != "error" for finding in findings)


def errors_first(findings: Iterable[Finding]) -> list[Finding]:
    """Findings in order of severity: errors, then warnings, then notes."""
    return sorted(findings, key=lambda finding: get_args(Severity).index(finding.severity))
