"""Wrong files lead to a finding that names the cause, and correct files to none."""

from __future__ import annotations

from itertools import islice, permutations

import pytest
from many_bundles import make_many, texts

from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor.output.input_checks import check_empty_lines, check_few_sentences, check_languages_of_files
from dragoman.settings import Data

GERMAN, ENGLISH = (list(side) for side in zip(*islice(captions("test"), 60), strict=True))
FRENCH = ["Le chien est dans la maison et les enfants sont avec une femme qui lit un livre pour eux."] * 60
HINDI = ["यह एक छोटा घर है और बच्चे बगीचे में खेल रहे हैं"] * 60
UNKNOWN = ["lorem ipsum dolor sit amet consectetur adipiscing"] * 60


def find(
    source_language: str, target_language: str, sources: list[str], references: list[str]
) -> list[tuple[str, str]]:
    data = Data(source_language=source_language, target_language=target_language, train=["corpus"])
    findings = check_languages_of_files(data, sources, references)
    return [(finding.code, finding.measured.get("side", "")) for finding in findings]


def test_files_in_the_right_languages_have_no_findings() -> None:
    assert not find("de", "en", GERMAN, ENGLISH)
    assert not find("hi", "en", HINDI, ENGLISH)
    assert not find("xx", "en", UNKNOWN, ENGLISH), "an unknown language"
    assert not find("de", "en", GERMAN[:3], ENGLISH[:3]), "too few words"


@pytest.mark.parametrize(
    ("languages", "texts", "expected"),
    [
        (("de", "en"), (ENGLISH, GERMAN), [("exchanged-sides", "")]),
        (("hi", "en"), (ENGLISH, HINDI), [("exchanged-sides", "")]),
        (("de", "en"), (FRENCH, ENGLISH), [("unexpected-language", "sources")]),
        (("de", "en"), (GERMAN, HINDI), [("unexpected-language", "references")]),
        (("de", "en"), (ENGLISH, ENGLISH), [("unexpected-language", "sources")]),
        (("de", "en"), (FRENCH, GERMAN), [("unexpected-language", "sources"), ("unexpected-language", "references")]),
    ],
)
def test_other_languages_and_exchanged_sides_are_named(
    languages: tuple[str, str], texts: tuple[list[str], list[str]], expected: list[tuple[str, str]]
) -> None:
    assert find(*languages, *texts) == expected


def test_empty_lines_are_listed() -> None:
    (finding,) = check_empty_lines(["a", "", " ", "b"], ["a", "b", "c", "d"])
    assert finding.measured == {"side": "sources", "count": 2, "of": 4, "lines": [2, 3]}
    assert "lines 2, 3" in finding.message
    assert not list(check_empty_lines(["a"], ["b"]))


def test_few_sentences_are_noted() -> None:
    (finding,) = check_few_sentences(GERMAN[:5])
    assert (finding.code, finding.severity) == ("few-sentences", "note")
    assert not list(check_few_sentences(GERMAN))


def test_related_languages_are_told_apart_by_what_a_model_knows() -> None:
    own = texts("test", 60)
    profile = make_many().language_profile
    for expected in (("de", "szl"), ("szl", "de"), ("en", "szl")):
        data = Data(source_language=expected[0], target_language=expected[1], train=["corpus"])
        for actual in permutations(own, 2):
            found = [each.code for each in check_languages_of_files(data, own[actual[0]], own[actual[1]], profile)]
            wrong = [code for code, wanted in zip(actual, expected, strict=True) if code != wanted]
            assert found == (["exchanged-sides"] if actual == expected[::-1] else ["unexpected-language"] * len(wrong))
