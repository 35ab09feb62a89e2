"""Writes docs/findings.md from the tables in src/dragoman/doctor/findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from dragoman.doctor.data.report import PROBLEMS
from dragoman.doctor.findings.data import DATA_FINDINGS
from dragoman.doctor.findings.finding import FindingType
from dragoman.doctor.findings.model import MODEL_FINDINGS
from dragoman.doctor.findings.output import OUTPUT_FINDINGS

PREFACE = """\
# Findings of the doctor

<!-- Written by `make docs` from src/dragoman/doctor/findings; edit the texts there. -->

All findings of the [doctor](doctor.md), with an example of the message. The severity is the usual one.
"""

AREAS: dict[str, tuple[str, Mapping[str, FindingType]]] = {
    "Model": (
        "Of `doctor model`, `examine`, `examine_loss` (codes with loss) and `examine_search` (codes with search).",
        MODEL_FINDINGS,
    ),
    "Data": (
        "Of `doctor data`. A message begins with the corpus and ends with the texts of the first pair, both "
        "left out here. A warning about less than 1% of the pairs is only a note.",
        DATA_FINDINGS,
    ),
    "Output": ("Of `doctor output`.", OUTPUT_FINDINGS),
}


def render() -> str:
    """The whole page."""
    return "\n".join([PREFACE, *(part for area in AREAS for part in _area(area))])


def _area(heading: str) -> Iterator[str]:
    about, findings = AREAS[heading]
    yield f"## {heading}\n\n{about}\n"
    for code, each in findings.items():
        yield from _finding(code, each)


def _finding(code: str, each: FindingType) -> Iterator[str]:
    yield f"### `{code}`\n"
    example = each.example or f"22 pairs {PROBLEMS[code]} (1.10% of 2,000): lines 8, 9, 801, 1,201, 1,202, …"
    yield f"```text\n{each.severity}: {code}: {example}\n```\n"
    texts = {"Cause": each.cause, "Fix": each.fix, "Tested": each.tested, "Effect": each.effect}
    rows = {name: text.replace("__", r"\_\_") for name, text in texts.items()}  # __init__ is not bold
    if each.chapter:
        rows["Course"] = f"chapter {each.chapter}"
    yield "\n".join(f"- **{name}:** {text}" for name, text in rows.items() if text) + "\n"
    if each.details:
        yield f"{each.details}\n"


if __name__ == "__main__":
    (Path(__file__).parent / "findings.md").write_text(render(), encoding="utf-8", newline="\n")
