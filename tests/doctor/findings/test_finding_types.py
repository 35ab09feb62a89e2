"""Each code belongs to one area, and the page of all codes is generated from their tables."""

from __future__ import annotations

import runpy
from pathlib import Path

from dragoman.doctor.findings.data import DATA_FINDINGS
from dragoman.doctor.findings.finding_types import FINDING_TYPES
from dragoman.doctor.findings.model import MODEL_FINDINGS
from dragoman.doctor.findings.output import OUTPUT_FINDINGS

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_of_findings_is_up_to_date() -> None:
    rendered = runpy.run_path(str(DOCS / "generate_findings.py"))["render"]()
    assert (DOCS / "findings.md").read_text(encoding="utf-8") == rendered, "run make docs"


def test_each_code_belongs_to_one_area() -> None:
    assert len(FINDING_TYPES) == len(MODEL_FINDINGS) + len(DATA_FINDINGS) + len(OUTPUT_FINDINGS)
