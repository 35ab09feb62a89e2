"""Findings as text, as JSON and in order."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from dragoman.doctor.findings.finding import errors_first, is_healthy
from dragoman.doctor.findings.finding_types import FINDING_TYPES, make_finding

FINDING = make_finding("overflow", "the loss is infinite", {"loss": math.inf, "rows": [1, 2]})


def test_a_finding_has_the_usual_severity_cause_and_fix_of_its_code() -> None:
    usual = FINDING_TYPES["overflow"]
    assert (FINDING.severity, FINDING.cause, FINDING.fix) == (usual.severity, usual.cause, usual.fix)
    special = make_finding("overflow", "", {}, severity="note", cause="another cause")
    assert (special.severity, special.cause, special.fix) == ("note", "another cause", usual.fix)
    assert str(FINDING).splitlines() == [
        "error: overflow: the loss is infinite",
        f"  cause: {usual.cause}",
        f"  fix: {usual.fix}",
        f"  tested: {usual.tested}",
        f"  effect: {usual.effect}",
        "  read: docs/findings.md#overflow, chapter 5 of the course",
    ]


def test_json_has_no_infinity() -> None:
    data = json.loads(json.dumps(FINDING.to_dict(), allow_nan=False))
    assert data["measured"] == {"loss": None, "rows": [1, 2]}
    assert data["code"] == "overflow"


def test_errors_come_first_and_only_errors_are_unhealthy() -> None:
    note, warning = replace(FINDING, severity="note"), replace(FINDING, severity="warning")
    assert errors_first([note, warning, FINDING]) == [FINDING, warning, note]
    assert is_healthy([note, warning])
    assert not is_healthy([note, warning, FINDING])
