"""The marks of keyboard accelerators stay with their letters."""

from __future__ import annotations

import pytest

from dragoman.documents.copied_spans import attach_accelerator
from dragoman.text.translation import Translation


@pytest.mark.parametrize(
    ("source", "translated", "attached"),
    [
        ("&Öffnen…", "& Open …", "&Open …"),
        ("_Datei öffnen", "_ Open File", "_Open File"),
        ("Als PDF ~speichern", "Save as ~ PDF", "Save as ~PDF"),
        ("&Öffnen", "&Open", "&Open"),
        ("Öffnen & schließen", "Open & Close", "Open & Close"),
        ("F&E", "R & D", "R & D"),
        ("&Datei &Bearbeiten", "& File & Edit", "& File & Edit"),
        ("&Öffnen", "Open", "Open"),
    ],
)
def test_the_mark_is_before_a_letter(source: str, translated: str, attached: str) -> None:
    assert attach_accelerator(source, Translation(translated)).text == attached
