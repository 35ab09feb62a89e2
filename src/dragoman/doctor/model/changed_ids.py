"""Whether the model changes the ids that it is given."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.probe import Probe


def check_changed_ids(probe: Probe) -> Iterator[Finding]:
    """Report what the calls of all other checks have recorded: the model got copies, which must still be equal."""
    sides = sorted(probe.changed_ids)
    if sides:
        yield make_finding(
            "changed-ids", f"forward changes the {' and '.join(sides)} ids that it is given", {"sides": sides}
        )
