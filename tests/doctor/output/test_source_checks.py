"""Sources and references of an unusual form are reported as such, and the model is not blamed for the translations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

import dragoman
from dragoman.bundle import Bundle
from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor import Finding
from dragoman.doctor.input import describe_text
from dragoman.doctor.output import check
from dragoman.doctor.output.check import check_translator
from dragoman.doctor.output.source_checks import find_unusual_texts

SOURCES, REFERENCES = (list(side) for side in zip(*islice(captions("test"), 120), strict=True))


def encode_wrongly(text: str) -> str:
    return text.replace("n", "ü").encode().decode("latin-1")


def cut(text: str) -> str:
    return " ".join(text.split()[:3])


FORMS: dict[str, Callable[[str], str]] = {
    "capitals": str.upper,
    "encoding": encode_wrongly,
    "length": cut,
    "several-sentences": lambda text: " ".join([text] * 6),
    "single-word": lambda text: max(text.split(), key=len),
    "target-language": lambda text: REFERENCES[SOURCES.index(text)],
}


@pytest.fixture(scope="module")
def translator(finished_run: Path) -> dragoman.Translator:
    """A translator whose bundle describes all captions."""
    sources, targets = (list(side) for side in zip(*captions("train"), strict=True))
    trained = describe_text(sources, targets, ("de", "en"))
    return dragoman.Translator(replace(Bundle.load(finished_run / "bundle"), training_text=trained.model_dump()))


@pytest.mark.parametrize("kind", [kind for kind in FORMS if kind != "target-language"])  # which has another code
def test_unusual_sources_are_reported_instead_of_their_translations(translator: dragoman.Translator, kind: str) -> None:
    texts = [FORMS[kind](text) for text in SOURCES[:10]]
    (finding,) = check_translator(translator, texts, REFERENCES[:10])[:1]
    assert (finding.code, finding.severity) == ("unusual-sources", "error")
    assert finding.measured["kinds"][kind] >= 9
    codes = {each.code for each in check_translator(translator, texts, REFERENCES[:10])}
    assert codes == {"unusual-sources", "few-sentences"}, "nothing is left to blame the model for"


@pytest.mark.parametrize("kind", FORMS)
def test_the_other_lines_are_still_checked(
    translator: dragoman.Translator, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []

    def check_all(_: dragoman.Translator, sources: list[str], *rest: list[str]) -> list[Finding]:
        checked.extend(sources)
        return []

    monkeypatch.setattr(check, "_check_all", check_all)
    count = 70 if kind == "length" else 30
    mixed = [*map(FORMS[kind], SOURCES[:count]), *SOURCES[count:]]
    (finding,) = check_translator(translator, mixed, REFERENCES)
    assert finding.severity == ("error" if kind == "length" else "warning")
    assert set(finding.measured["lines"]) <= set(range(1, count + 1))
    assert checked[-len(SOURCES[count:]) :] == SOURCES[count:]


REFERENCE_DAMAGES: dict[str, Callable[[str], str]] = {
    "cut to half": lambda text: " ".join(text.split()[: len(text.split()) // 2]),
    "doubled": lambda text: f"{text} {text}",
    "joined": lambda text: f"{text} {REFERENCES[0]}",
    "one for all": lambda _: REFERENCES[0],
    "one short one for all": lambda _: "Yes.",
}


@pytest.mark.parametrize("name", REFERENCE_DAMAGES)
def test_unusual_references_are_not_the_fault_of_the_sources(translator: dragoman.Translator, name: str) -> None:
    found = check_translator(translator, SOURCES, list(map(REFERENCE_DAMAGES[name], REFERENCES)))
    assert (found[0].code, found[0].severity) == ("unusual-references", "error")
    assert [finding.code for finding in found].count("unusual-references") == 1
    assert not {"unusual-sources", "shuffled-references", "exposure-gap"} & {finding.code for finding in found}


def test_cut_sources_are_not_the_fault_of_the_references(translator: dragoman.Translator) -> None:
    halves = list(map(REFERENCE_DAMAGES["cut to half"], SOURCES))
    assert find_unusual_texts(translator.bundle, halves, REFERENCES).keys() == {"length"}
    twice = [f"{text[:-1]} {text[:-1]}" for text in SOURCES]  # no end of a sentence inside
    assert "reference-length" not in find_unusual_texts(translator.bundle, twice, REFERENCES)
    cut = [*map(REFERENCE_DAMAGES["cut to half"], REFERENCES[:50]), *REFERENCES[50:]]
    assert not find_unusual_texts(translator.bundle, SOURCES, cut), "a part is no property of the file"


def test_usual_sources_are_not_reported(translator: dragoman.Translator) -> None:
    assert not find_unusual_texts(translator.bundle, SOURCES, REFERENCES)
    assert not find_unusual_texts(translator.bundle, SOURCES, [*REFERENCES[1:], REFERENCES[0]]), "shuffled references"
