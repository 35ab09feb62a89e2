"""Each way in which translations go wrong leads to one finding, and good translations have none."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from urllib.parse import quote

import pytest

from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor.output.check import check_translations
from dragoman.doctor.output.text_checks import count_repeats
from dragoman.evaluation.evaluate import Report
from dragoman.search.hypothesis import finished_hypothesis
from dragoman.settings import Decoding

SOURCES, REFERENCES = (list(side) for side in zip(*islice(captions("test"), 100), strict=True))
REPORT = Report(100, 40.0, 60.0, "", "", 1.0, 1.5, 4.5, 0.1, 0.7, None, "greedy")

WRONG: dict[str, list[str]] = {
    "collapsed": [*REFERENCES[:60], *["A man is sitting on a green bench in front of a house."] * 40],
    "empty-output": [*REFERENCES[:-5], *[""] * 5],
    "repetition": [*REFERENCES[:-5], *["A pool pool pool pool pool pool pool"] * 5],
    "copying": [*SOURCES[:20], *REFERENCES[20:]],
    "output-length": [text[: 2 * len(text) // 3] for text in REFERENCES],
}


def codes(translations: list[str], report: Report = REPORT) -> set[str]:
    return {finding.code for finding in check_translations(SOURCES, REFERENCES, translations, report)}


def test_good_translations_have_no_findings() -> None:
    assert not codes(REFERENCES)
    assert not codes([*REFERENCES[:-2], "", "very very very very good"]), "single cases are tolerated"


@pytest.mark.parametrize("code", WRONG)
def test_a_fault_leads_to_its_code_alone(code: str) -> None:
    assert codes(WRONG[code]) == {code}


DAMAGES: dict[str, Callable[[str], str]] = {
    "entities": lambda text: text.replace(" ", "&nbsp;").replace(".", " &quot; .") if len(text) % 2 else text,
    "lower case": str.lower,
    "separated": lambda text: " ".join(re.findall(r"\w+|[^\w\s]", text)),
    "@@": lambda text: " ".join(f"{word[:3]}@@ {word[3:]}" if len(word) > 5 else word for word in text.split()),
    "ae for": lambda text: text.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue").replace("ß", "ss"),
    "Ã¤": lambda text: text.encode().decode("cp1252", "replace"),
    r"\u00e4": lambda text: text.encode("ascii", "backslashreplace").decode().replace("\\x", "\\u00"),
    "%C3%A4": lambda text: "".join(letter if letter.isascii() else quote(letter) for letter in text),
    "tags": lambda text: f"<s> {text} </s>",
    "accents that are separate": lambda text: unicodedata.normalize("NFD", text),
    "invisible": lambda text: "\ufeff" + text,
    "no punctuation": lambda text: re.sub(r"[^\w\s]", "", text),
}
GERMAN = {"ae for", "Ã¤", r"\u00e4", "%C3%A4", "accents that are separate"}  # damages that English does not show
"""Forms of translations or references, by a part of the name that findings give them."""


@pytest.mark.parametrize("side", ["translations", "references"])
@pytest.mark.parametrize("name", DAMAGES)
def test_a_form_of_one_side_is_named_and_nothing_else(name: str, side: str) -> None:
    texts = [f"{text[:-1]}, he said." for text in (SOURCES if name in GERMAN else REFERENCES)]
    others = [text if index % 3 else " ".join(text.split()[1:]) for index, text in enumerate(texts)]
    damaged = [DAMAGES[name](text) for text in texts]
    pair = (others, damaged) if side == "translations" else (damaged, others)
    (finding,) = check_translations(["…"] * len(texts), *pair, REPORT)
    assert finding.code == ("text-form" if side == "translations" else "reference-form")
    assert name in finding.measured["form"]
    assert finding.measured["side"] == side
    assert name == "separated" or finding.measured["bleu_in_same_form"] > finding.measured["bleu"] + 1


def test_entities_that_bleu_decodes_are_named() -> None:
    texts = [f'"{text}"' if index % 10 == 0 else text for index, text in enumerate(REFERENCES)]
    (finding,) = check_translations(SOURCES, texts, [text.replace('"', "&quot;") for text in texts], REPORT)
    assert "entities" in finding.measured["form"]
    assert finding.measured["bleu_in_same_form"] < finding.measured["bleu"] + 5


def test_two_forms_are_both_named() -> None:
    damaged = [DAMAGES["separated"](f"{text[:-1]}, he said.").lower() for text in REFERENCES]
    found = check_translations(SOURCES, [f"{text[:-1]}, he said." for text in REFERENCES], damaged, REPORT)
    assert [finding.code for finding in found] == ["text-form", "text-form"]


def test_faults_of_the_references_are_no_faults_of_the_translations() -> None:
    copies = check_translations(SOURCES, SOURCES, SOURCES)
    assert not copies, "the copy task"
    repetitions = ["ha ha ha ha ha"] * 100
    assert not check_translations(SOURCES, repetitions, repetitions)


def test_long_translations_have_another_cause_than_short_ones() -> None:
    shortened = WRONG["output-length"]
    (short,) = check_translations(SOURCES, REFERENCES, shortened)
    (long,) = check_translations(SOURCES, shortened, REFERENCES)
    assert short.code == long.code == "output-length"
    assert short.measured["ratio"] < 1 < long.measured["ratio"]
    assert short.cause != long.cause
    assert "references are cut off" in long.cause
    repeated = [f"{text} {' very' * 10}" for text in REFERENCES]
    (looping,) = [each for each in check_translations(SOURCES, REFERENCES, repeated) if each.code == "output-length"]
    assert "repeat words" in looping.cause


@pytest.mark.parametrize(
    ("settings", "short_advice", "long_advice"),
    [
        ({}, "raise decoding.length_penalty (now 1)", "lower decoding.length_penalty (now 1)"),
        ({"length_penalty": 0.0}, "raise decoding.length_penalty (now 0)", "decoding.length_penalty is 0 already"),
        ({"beam_size": 1}, "use beam search", "use beam search"),
    ],
)
def test_the_length_penalty_is_changed_in_the_right_direction(
    settings: dict[str, float], short_advice: str, long_advice: str
) -> None:
    decoding = Decoding.model_validate(settings)
    (short,) = check_translations(SOURCES, REFERENCES, WRONG["output-length"], decoding=decoding)
    (long,) = check_translations(SOURCES, WRONG["output-length"], REFERENCES, decoding=decoding)
    (empty,) = check_translations(SOURCES, REFERENCES, WRONG["empty-output"], decoding=decoding)
    assert short_advice in short.fix
    assert short_advice in empty.fix
    assert long_advice in long.fix


def test_a_higher_length_penalty_prefers_longer_hypotheses() -> None:
    short, long = [-0.5] * 4, [-0.5] * 8

    def prefers_long(alpha: float) -> bool:
        return finished_hypothesis([0] * 8, long, alpha).score > finished_hypothesis([0] * 4, short, alpha).score

    assert not prefers_long(0.0)
    assert prefers_long(2.0)


def test_a_gap_between_token_accuracy_and_decoded_bleu_is_found() -> None:
    assert codes(REFERENCES, replace(REPORT, token_accuracy=0.95, bleu=3.0)) == {"exposure-gap"}
    assert not codes(REFERENCES, replace(REPORT, token_accuracy=0.75, bleu=38.0))
    assert not codes(REFERENCES, replace(REPORT, token_accuracy=0.4, bleu=1.0)), "training has just started"


def test_a_gap_that_short_translations_explain_has_their_cause_alone() -> None:
    ratio = 0.3
    short = [" ".join(text.split()[: round(ratio * len(text.split()))]) for text in REFERENCES]
    report = replace(REPORT, token_accuracy=0.95, bleu=100 * 0.95**2.5 * math.exp(1 - 1 / ratio), length_ratio=ratio)
    (finding,) = check_translations(SOURCES, REFERENCES, short, report)
    assert (finding.code, finding.severity) == ("output-length", "error")
    wrong = replace(report, bleu=0.5, length_ratio=0.6)
    assert codes(short, wrong) == {"output-length", "exposure-gap"}, "shorter, but the words are wrong, too"
    for least in (0.0, 0.01):
        empty = replace(report, bleu=0.0, length_ratio=least)
        assert "exposure-gap" in codes([""] * len(REFERENCES), empty), "which no search makes of such a model"
    (unimportant,) = check_translations(SOURCES, REFERENCES, short, replace(report, token_accuracy=0.3))
    assert (unimportant.code, unimportant.severity) == ("output-length", "warning")


def test_consecutive_repeats_of_words_and_phrases_are_counted() -> None:
    assert count_repeats("a b c d") == 1
    assert count_repeats("pool pool pool pool") == 4
    assert count_repeats("on the on the on the bench") == 3
    assert count_repeats("a b a b b") == 2
    assert count_repeats("") == 1
