"""The page on the doctor explains every code in the doctor's own words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dragoman.doctor.findings.explanations import ALL

PAGE = Path(__file__).parents[3] / "docs" / "doctor.md"


@pytest.mark.parametrize("code", ALL)
def test_the_page_shows_how_a_finding_reads_what_causes_it_and_how_to_mend_it(code: str) -> None:
    sections = dict(re.findall(r"^### `([\w-]+)`\n(.*?)(?=^##|\Z)", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE))
    assert list(sections) == list(ALL)
    text = " ".join(sections[code].split())
    assert f": {code}: " in text
    assert f"**Cause:** {ALL[code].cause}." in text
    assert f"**Fix:** {ALL[code].fix}." in text


def test_codes_are_never_reused() -> None:
    from dragoman.doctor.findings.explanations import DATA, MODEL, OUTPUT

    assert len(ALL) == len(MODEL) + len(DATA) + len(OUTPUT)
