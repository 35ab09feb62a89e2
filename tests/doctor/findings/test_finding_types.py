"""Every code is documented with exactly the cause and the fix that its findings have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dragoman.doctor.findings.data import DATA_FINDINGS
from dragoman.doctor.findings.finding_types import FINDING_TYPES
from dragoman.doctor.findings.model import MODEL_FINDINGS
from dragoman.doctor.findings.output import OUTPUT_FINDINGS

PAGE = Path(__file__).parents[3] / "docs" / "doctor.md"


@pytest.mark.parametrize("code", FINDING_TYPES)
def test_the_documentation_shows_an_example_the_cause_and_the_fix_of_each_code(code: str) -> None:
    sections = dict(re.findall(r"^### `([\w-]+)`\n(.*?)(?=^##|\Z)", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE))
    assert list(sections) == list(FINDING_TYPES)
    text = " ".join(sections[code].split())
    assert f": {code}: " in text
    assert f"**Cause:** {FINDING_TYPES[code].cause}." in text
    assert f"**Fix:** {FINDING_TYPES[code].fix}." in text


def test_each_code_belongs_to_one_area() -> None:
    assert len(FINDING_TYPES) == len(MODEL_FINDINGS) + len(DATA_FINDINGS) + len(OUTPUT_FINDINGS)
