"""A problem that a check found, with its measurements, its likely cause and the usual fix."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Literal, get_args

from dragoman.errors import escape_controls

Severity = Literal["error", "warning", "note"]
"""``error``: the result is wrong or useless. ``warning``: the result may suffer. ``note``: good to know."""


@dataclass(frozen=True)
class FindingType:
    """What is known about a kind of finding before anything is measured: its usual severity, cause and fix.

    Attributes:
        severity: How serious the problem is.
        cause: The likely cause.
        fix: What to do.
        tested: How it was tested.
        effect: What it does to translations.
        chapter: The chapter of the course about it; 0 for none.
        example: A message, without the name of the corpus; empty if the report words it.
        details: What else the reference of findings says, as Markdown.
    """

    severity: Severity
    cause: str
    fix: str
    tested: str = ""
    effect: str = ""
    chapter: int = 0
    example: str = ""
    details: str = ""


_DETAILS = ("cause", "fix", "tested", "effect", "read")
_COLORS = {"error": 31, "warning": 33, "note": 36}
"""Of a terminal: red, yellow, cyan."""


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
        tested: How it was tested; empty if the message says it.
        effect: What it does to translations; empty if the message says it.
        read: Where to read more.
    """

    code: str
    severity: Severity
    message: str
    measured: dict[str, Any]
    cause: str
    fix: str
    tested: str = ""
    effect: str = ""
    read: str = ""

    def __str__(self) -> str:
        return self.shown(color=False)

    def shown(self, color: bool) -> str:
        """The finding as text, with colors of a terminal or without."""
        severity = f"\x1b[1;{_COLORS[self.severity]}m{self.severity}\x1b[0m" if color else self.severity
        lines = [f"{severity}: {self.code}: {escape_controls(self.message)}"]  # it may contain names of the user
        for name in _DETAILS:
            if text := escape_controls(getattr(self, name)):
                lines.append(f"  \x1b[2m{name}:\x1b[0m {text}" if color else f"  {name}: {text}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; infinity and NaN, which JSON does not have, become None."""
        measured = {key: None if _is_not_finite(value) else value for key, value in self.measured.items()}
        return asdict(self) | {"measured": measured}


def _is_not_finite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


class Findings(list[Finding]):
    """Findings that print as text, and that notebooks show as a table."""

    def __str__(self) -> str:
        return "\n\n".join(map(str, self)) or "no problems found"

    def _repr_html_(self) -> str:
        """A table for Jupyter, with one row for each finding."""
        if not self:
            return "<p>no problems found</p>"
        rows = []
        for each in self:
            details = "".join(
                f"<dt><i>{name}</i></dt><dd>{escape(text)}</dd>" for name in _DETAILS if (text := getattr(each, name))
            )
            rows.append(
                f'<tr><td style="vertical-align: top">{each.severity}</td>'
                f'<td style="vertical-align: top"><code>{escape(each.code)}</code></td>'
                f'<td style="text-align: left"><b>{escape(each.message)}</b><dl>{details}</dl></td></tr>'
            )
        return f"<table><tr><th>severity</th><th>code</th><th>finding</th></tr>{''.join(rows)}</table>"


def is_healthy(findings: Iterable[Finding]) -> bool:
    """Whether no finding is an error."""
    return all(finding.severity != "error" for finding in findings)


def errors_first(findings: Iterable[Finding]) -> list[Finding]:
    """Findings in order of severity: errors, then warnings, then notes."""
    return sorted(findings, key=lambda finding: get_args(Severity).index(finding.severity))
