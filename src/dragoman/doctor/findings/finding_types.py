"""All kinds of findings by code, and how to create a finding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.doctor.findings.data import DATA_FINDINGS
from dragoman.doctor.findings.finding import Finding, FindingType, Severity
from dragoman.doctor.findings.model import MODEL_FINDINGS
from dragoman.doctor.findings.output import OUTPUT_FINDINGS

FINDING_TYPES: dict[str, FindingType] = MODEL_FINDINGS | DATA_FINDINGS | OUTPUT_FINDINGS


def make_finding(
    code: str,
    message: str,
    measured: Mapping[str, Any],
    *,
    severity: Severity | None = None,
    cause: str | None = None,
    fix: str | None = None,
) -> Finding:
    """Create a finding with the cause and the fix that are known for its code.

    Args:
        code: A key of `FINDING_TYPES`.
        message: What was found and where.
        measured: Measurements and examples, by name.
        severity: Replaces the usual severity of the code.
        cause: Replaces the usual cause of the code.
        fix: Replaces the usual fix of the code.
    """
    usual = FINDING_TYPES[code]
    return Finding(
        code,
        severity or usual.severity,
        message,
        dict(measured),
        cause or usual.cause,
        fix or usual.fix,
        usual.tested,
        usual.effect,
        f"docs/findings.md#{code}" + (f", chapter {usual.chapter} of the course" if usual.chapter else ""),
    )
