"""A part of the references that belongs to other sources is found, and its lines are named."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import pytest

import dragoman
from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.output import reference_stretches
from dragoman.doctor.output.reference_stretches import check_reference_stretches

SIZE = 120
SOURCES, REFERENCES = (list(side) for side in zip(*islice(captions("test"), SIZE), strict=True))
LINES = [2 * number for number in range(1, SIZE + 1)]


def score_by_shared_position(bundle: object, sources: list[str], texts: list[str]) -> list[float]:
    """Scores of a good model: a text is much more probable with the source that it translates."""
    generator = random.Random(1)
    scores = []
    for source, text in zip(sources, texts, strict=True):
        matches = REFERENCES[SOURCES.index(source)] == text
        scores.append(generator.gauss(-20.0 if matches else -100.0, 6.0))
    return scores


def find(translator: dragoman.Translator, references: list[str], translations: list[str]) -> list[Finding]:
    return list(check_reference_stretches(translator, SOURCES, references, translations, LINES))


@pytest.fixture
def good_model(finished_run: Path, monkeypatch: pytest.MonkeyPatch) -> dragoman.Translator:
    monkeypatch.setattr(reference_stretches, "score_references", score_by_shared_position)
    return dragoman.load(finished_run)


@pytest.mark.parametrize(("first", "last"), [(60, SIZE), (0, 60), (40, 70)])
def test_a_shuffled_part_is_found(good_model: dragoman.Translator, first: int, last: int) -> None:
    part = REFERENCES[first:last]
    (finding,) = find(good_model, [*REFERENCES[:first], *part[1:], part[0], *REFERENCES[last:]], REFERENCES)
    assert (finding.code, finding.severity) == ("shuffled-references", "error")
    (stretch,) = finding.measured["stretches"]
    assert stretch["first"] == pytest.approx(LINES[first], abs=6)
    assert stretch["last"] == pytest.approx(LINES[last - 1], abs=6)


def test_ordered_references_have_no_findings(good_model: dragoman.Translator) -> None:
    assert not find(good_model, REFERENCES, REFERENCES)
    swapped = [*REFERENCES[:50], *REFERENCES[55:50:-1], REFERENCES[50], *REFERENCES[56:]]
    assert not find(good_model, swapped, REFERENCES), "too few lines"


def test_the_model_must_use_the_sources_of_the_stretch(good_model: dragoman.Translator) -> None:
    shuffled = [*REFERENCES[:60], *REFERENCES[61:], REFERENCES[60]]
    assert find(good_model, shuffled, REFERENCES)
    assert not find(good_model, shuffled, shuffled), "translations that do not depend on the sources"


def test_an_untrained_model_shows_nothing(finished_run: Path) -> None:
    translator = dragoman.load(finished_run)
    assert not find(translator, [*REFERENCES[:60], *REFERENCES[61:], REFERENCES[60]], REFERENCES)
