"""What the doctor says: a finding, with the numbers that show it, its likely cause and the usual fix."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
"""An error spoils what comes of it, a warning may, and a note is good to know."""


@dataclass(frozen=True)
class Explanation:
    """What is known of a code before anything is measured."""

    severity: Severity
    cause: str
    fix: str


@dataclass(frozen=True)
class Finding:
    """Something that is wrong; `code` never changes its meaning, `measured` holds numbers and examples."""

    code: str
    severity: Severity
    message: str
    measured: dict[str, Any]
    cause: str
    fix: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.code}: {self.message}\n  cause: {self.cause}\n  fix: {self.fix}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, which has no infinity."""
        data = asdict(self)
        finite = {key: None if _is_infinite(value) else value for key, value in self.measured.items()}
        return data | {"measured": finite}


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def is_healthy(findings: Iterable[Finding]) -> bool:
    """Whether no finding is an error."""
    return all(finding.severity != "error" for finding in findings)
